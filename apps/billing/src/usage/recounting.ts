import type { Reader, Tx } from '@recur/platform';
import type { Aggregation, Tally } from './domain/aggregation.js';
import type { Counter } from './domain/counter.js';

/** A stretch of a metric's events of one subscription. */
export type Stretch = Pick<Counter, 'subscriptionId' | 'metricId' | 'userId' | 'startAt' | 'endAt'>;

const within = 'user_id = $2 and metric_id = $3 and subscription_id = $4 and event_time >= $5 and event_time < $6';
const live = `from usage_events where merchant_id = $1 and ${within} and deleted_time = 0`;

const valuesOf = ({ merchantId }: Reader, { userId, metricId, subscriptionId, startAt, endAt }: Stretch) => [
  merchantId,
  userId,
  metricId,
  subscriptionId,
  startAt,
  endAt,
];

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
  const of = valuesOf(reader, stretch);
  await reader.query(`select set_config('statement_timeout', '60000', true)`, []);
  const [row] = await reader.query(
    `select count(*) as events, ${values[aggregation]} as used, coalesce(min(id), 0) as first, coalesce(max(id), 0) as last ${live}`,
    of,
  );
  const tally = {
    events: BigInt(String(row?.events ?? 0)),
    used: BigInt(String(row?.used ?? 0)),
    latestTime: 0,
    latestId: 0,
    minEventId: Number(row?.first ?? 0),
    maxEventId: Number(row?.last ?? 0),
  };
  if (aggregation !== 'latest') return tally;
  const [last] = await reader.query(
    `select value, event_time, id ${live} order by event_time desc, id desc limit 1`,
    of,
  );
  if (!last) return tally;
  return { ...tally, used: BigInt(String(last.value)), latestTime: Number(last.event_time), latestId: Number(last.id) };
}

const exactUniques = `select unique_id, count(*) as events ${live} and unique_id <> '' group by unique_id`;

/** True if the unique ids that are kept of a counter are not those of its events. */
export async function uniquesDiffer(reader: Reader, stretch: Stretch): Promise<boolean> {
  const rows = await reader.query(
    `select from (select unique_id, events from usage_uniques where merchant_id = $1 and subscription_id = $4
         and metric_id = $3 and start_at = $5 and events <> 0) kept full join (${exactUniques}) exact using (unique_id)
       where kept.events is distinct from exact.events limit 1`,
    valuesOf(reader, stretch),
  );
  return rows.length > 0;
}

/** Gives the events of a locked counter's time to it, where they name another one. */
export const adoptEvents = (tx: Tx, stretch: Stretch) =>
  tx.run(
    `update usage_events set counter_start = $5 where merchant_id = $1 and ${within} and counter_start <> $5`,
    valuesOf(tx, stretch),
  );

/** Keeps the unique ids of a locked counter's events in place of what was kept; none for a metric without such. */
export async function rebuildUniques(tx: Tx, stretch: Stretch): Promise<void> {
  const { subscriptionId, metricId, startAt, endAt } = stretch;
  await tx.run(
    `delete from usage_uniques where merchant_id = $1 and subscription_id = $2 and metric_id = $3
       and start_at >= $4 and start_at < $5`,
    [tx.merchantId, subscriptionId, metricId, startAt, endAt],
  );
  await tx.run(
    `insert into usage_uniques (merchant_id, subscription_id, metric_id, start_at, unique_id, events)
       select $1, $4, $3, $5, unique_id, events from (${exactUniques}) exact`,
    valuesOf(tx, stretch),
  );
}
