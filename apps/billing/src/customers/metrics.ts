import { type MerchantMetric } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks } from '@recur/platform';
import { metrics } from './tables.js';

/** Metrics that can be used, by code. */
export async function metricsByCode(
  reader: Peeking,
  codes: readonly string[],
): Promise<ReadonlyMap<string, MerchantMetric>> {
  const rows = await reader.peekAmong(metrics, 'code', [...new Set(codes)]);
  return new Map(rows.filter(({ archived }) => !archived).map(({ code, data }) => [code, data]));
}

/** Metrics by id, deleted ones included. */
export async function metricsById(
  reader: Peeking,
  ids: readonly number[],
): Promise<ReadonlyMap<number, MerchantMetric>> {
  const rows = await reader.peekAmong(metrics, 'id', [...new Set(ids)]);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

/**
 * The metric with this code. A missing copy, or one that is known to lag, is asked of catalog: throws Stale, carrying
 * Rejected `metric_not_found`.
 */
export async function assertMetric(reader: Peeks, code: string): Promise<MerchantMetric> {
  reader.fresh('metrics', { code });
  const metric = (await metricsByCode(reader, [code])).get(code);
  if (!metric) throw reader.stale('metrics', { code }, new Rejected('metric_not_found'));
  return metric;
}
