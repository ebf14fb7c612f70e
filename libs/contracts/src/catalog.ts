import { z } from 'zod';
import { gasPayers, planType, productStatus, trialDemands } from './codes.js';
import { Empty } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { UsVatConfigInput } from './shapes/address.js';
import { MerchantCheckout } from './shapes/checkout.js';
import { MultiCurrencyConfigInput } from './shapes/currency.js';
import { MetricPlanChargeInput, PlanMetricLimitInput } from './shapes/metric.js';
import {
  intervalFields,
  leastInterval,
  Plan,
  PlanDetail,
  PlanMultiTrialInput,
  PlanMultiTrialLists,
  saneInterval,
  unsetInterval,
} from './shapes/plan.js';
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

export const listProducts = operation({
  service: 'catalog',
  name: 'product.list',
  methods: ['GET', 'POST'],
  path: '/merchant/product/list',
  summary: 'The products, newest first; the default product is not among them',
  effect: 'read',
  permission: 'plan.read',
  input: input.paged(
    z.object({
      status: input.q.ints().optional(),
      ...input.sorting('createTime', 'productName'),
      ...input.paging,
    }),
  ),
  output: z.object({ products: z.array(Product), total: input.total }),
  errors: [],
});

export const productDetail = operation({
  service: 'catalog',
  name: 'product.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/product/detail',
  summary: 'A product; 0 is the default product',
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ productId: input.q.int() }),
  output: z.object({ product: Product }),
  errors: ['product_not_found'],
});

/** What can be said of a plan, beside what it is: the type is fixed at creation. */
const planFields = {
  addonIds: input.list(input.integer),
  amount: input.price,
  autoUpgradePlanId: input.integer,
  cancelAtTrialEnd: input.yesNo,
  checkoutTemplateId: input.integer,
  compareAtAmount: input.price,
  currency: input.Currency,
  description: input.prose,
  disableAutoCharge: input.yesNo,
  externalPlanId: input.externalId,
  gasPayer: z.enum(gasPayers),
  homeUrl: input.line,
  imageUrl: input.line,
  internalName: input.line,
  metadata: input.anyObject,
  metricLimits: input.list(PlanMetricLimitInput),
  metricMeteredCharge: input.list(MetricPlanChargeInput),
  metricRecurringCharge: input.list(MetricPlanChargeInput),
  multiCurrencies: input.list(MultiCurrencyConfigInput),
  multiTrials: input.list(PlanMultiTrialInput),
  onetimeAddonIds: input.list(input.integer),
  planName: input.filled,
  productDescription: input.prose,
  productId: input.integer,
  productName: input.line,
  trialAmount: input.price,
  trialDemand: z.enum(trialDemands),
  trialDurationTime: input.seconds,
  usVATConfig: UsVatConfigInput,
};

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
      ...planFields,
      ...intervalFields,
      addonIds: planFields.addonIds.default([]),
      autoUpgradePlanId: planFields.autoUpgradePlanId.default(0),
      cancelAtTrialEnd: planFields.cancelAtTrialEnd.default(0),
      checkoutTemplateId: planFields.checkoutTemplateId.default(0),
      compareAtAmount: planFields.compareAtAmount.default(0),
      description: planFields.description.default(''),
      disableAutoCharge: planFields.disableAutoCharge.default(0),
      externalPlanId: planFields.externalPlanId.default(''),
      gasPayer: planFields.gasPayer.default('user'),
      homeUrl: planFields.homeUrl.default(''),
      imageUrl: planFields.imageUrl.default(''),
      internalName: planFields.internalName.default(''),
      metadata: planFields.metadata.default({}),
      metricLimits: planFields.metricLimits.default([]),
      metricMeteredCharge: planFields.metricMeteredCharge.default([]),
      metricRecurringCharge: planFields.metricRecurringCharge.default([]),
      multiCurrencies: planFields.multiCurrencies.default([]),
      multiTrials: planFields.multiTrials.default([]),
      onetimeAddonIds: planFields.onetimeAddonIds.default([]),
      productDescription: planFields.productDescription.default(''),
      productId: planFields.productId.default(0),
      productName: planFields.productName.default(''),
      trialAmount: planFields.trialAmount.default(0),
      trialDemand: planFields.trialDemand.default(''),
      trialDurationTime: planFields.trialDurationTime.default(0),
      type: input.code(planType).default(planType.main),
      usVATConfig: UsVatConfigInput.optional(),
    }),
  ),
  output: z.object({ plan: Plan }),
  errors: ['product_not_found', 'plan_not_found', 'metric_not_found'],
});

