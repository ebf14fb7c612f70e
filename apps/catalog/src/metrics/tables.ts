import { document, flag, int, integer, oneOf, table, text } from '@recur/platform';
import type { AggregationType, Metric, MetricType } from './domain/metric.js';

export interface MetricRow extends Metric {
  /** Sort key of lists: see `sortNameOf`. */
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
