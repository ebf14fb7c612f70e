import { z } from 'zod';
import { UsVatConfigInput } from '../billing/addresses.js';
import { addonsAction, gasPayers, planType, trialDemands } from '../codes.js';
import { Empty } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MultiCurrencyConfigInput } from './exchange.js';
import { MetricPlanChargeInput } from './metrics.js';
import { PlanMetricLimitInput } from './plan-limits.js';
import {
  intervalFields,
  leastInterval,
  Plan,
  PlanAutoChargeConfigInput,
  PlanDetail,
  PlanMultiTrialInput,
  PlanMultiTrialLists,
  saneInterval,
  unsetInterval,
} from './plan-shape.js';

/** Fields of a plan that can be edited; the type is fixed at creation. */
const planFields = {
  addonIds: input.list(input.integer),
  amount: input.price,
  autoChargeConfig: PlanAutoChargeConfigInput,
  autoUpgradePlanId: input.integer,
  cancelAtTrialEnd: input.yesNo,
  checkoutTemplateId: input.integer,
  compareAtAmount: input.price,
  currency: input.Currency,
  description: input.prose,
  disableAutoCharge: input.yesNo.describe('1: invoices of its subscriptions are not charged by themselves'),
  externalPlanId: input.externalId,
  gasPayer: z.enum(gasPayers).describe('No effect: there is no gateway for cryptocurrencies'),
  homeUrl: input.optionalUrl,
  imageUrl: input.optionalUrl,
  internalName: input.line,
  metadata: input.metadata,
  metricLimits: input.list(PlanMetricLimitInput),
  metricMeteredCharge: input.list(MetricPlanChargeInput),
  metricRecurringCharge: input.list(MetricPlanChargeInput),
  multiCurrencies: input.distinct(MultiCurrencyConfigInput, 'currency'),
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
  summary: 'Create a plan; every field can be edited until it is activated',
  effect: 'write',
  permission: 'plan.write',
  input: saneInterval(
    z.object({
      ...planFields,
      ...intervalFields,
      addonIds: planFields.addonIds.default([]),
      autoChargeConfig: planFields.autoChargeConfig.optional(),
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
  errors: ['product_not_found', 'plan_not_found', 'metric_not_found', 'checkout_not_found', 'checkout_archived'],
});

export const editPlan = operation({
  service: 'catalog',
  name: 'plan.edit',
  methods: ['POST'],
  path: '/merchant/plan/edit',
  summary: 'Update the fields sent; price, currency and interval are frozen once the plan is active',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    ...z.object({ ...planFields, ...unsetInterval }).partial().shape,
    planId: input.integer,
    multiTrials: PlanMultiTrialLists.optional(),
  }),
  output: z.object({ plan: Plan }),
  errors: [
    'plan_not_found',
    'product_not_found',
    'metric_not_found',
    'checkout_not_found',
    'checkout_archived',
    'plan_frozen',
    'plan_not_activatable',
  ],
});

const namesPlan = <S extends z.ZodType<{ planId?: number; externalPlanId?: string }>>(schema: S) =>
  input.rule(schema, 'must identify the plan by planId or externalPlanId', ({ planId, externalPlanId }) =>
    Boolean(planId || externalPlanId),
  );
const planName = namesPlan(z.object({ planId: input.integer.optional(), externalPlanId: input.line.optional() }));

export const activatePlan = operation({
  service: 'catalog',
  name: 'plan.activate',
  methods: ['POST'],
  path: '/merchant/plan/activate',
  summary: 'Activate a plan and its bound recurring add-ons; price, currency and interval are then frozen',
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
  summary: 'Hide a plan from customers; existing subscriptions keep it',
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
  summary: 'Plans with their products and add-ons, newest first',
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
      billingIntervalMin: leastInterval
        .optional()
        .describe('The shortest interval to include: `month`, `3month`, `2week` …'),
      searchKey: input.line
        .optional()
        .describe('The id, or part of a name, externalPlanId or description; refused if more than 10000 plans match'),
      ...input.sorting('createTime', 'planName', 'amount', 'modifyTime'),
      ...input.paging,
    }),
  ),
  output: z.object({ plans: z.array(PlanDetail), total: input.total }),
  errors: [],
});

export const archivePlan = operation({
  service: 'catalog',
  name: 'plan.archive',
  methods: ['POST'],
  path: '/merchant/plan/archive',
  summary: 'Stop selling and showing a plan, until it is activated again, or permanently with hardArchive',
  effect: 'write',
  permission: 'plan.write',
  input: namesPlan(
    z.object({
      planId: input.integer.optional(),
      externalPlanId: input.line.optional(),
      hardArchive: input.flag.default(false),
    }),
  ),
  output: Empty,
  errors: ['plan_not_found', 'plan_not_archivable'],
});

export const deletePlan = operation({
  service: 'catalog',
  name: 'plan.delete',
  methods: ['POST'],
  path: '/merchant/plan/delete',
  summary: 'Delete a plan that was never activated and is not an add-on of another plan',
  effect: 'write',
  permission: 'plan.write',
  input: planName,
  output: Empty,
  errors: ['plan_not_found', 'plan_not_deletable'],
});

export const copyPlan = operation({
  service: 'catalog',
  name: 'plan.copy',
  methods: ['POST'],
  path: '/merchant/plan/copy',
  summary: 'Copy a plan into a new one that can be edited and activated; externalPlanId is left blank',
  effect: 'write',
  permission: 'plan.write',
  input: planName,
  output: z.object({ plan: Plan }),
  errors: ['plan_not_found', 'product_not_found', 'metric_not_found'],
});

export const bindAddons = operation({
  service: 'catalog',
  name: 'plan.addons_binding',
  methods: ['POST'],
  path: '/merchant/plan/addons_binding',
  summary: 'Bind add-ons to a plan or unbind them; add-ons bound to an active plan are activated',
  effect: 'write',
  permission: 'plan.write',
  input: namesPlan(
    z.object({
      planId: input.integer.optional(),
      externalPlanId: input.line.optional(),
      action: input
        .code(addonsAction)
        .default(addonsAction.override)
        .describe('0 replaces the bound add-ons with the lists sent · 1 adds them · 2 removes them'),
      addonIds: input.list(input.integer).optional(),
      onetimeAddonIds: input.list(input.integer).optional(),
    }),
  ),
  output: z.object({ plan: Plan }),
  errors: ['plan_not_found', 'plan_frozen', 'plan_not_activatable'],
});