export const editPlan = operation({
  service: 'catalog',
  name: 'plan.edit',
  methods: ['POST'],
  path: '/merchant/plan/edit',
  summary: 'Change the fields that are sent; once active, price, currency and interval stay as they are',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    ...z.object({ ...planFields, ...unsetInterval }).partial().shape,
    planId: input.integer,
    multiTrials: PlanMultiTrialLists.optional(),
  }),
  output: z.object({ plan: Plan }),
  errors: ['plan_not_found', 'product_not_found', 'metric_not_found', 'plan_frozen', 'plan_not_activatable'],
});

const namesPlan = <S extends z.ZodType<{ planId?: number; externalPlanId?: string }>>(schema: S) =>
  input.rule(schema, 'must name the plan by planId or externalPlanId', ({ planId, externalPlanId }) =>
    Boolean(planId || externalPlanId),
  );
const planName = namesPlan(z.object({ planId: input.integer.optional(), externalPlanId: input.line.optional() }));

export const activatePlan = operation({
  service: 'catalog',
  name: 'plan.activate',
  methods: ['POST'],
  path: '/merchant/plan/activate',
  summary: 'Make a plan active: its price, currency and interval are frozen; bound recurring add-ons follow',
  effect: 'write',
  permission: 'plan.write',
  input: planName,
  output: Empty,
  errors: ['plan_not_found', 'plan_not_activatable'],
});

export const publishPlan = operation({
  service: 'catalog',
  name: 'plan.publish',
  methods: ['POST'],
  path: '/merchant/plan/publish',
  summary: 'Show an active plan to customers',
  effect: 'write',
  permission: 'plan.write',
  input: planName,
  output: Empty,
  errors: ['plan_not_found', 'plan_not_active'],
});

export const unpublishPlan = operation({
  service: 'catalog',
  name: 'plan.unpublished',
  methods: ['POST'],
  path: '/merchant/plan/unpublished',
  summary: 'Show a plan to customers no more; whoever has it keeps it',
  effect: 'write',
  permission: 'plan.write',
  input: planName,
  output: Empty,
  errors: ['plan_not_found'],
});

export const planDetail = operation({
  service: 'catalog',
  name: 'plan.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/plan/detail',
  summary: 'A plan with its product and add-ons',
  effect: 'read',
  permission: 'plan.read',
  input: namesPlan(z.object({ planId: input.q.int().optional(), externalPlanId: input.line.optional() })),
  output: z.object({ plan: PlanDetail }),
  errors: ['plan_not_found'],
});

export const listPlans = operation({
  service: 'catalog',
  name: 'plan.list',
  methods: ['GET', 'POST'],
  path: '/merchant/plan/list',
  summary: 'The plans with their products and add-ons, newest first',
  effect: 'read',
  permission: 'plan.read',
  input: input.paged(
    z.object({
      planIds: input.q.ints().optional(),
      productIds: input.q.ints().optional().describe('0 is the default product'),
      type: input.q.ints().optional(),
      status: input.q.ints().optional(),
      publishStatus: input.q.int().optional(),
      currency: input.line.optional(),
      intervalUnits: input.q.strings().optional(),
      intervalCounts: input.q.ints().optional(),
      billingIntervalMin: leastInterval.optional().describe('No shorter than this: `month`, `3month`, `2week` …'),
      searchKey: input.line
        .optional()
        .describe('The id, or a part of a name, the externalPlanId or the description that at most 10000 plans have'),
      ...input.sorting('createTime', 'planName', 'amount'),
      ...input.paging,
    }),
  ),
  output: z.object({ plans: z.array(PlanDetail), total: input.total }),
  errors: [],
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
