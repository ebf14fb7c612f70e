import { z } from 'zod';
import { aggregationType, metricChargeType, metricType } from '../codes.js';
import { amount, anyObject, code, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const merchantMetric = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  gmtModify: time,
  aggregationType: code(aggregationType),
  type: code(metricType),
  aggregationProperty: text,
  code: text,
  metricName: text,
  metricDescription: text,
  unit: text,
  archived: flag,
  carryoverProrationEnabled: flag,
  prorationRefundEnabled: flag,
  metaData: anyObject,
});
export interface MerchantMetric extends z.output<typeof merchantMetric> {}
export const MerchantMetric: Shape<MerchantMetric> = merchantMetric.meta({ id: 'MerchantMetric' });

/** A unit price below a minor unit. */
export const unitDecimal = text.describe(
  'Unit price as an exact decimal of minor units, which goes before the integer; empty for none',
);

const metricPlanChargeStep = z.object({
  startValue: integer,
  endValue: integer,
  flatAmount: amount,
  perAmount: amount,
  perAmountDecimal: unitDecimal,
});
export interface MetricPlanChargeStep extends z.output<typeof metricPlanChargeStep> {}
export const MetricPlanChargeStep: Shape<MetricPlanChargeStep> = metricPlanChargeStep.meta({
  id: 'MetricPlanChargeStep',
});

const metricPlanCharge = z.object({
  chargeType: code(metricChargeType),
  metricId: integer,
  standardAmount: amount,
  standardAmountDecimal: unitDecimal,
  standardStartValue: integer,
  graduatedAmounts: z.array(MetricPlanChargeStep),
});
export interface MetricPlanCharge extends z.output<typeof metricPlanCharge> {}
export const MetricPlanCharge: Shape<MetricPlanCharge> = metricPlanCharge.meta({
  id: 'MetricPlanCharge',
});

const planMetricChargeConfig = z.object({
  chargeType: code(metricChargeType),
  metricId: integer,
  metricType: code(metricType),
  metricCode: text,
  metricName: text,
  standardAmount: amount,
  standardStartValue: integer,
});
export interface PlanMetricChargeConfig extends z.output<typeof planMetricChargeConfig> {}
export const PlanMetricChargeConfig: Shape<PlanMetricChargeConfig> = planMetricChargeConfig.meta({
  id: 'PlanMetricChargeConfig',
});

const unitDecimalInput = input
  .rule(input.line, 'must be a decimal of at most 12 digits, and at most 12 fractional digits, or blank', value =>
    /^$|^\d{1,12}(\.\d{1,12})?$/.test(value),
  )
  .describe('Unit price as an exact decimal of minor units, such as 0.0015; it goes before the integer');

/** A usage price. The last graduated step is open, with endValue −1, which activation requires. */
export const MetricPlanChargeInput = z
  .object({
    metricId: input.integer,
    chargeType: input.code(metricChargeType).default(metricChargeType.standard),
    standardAmount: input.price.default(0),
    standardAmountDecimal: unitDecimalInput.default(''),
    standardStartValue: z.int().min(0).default(0).describe('Units that are free'),
    graduatedAmounts: input
      .list(
        z
          .object({
            startValue: z.int().min(0).describe('The end of the tier before it, or one more; in the first: free units'),
            endValue: z.int().min(-1).describe('Last unit of the tier; -1: no end'),
            flatAmount: input.price.default(0).describe('Added once, where the tier is reached'),
            perAmount: input.price.default(0),
            perAmountDecimal: unitDecimalInput.default(''),
          })
          .meta({ 'x-shape': 'MetricPlanChargeStepInput' }),
      )
      .default([]),
  })
  .meta({ 'x-shape': 'MetricPlanChargeInput' });

const metricCode = input.rule(input.externalId, 'may not be blank', value => value.trim() !== '');

/** Fields of a metric that can always be edited. */
const metricFields = {
  carryoverProrationEnabled: input.flag.describe(
    'true: where plans change in a period, its limit is the sum of each limit for its part of the time; false: the latest',
  ),
  metaData: input.metadata,
  metricDescription: input.prose,
  prorationRefundEnabled: input.flag.describe('No effect yet'),
  unit: input.line,
};

export const newMetric = operation({
  service: 'catalog',
  name: 'metric.new',
  methods: ['POST'],
  path: '/merchant/metric/new',
  summary: 'Create a metric by which usage is limited or charged',
  effect: 'write',
  permission: 'billable-metric.write',
  input: input.rule(
    z.object({
      aggregationProperty: input.line.default('').describe('The event property that is aggregated'),
      aggregationType: input.code(aggregationType).default(aggregationType.count),
      carryoverProrationEnabled: metricFields.carryoverProrationEnabled.default(false),
      code: metricCode.describe('The name used in usage events; unique among metrics that are not deleted'),
      metaData: metricFields.metaData.default({}),
      metricDescription: metricFields.metricDescription.default(''),
      metricName: input.filled,
      prorationRefundEnabled: metricFields.prorationRefundEnabled.default(false),
      type: input.code(metricType).default(metricType.limitMetered),
      unit: metricFields.unit.default(''),
    }),
    'may be blank only when events are counted (aggregationType 1)',
    ({ aggregationType: type, aggregationProperty }) =>
      type === aggregationType.count || aggregationProperty.trim() !== '',
    ['aggregationProperty'],
  ),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: [],
});

export const editMetric = operation({
  service: 'catalog',
  name: 'metric.edit',
  methods: ['POST'],
  path: '/merchant/metric/edit',
  summary: 'Update the fields sent; the type cannot change while an active plan uses the metric',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({
    ...z.object({ ...metricFields, type: input.code(metricType) }).partial().shape,
    metricId: input.integer,
    metricName: input.filled,
  }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found', 'metric_in_use'],
});

export const listMetrics = operation({
  service: 'catalog',
  name: 'metric.list',
  methods: ['GET', 'POST'],
  path: '/merchant/metric/list',
  summary: 'Metrics, newest first, without deleted ones',
  effect: 'read',
  permission: 'billable-metric.read',
  input: input.paged(
    z.object({
      searchKey: input.line
        .optional()
        .describe('The id, or part of the code, name or description; refused if more than 10000 metrics match'),
      ...input.createdWithin,
      ...input.sorting('createTime', 'metricName', 'code', 'modifyTime'),
      ...input.paging,
    }),
  ),
  output: z.object({ merchantMetrics: z.array(MerchantMetric), total: input.total }),
  errors: [],
});

export const metricDetail = operation({
  service: 'catalog',
  name: 'metric.detail',
  methods: ['POST'],
  path: '/merchant/metric/detail',
  summary: 'A metric; deleted ones are not found',
  effect: 'read',
  permission: 'billable-metric.read',
  input: z.object({ metricId: input.integer }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found'],
});

export const deleteMetric = operation({
  service: 'catalog',
  name: 'metric.delete',
  methods: ['POST'],
  path: '/merchant/metric/delete',
  summary: 'Delete and archive a metric that is not used by an active plan',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({ metricId: input.integer }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found', 'metric_in_use'],
});
