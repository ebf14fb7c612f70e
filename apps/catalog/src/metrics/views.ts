import * as contract from '@recur/contracts';
import type { MetricRow } from './tables.js';

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
