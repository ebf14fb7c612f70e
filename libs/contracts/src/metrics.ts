import { z } from 'zod';
import { aggregationType, metricType } from './codes.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { MerchantMetric, MetricPlanLimit } from './shapes/metric.js';

const metricCode = input.rule(input.externalId, 'may not be blank', value => value.trim() !== '');
const metricLimit = z.int().min(0);

/** What can be said of a metric as often as one likes. */
const metricFields = {
  carryoverProrationEnabled: input.flag,
  metaData: input.anyObject,
  metricDescription: input.prose,
  prorationRefundEnabled: input.flag,
  unit: input.line,
};

export const newMetric = operation({
  service: 'catalog',
  name: 'metric.new',
  methods: ['POST'],
  path: '/merchant/metric/new',
  summary: 'Create a metric, by which use is limited or charged',
  effect: 'write',
  permission: 'billable-metric.write',
  input: input.rule(
    z.object({
      aggregationProperty: input.line.default('').describe('Which property of an event is aggregated'),
      aggregationType: input.code(aggregationType).default(aggregationType.count),
      carryoverProrationEnabled: metricFields.carryoverProrationEnabled.default(false),
      code: metricCode.describe('What events name it by; unique among the metrics that are not deleted'),
      metaData: metricFields.metaData.default({}),
      metricDescription: metricFields.metricDescription.default(''),
      metricName: input.filled,
      prorationRefundEnabled: metricFields.prorationRefundEnabled.default(false),
      type: input.code(metricType).default(metricType.limitMetered),
      unit: metricFields.unit.default(''),
    }),
    'may be blank only where events are counted (aggregationType 1)',
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
  summary: 'Change the fields that are sent; the type stays while an active plan uses the metric',
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
  summary: 'The metrics, newest first; deleted ones are not among them',
  effect: 'read',
  permission: 'billable-metric.read',
  input: input.paged(
    z.object({
      searchKey: input.line
        .optional()
        .describe('The id, or a part of the code, the name or the description that at most 10000 metrics have'),
      ...input.createdWithin,
      ...input.sorting('createTime', 'metricName', 'code'),
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
  summary: 'A metric that is not deleted',
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
  summary: 'Delete and archive a metric that no active plan uses',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({ metricId: input.integer }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found', 'metric_in_use'],
});

export const newPlanLimit = operation({
  service: 'catalog',
  name: 'metric.plan_limit_new',
  methods: ['POST'],
  path: '/merchant/metric/plan/limit/new',
  summary: "Limit the use of a metric under a plan: one more entry of the plan's metricLimits",
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ metricId: input.integer, metricLimit, planId: input.integer }),
  output: z.object({ merchantMetricPlanLimit: MetricPlanLimit }),
  errors: ['plan_not_found', 'metric_not_found', 'plan_frozen'],
});

export const editPlanLimit = operation({
  service: 'catalog',
  name: 'metric.plan_limit_edit',
  methods: ['POST'],
  path: '/merchant/metric/plan/limit/edit',
  summary: 'Change how much of a metric a plan allows',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ metricLimit, metricPlanLimitId: input.integer }),
  output: z.object({ merchantMetricPlanLimit: MetricPlanLimit }),
  errors: ['plan_limit_not_found', 'plan_frozen'],
});

export const deletePlanLimit = operation({
  service: 'catalog',
  name: 'metric.plan_limit_delete',
  methods: ['POST'],
  path: '/merchant/metric/plan/limit/delete',
  summary: 'Take the limit of a metric off a plan; it answers the limit as it was',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ metricPlanLimitId: input.integer }),
  output: z.object({ merchantMetricPlanLimit: MetricPlanLimit }),
  errors: ['plan_limit_not_found', 'plan_frozen'],
});
