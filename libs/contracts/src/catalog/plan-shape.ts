import { z } from 'zod';
import { UsVatConfig } from '../billing/addresses.js';
import {
  type IntervalUnit,
  intervalUnits,
  metricChargeType,
  planStatus,
  planType,
  publishStatus,
  snapshotChargeType,
} from '../codes.js';
import { amount, anyObject, code, flag, integer, percent, type Shape, seconds, text, time } from '../field.js';
import * as input from '../input.js';
import { MultiCurrencyConfig, MultiCurrencySnapshot } from './exchange.js';
import { MerchantMetric, MetricPlanCharge, MetricPlanChargeStep, unitDecimal } from './metrics.js';
import { MetricPlanLimit, PlanMetricLimit } from './plan-limits.js';
import { Product } from './products.js';

const planAutoChargeConfig = z.object({
  autoChargeLeadTime: seconds,
  autoChargeMaxRetryCount: integer,
  autoChargeRetryInterval: seconds,
  incompleteExpireTime: seconds,
});
export interface PlanAutoChargeConfig extends z.output<typeof planAutoChargeConfig> {}
export const PlanAutoChargeConfig: Shape<PlanAutoChargeConfig> = planAutoChargeConfig.meta({
  id: 'PlanAutoChargeConfig',
});

const planMultiTrial = z.object({
  intervalCount: integer,
  intervalUnit: text,
  metadata: anyObject,
  name: text,
  trialCompareAtPrice: amount,
  trialDuration: seconds,
  trialPrice: amount,
});
export interface PlanMultiTrial extends z.output<typeof planMultiTrial> {}
export const PlanMultiTrial: Shape<PlanMultiTrial> = planMultiTrial.meta({ id: 'PlanMultiTrial' });

const planPriceChange = z.object({
  no: integer.describe("From 1: counts the plan's price changes"),
  oldAmount: amount,
  newAmount: amount,
  reason: text,
  createTime: time,
});
export interface PlanPriceChange extends z.output<typeof planPriceChange> {}
export const PlanPriceChange: Shape<PlanPriceChange> = planPriceChange.meta({ id: 'PlanPriceChange' });

const plan = z.object({
  id: integer,
  merchantId: integer,
  productId: integer,
  createTime: time,
  autoUpgradePlanId: integer,
  checkoutTemplateId: integer,
  intervalCount: integer,
  trialDurationTime: seconds,
  amount: amount,
  compareAtAmount: amount,
  trialAmount: amount,
  taxPercentage: percent,
  cancelAtTrialEnd: integer,
  disableAutoCharge: integer,
  publishStatus: code(publishStatus),
  status: code(planStatus),
  type: code(planType),
  currency: text,
  description: text,
  planName: text,
  internalName: text,
  externalPlanId: text,
  checkoutUrl: text,
  homeUrl: text,
  imageUrl: text,
  intervalUnit: text,
  extraMetricData: text,
  gasPayer: text,
  trialDemand: text,
  bindingAddonIds: text,
  bindingOnetimeAddonIds: text,
  metadata: anyObject,
  autoChargeConfig: PlanAutoChargeConfig.nullable(),
  metricLimits: z.array(PlanMetricLimit),
  metricMeteredCharge: z.array(MetricPlanCharge),
  metricRecurringCharge: z.array(MetricPlanCharge),
  multiCurrencies: z.array(MultiCurrencyConfig),
  multiTrials: z.array(PlanMultiTrial),
  usVATConfig: UsVatConfig.nullable(),
  priceChange: PlanPriceChange.nullable().describe('The last price change of the active plan; null for none'),
});
export interface Plan extends z.output<typeof plan> {}
export const Plan: Shape<Plan> = plan.meta({ id: 'Plan' });

const merchantMetricPlanChargeDetail = z.object({
  metricId: integer,
  chargeType: code(metricChargeType),
  standardAmount: amount,
  standardAmountDecimal: unitDecimal,
  standardStartValue: integer,
  graduatedAmounts: z.array(MetricPlanChargeStep),
  merchantMetric: MerchantMetric.nullable(),
});
/** A usage price with its metric. */
export interface MerchantMetricPlanChargeDetail extends z.output<typeof merchantMetricPlanChargeDetail> {}
export const MerchantMetricPlanChargeDetail: Shape<MerchantMetricPlanChargeDetail> =
  merchantMetricPlanChargeDetail.meta({ id: 'MerchantMetricPlanChargeDetail' });

