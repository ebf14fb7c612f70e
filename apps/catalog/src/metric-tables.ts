import { document, flag, int, integer, table, text } from '@recur/platform';
import type { AggregationType, Metric, MetricType } from './domain/metric.js';
import { oneOf } from './tables.js';

export interface MetricRow extends Metric {
  /** What lists are sorted by: of the name as much as an index takes. */
  sortName: string;
}

const metricTypes = ['limitMetered', 'chargeMetered', 'chargeRecurring', 'limitRecurring'] as const;
const aggregationTypes = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;

export const metrics = table<MetricRow>('metrics', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    code: text(),
    metricName: text(),
    metricDescription: text(),
    type: text<MetricType>(),
    aggregationType: text<AggregationType>(),
    aggregationProperty: text(),
    unit: text(),
    carryoverProrationEnabled: flag(),
    prorationRefundEnabled: flag(),
    metadata: document(),
    createTime: integer(),
    modifyTime: integer(),
    deletedTime: integer(),
    sortName: text(),
  },
  checks: {
    metrics_type: oneOf('type', metricTypes),
    metrics_aggregation_type: oneOf('aggregation_type', aggregationTypes),
  },
  indices: {
    metrics_code: { on: ['merchantId', 'code'], unique: true, where: 'deleted_time = 0' },
    metrics_newest: { on: ['merchantId', 'deletedTime', 'createTime', 'id'] },
    metrics_by_name: { on: ['merchantId', 'deletedTime', 'sortName', 'id'] },
    metrics_by_code: { on: ['merchantId', 'deletedTime', 'code', 'id'] },
  },
});

/** How a plan uses a metric: it limits its use, or charges for it. */
export type Use = 'limit' | 'meteredCharge' | 'recurringCharge';

/**
 * Which metrics a plan names. A trigger keeps these rows as the plan's documents say, so no way of writing a plan can
 * forget them. `id` and the times are those of the plan's limits.
 */
export interface PlanMetricRow {
  merchantId: number;
  planId: number;
  use: Use;
  metricId: number;
  id: number;
  /** 0 where it is charged. */
  metricLimit: number;
  createTime: number;
  modifyTime: number;
}

export const planMetrics = table<PlanMetricRow>('plan_metrics', {
  key: ['merchantId', 'planId', 'use', 'metricId'],
  columns: {
    merchantId: integer(),
    planId: integer(),
    use: text<Use>(),
    metricId: integer(),
    id: integer(),
    metricLimit: integer(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { plan_metrics_use: oneOf('use', ['limit', 'meteredCharge', 'recurringCharge'] satisfies Use[]) },
  indices: {
    plan_metrics_id: { on: ['merchantId', 'id'], unique: true },
    plan_metrics_by_metric: { on: ['merchantId', 'metricId', 'planId'] },
  },
});
