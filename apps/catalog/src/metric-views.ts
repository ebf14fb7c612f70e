import * as contract from '@recur/contracts';
import type { MetricRow, PlanMetricRow } from './metric-tables.js';

export function metricView(metric: MetricRow): contract.MerchantMetric {
  return {
    id: metric.id,
    merchantId: metric.merchantId,
    createTime: metric.createTime,
    gmtModify: metric.modifyTime,
    aggregationType: contract.aggregationType[metric.aggregationType],
    type: contract.metricType[metric.type],
    aggregationProperty: metric.aggregationProperty,
    code: metric.code,
    metricName: metric.metricName,
    metricDescription: metric.metricDescription,
    unit: metric.unit,
    archived: metric.deletedTime > 0,
    carryoverProrationEnabled: metric.carryoverProrationEnabled,
    prorationRefundEnabled: metric.prorationRefundEnabled,
    metaData: metric.metadata,
  };
}

/** A limit by itself: `quantity` is of a subscription to the plan, so there is none. */
export const limitView = (limit: PlanMetricRow, metric: MetricRow | undefined): contract.MetricPlanLimit => ({
  id: limit.id,
  merchantId: limit.merchantId,
  metricId: limit.metricId,
  metricLimit: limit.metricLimit,
  planId: limit.planId,
  quantity: 0,
  createTime: limit.createTime,
  gmtModify: limit.modifyTime,
  merchantMetric: metric ? metricView(metric) : null,
});