const planAmount = z.object({
  amount,
  currency: text,
  from: time,
  reason: text.describe("That of the price change; '' for the amount that it was made with"),
});
/** An amount of a plan, in force from a time until that of the next one. */
export interface PlanAmount extends z.output<typeof planAmount> {}
export const PlanAmount: Shape<PlanAmount> = planAmount.meta({ id: 'PlanAmount' });

const planDetail = z.object({
  plan: Plan,
  product: Product.nullable(),
  addonIds: z.array(integer),
  addons: z.array(Plan),
  onetimeAddonIds: z.array(integer),
  onetimeAddons: z.array(Plan),
  metricPlanLimits: z.array(MetricPlanLimit),
  metricMeteredCharge: z.array(MerchantMetricPlanChargeDetail),
  metricRecurringCharge: z.array(MerchantMetricPlanChargeDetail),
  checkAddressViaGateway: flag,
  globalUSVATActive: flag,
  sellOnUSOnly: flag,
  amountHistory: z.array(PlanAmount).describe('Oldest first; the last is the amount of now'),
});
/** A plan with its product, add-ons and metrics. */
export interface PlanDetail extends z.output<typeof planDetail> {}
export const PlanDetail: Shape<PlanDetail> = planDetail.meta({ id: 'PlanDetail' });

const planSnapshotAddon = z.object({
  addonPlan: Plan.nullable(),
  quantity: integer,
});
export interface PlanSnapshotAddon extends z.output<typeof planSnapshotAddon> {}
export const PlanSnapshotAddon: Shape<PlanSnapshotAddon> = planSnapshotAddon.meta({
  id: 'PlanSnapshotAddon',
});

const planSnapshot = z.object({
  addons: z.array(PlanSnapshotAddon),
  autoCharge: flag,
  chargeType: code(snapshotChargeType),
  multiCurrencySnapshot: MultiCurrencySnapshot.nullable(),
  plan: Plan.nullable(),
  previousAddons: z.array(PlanSnapshotAddon),
  previousPlan: Plan.nullable(),
});
export interface PlanSnapshot extends z.output<typeof planSnapshot> {}
export const PlanSnapshot: Shape<PlanSnapshot> = planSnapshot.meta({ id: 'PlanSnapshot' });

const intervalUnit = z.enum(['', 'day', 'week', 'month', 'year'] as const satisfies readonly ('' | IntervalUnit)[]);

/** The billing interval of a plan; a blank unit and count 0 mean none. */
export const intervalFields = { intervalUnit: intervalUnit.default(''), intervalCount: z.int().min(0).default(0) };

/** The billing interval in an edit, where an absent field is unchanged. */
export const unsetInterval = { intervalUnit, intervalCount: z.int().min(0) };

/** An interval as text: `month`, `3month`. */
export const leastInterval = input.rule(
  input.line,
  'must be a unit (day, week, month, year), optionally preceded by a count',
  value => value === '' || /^([1-9]\d{0,3})?(day|week|month|year)$/.test(value),
);

/** Bounds the count of an interval by its unit. */
export const saneInterval = <S extends z.ZodType<{ intervalUnit: '' | IntervalUnit; intervalCount: number }>>(
  schema: S,
) =>
  input.rule(
    schema,
    `must be at most ${Object.entries(intervalUnits)
      .map(([unit, most]) => `${most} for the unit ${unit}`)
      .join(', ')}`,
    ({ intervalUnit, intervalCount }) => intervalUnit === '' || intervalCount <= intervalUnits[intervalUnit],
    ['intervalCount'],
  );

export const PlanMultiTrialInput = saneInterval(
  z
    .object({
      ...intervalFields,
      metadata: input.metadata.default({}),
      name: input.line.default(''),
      trialCompareAtPrice: input.price.default(0),
      trialDuration: input.seconds.default(0),
      trialPrice: input.price.default(0),
    })
    .meta({ 'x-shape': 'PlanMultiTrialInput' }),
);

/** Charge settings of a plan; 0 or absent means the default. */
export const PlanAutoChargeConfigInput = z
  .object({
    autoChargeLeadTime: input.seconds.default(0),
    autoChargeMaxRetryCount: z.int().min(0).max(100).default(0),
    autoChargeRetryInterval: input.seconds.default(0),
    incompleteExpireTime: input.seconds.default(0),
  })
  .meta({ 'x-shape': 'PlanAutoChargeConfigInput' });

/** Multi-step trials; a list of lists is flattened. */
export const PlanMultiTrialLists = input
  .rule(
    input.list(z.union([PlanMultiTrialInput, input.list(PlanMultiTrialInput)])),
    `must have at most ${input.limits.entries} entries in total`,
    lists => lists.flat().length <= input.limits.entries,
  )
  .transform(lists => lists.flat());
