import { z } from 'zod';
import { metricType } from '../codes.js';
import { code, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MerchantMetric } from './metrics.js';

const planMetricLimit = z.object({
  metricId: integer,
  metricLimit: integer,
});
export interface PlanMetricLimit extends z.output<typeof planMetricLimit> {}
export const PlanMetricLimit: Shape<PlanMetricLimit> = planMetricLimit.meta({
  id: 'PlanMetricLimit',
});

const planMetricLimitConfig = z.object({
  metricCode: text,
  metricName: text,
  metricId: integer,
  metricLimit: integer,
  metricType: code(metricType),
});
export interface PlanMetricLimitConfig extends z.output<typeof planMetricLimitConfig> {}
export const PlanMetricLimitConfig: Shape<PlanMetricLimitConfig> = planMetricLimitConfig.meta({
  id: 'PlanMetricLimitConfig',
});

const metricPlanLimit = z.object({
  id: integer,
  merchantId: integer,
  metricId: integer,
  metricLimit: integer,
  planId: integer,
  quantity: integer,
  createTime: time,
  gmtModify: time,
  merchantMetric: MerchantMetric.nullable(),
});
export interface MetricPlanLimit extends z.output<typeof metricPlanLimit> {}
export const MetricPlanLimit: Shape<MetricPlanLimit> = metricPlanLimit.meta({
  id: 'MetricPlanLimit',
});

export const PlanMetricLimitInput = z
  .object({ metricId: input.integer, metricLimit: z.int().min(0) })
  .meta({ 'x-shape': 'PlanMetricLimitInput' });
const metricLimit = z.int().min(0);

export const newPlanLimit = operation({
  service: 'catalog',
  name: 'metric.plan_limit_new',
  methods: ['POST'],
  path: '/merchant/metric/plan/limit/new',
  summary: "Limit the usage of a metric under a plan by adding an entry to the plan's metricLimits",
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
  summary: 'Change how much usage of a metric a plan allows',
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
  summary: 'Remove a metric limit from a plan and return the removed limit',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ metricPlanLimitId: input.integer }),
  output: z.object({ merchantMetricPlanLimit: MetricPlanLimit }),
  errors: ['plan_limit_not_found', 'plan_frozen'],
});
