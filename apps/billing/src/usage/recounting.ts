import type { Reader } from '@recur/platform';
import type { Aggregation, Tally } from './domain/aggregation.js';
import type { Counter } from './domain/counter.js';

/** A stretch of a metric's events of one subscription. */
export type Stretch = Pick<Counter, 'subscriptionId' | 'metricId' | 'userId' | 'startAt' | 'endAt'>;

const live = `from usage_events where merchant_id = $1 and user_id = $2 and metric_id = $3 and subscription_id = $4
  and event_time >= $5 and event_time < $6 and deleted_time = 0`;

const values: Readonly<Record<Aggregation, string>> = {
  count: 'count(*)',
  countUnique: 'count(distinct unique_id)',
  sum: 'coalesce(sum(value), 0)',
  max: 'coalesce(max(value), 0)',
  latest: '0',
};

export interface Recount extends Tally {
  minEventId: number;
  maxEventId: number;
}

/** The exact tally of a stretch, from its events. Its cost grows with their number. */
export async function recount(reader: Reader, aggregation: Aggregation, stretch: Stretch): Promise<Recount> {
  const { userId, metricId, subscriptionId, startAt, endAt } = stretch;
  const of = [reader.merchantId, userId, metricId, subscriptionId, startAt, endAt];
  await reader.query(`select set_config('statement_timeout', '60000', true)`, []);
  const [row] = await reader.query(
    `select count(*) as events, ${values[aggregation]} as used, coalesce(min(id), 0) as first, coalesce(max(id), 0) as last ${live}`,
    of,
  );
  const tally = {
    ...{ events: BigInt(String(row?.events ?? 0)), used: BigInt(String(row?.used ?? 0)) },
    ...{ latestTime: 0, latestId: 0, minEventId: Number(row?.first ?? 0), maxEventId: Number(row?.last ?? 0) },
  };
  if (aggregation !== 'latest') return tally;
  const [last] = await reader.query(
    `select value, event_time, id ${live} order by event_time desc, id desc limit 1`,
    of,
  );
  if (!last) return tally;
  return { ...tally, used: BigInt(String(last.value)), latestTime: Number(last.event_time), latestId: Number(last.id) };
}

/** Unique ids of a stretch with the number of their events. */
export async function recountUniques(reader: Reader, stretch: Stretch): Promise<Map<string, bigint>> {
  const { userId, metricId, subscriptionId, startAt, endAt } = stretch;
  const of = [reader.merchantId, userId, metricId, subscriptionId, startAt, endAt];
  const rows = await reader.query(`select unique_id, count(*) as events ${live} group by unique_id`, of);
  return new Map(rows.map(row => [String(row.unique_id), BigInt(String(row.events))]));
}
