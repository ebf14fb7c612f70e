import { z } from 'zod';
import { gasPayers, planType, productStatus, trialDemands } from './codes.js';
import { Empty } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { UsVatConfigInput } from './shapes/address.js';
import { MerchantCheckout } from './shapes/checkout.js';
import { MultiCurrencyConfig, MultiCurrencyConfigInput } from './shapes/currency.js';
import { MerchantMetric, MetricPlanChargeInput, PlanMetricLimitInput } from './shapes/metric.js';
import { intervalFields, Plan, PlanMultiTrialInput, saneInterval } from './shapes/plan.js';
import { Product } from './shapes/product.js';

export const newProduct = operation({
  service: 'catalog',
  name: 'product.new',
  methods: ['POST'],
  path: '/merchant/product/new',
  summary: 'Create a product, active unless asked otherwise',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    description: input.prose.default(''),
    homeUrl: input.line.default(''),
    imageUrl: input.line.default(''),
    metadata: input.anyObject.default({}),
    productName: input.line.default(''),
    status: input.code(productStatus).default(productStatus.active),
    usVATConfig: UsVatConfigInput.optional(),
  }),
  output: z.object({ product: Product }),
  errors: [],
});

export const activateProduct = operation({
  service: 'catalog',
  name: 'product.activate',
  methods: ['POST'],
  path: '/merchant/product/activate',
  summary: 'Make a product active; one that is active already stays so. 0 is the default product',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ productId: input.integer }),
  output: Empty,
  errors: ['product_not_found'],
});

export const editProduct = operation({
  service: 'catalog',
  name: 'product.edit',
  methods: ['POST'],
  path: '/merchant/product/edit',
  summary: 'Change the fields that are sent; metadata is replaced as a whole. 0 is the default product',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    productId: input.integer,
    productName: input.filled.optional(),
    description: input.prose.optional(),
    homeUrl: input.line.optional(),
    imageUrl: input.line.optional(),
    metadata: input.anyObject.optional(),
    status: input.code(productStatus).optional(),
    usVATConfig: UsVatConfigInput.optional(),
  }),
  output: z.object({ product: Product }),
  errors: ['product_not_found'],
});

export const newPlan = operation({
  service: 'catalog',
  name: 'plan.new',
  methods: ['POST'],
  path: '/merchant/plan/new',
  summary: 'Create a plan; it can be edited until it is activated',
  effect: 'write',
  permission: 'plan.write',
  input: saneInterval(
    z.object({
      amount: input.price,
      currency: input.Currency,
      planName: input.filled,
      addonIds: input.list(input.integer).default([]),
      autoUpgradePlanId: input.integer.default(0),
      cancelAtTrialEnd: input.yesNo.default(0),
      checkoutTemplateId: input.integer.default(0),
      compareAtAmount: input.price.default(0),
      description: input.prose.default(''),
      disableAutoCharge: input.yesNo.default(0),
      externalPlanId: input.externalId.default(''),
      gasPayer: z.enum(gasPayers).default('user'),
      homeUrl: input.line.default(''),
      imageUrl: input.line.default(''),
      internalName: input.line.default(''),
      ...intervalFields,
      metadata: input.anyObject.default({}),
      metricLimits: input.list(PlanMetricLimitInput).default([]),
      metricMeteredCharge: input.list(MetricPlanChargeInput).default([]),
      metricRecurringCharge: input.list(MetricPlanChargeInput).default([]),
      multiCurrencies: input.list(MultiCurrencyConfigInput).default([]),
      multiTrials: input.list(PlanMultiTrialInput).default([]),
      onetimeAddonIds: input.list(input.integer).default([]),
      productDescription: input.prose.default(''),
      productId: input.integer.default(0),
      productName: input.line.default(''),
      trialAmount: input.price.default(0),
      trialDemand: z.enum(trialDemands).default(''),
      trialDurationTime: input.seconds.default(0),
      type: input.code(planType).default(planType.main),
      usVATConfig: UsVatConfigInput.optional(),
    }),
  ),
  output: z.object({ plan: Plan }),
  errors: ['product_not_found', 'plan_not_found', 'metric_not_found'],
});

export const activatePlan = operation({
  service: 'catalog',
  name: 'plan.activate',
  methods: ['POST'],
  path: '/merchant/plan/activate',
  summary: 'Make a plan active: its price, currency and interval are frozen; bound recurring add-ons follow',
  effect: 'write',
  permission: 'plan.write',
  input: input.rule(
    z.object({ planId: input.integer.optional(), externalPlanId: input.line.optional() }),
    'must name the plan by planId or externalPlanId',
    ({ planId, externalPlanId }) => Boolean(planId || externalPlanId),
  ),
  output: Empty,
  errors: ['plan_not_found', 'plan_not_activatable'],
});

export const deleteMetric = operation({
  service: 'catalog',
  name: 'metric.delete',
  methods: ['POST'],
  path: '/merchant/metric/delete',
  summary: 'Delete and archive a metric that no active plan uses',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({ metricId: input.integer }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found', 'metric_in_use'],
});

export const listCheckouts = operation({
  service: 'catalog',
  name: 'checkout.list',
  methods: ['POST'],
  path: '/merchant/checkout/list',
  summary: 'The checkout templates that are not archived; SearchKey matches id, name and description',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ SearchKey: input.line.optional() }),
  output: z.object({ merchantCheckouts: z.array(MerchantCheckout) }),
  errors: [],
});

export const exchangeAmount = operation({
  service: 'catalog',
  name: 'currency.exchange',
  methods: ['POST'],
  path: '/merchant/amount_multi_currencies_exchange',
  summary: "Convert an amount into each currency of the merchant's rules for its currency",
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ amount: input.integer, currency: input.Currency }),
  output: z.object({ multiCurrencyConfigs: z.array(MultiCurrencyConfig) }),
  errors: [],
});
