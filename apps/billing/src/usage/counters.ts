import { hydrate, type Reader, type Tx } from '@recur/platform';
import { chargedMetricIds } from '../customers/catalog.js';
import { noTally } from './domain/aggregation.js';
import type { Bounds, Counter } from './domain/counter.js';
import { counters } from './tables.js';

// Counters are written by transactions that hold their row locks, so a save may replace the row (`replaced`).

/** The counts of one metric of a subscription. */
export interface Pair {
  subscriptionId: string;
  metricId: number;
}

const columns = counters.columns.map(({ column }) => `c.${column}`).join(', ');
const ofPairs = `select ${columns} from unnest($2::text[], $3::bigint[]) r(subscription_id, metric_id)
  join usage_counters c on c.merchant_id = $1 and c.subscription_id = r.subscription_id and c.metric_id = r.metric_id
    and c.end_at > $4 order by c.subscription_id, c.metric_id, c.start_at`;
const createText = `insert into usage_counters (merchant_id, subscription_id, metric_id, start_at, end_at, user_id,
    period_start, period_end, events, used, latest_time, latest_id, min_event_id, max_event_id, adjusted, version,
    closed, billed_value, billed_amount, notice_due, notice_at, alerted, upgrade_asked)
  select $1, r.*, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0, false, 0, 0, false
  from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) r
  on conflict do nothing`;

const counterValues = (pairs: readonly Pair[], since: number) => [
  pairs.map(({ subscriptionId }) => subscriptionId),
  pairs.map(({ metricId }) => metricId),
  since,
];

/** Locks the counters of these metrics that reach beyond `since`, in the order in which all lock them. */
export async function lockCounters(tx: Tx, pairs: readonly Pair[], since: number): Promise<Counter[]> {
  if (pairs.length === 0) return [];
  const rows = await tx.run(`${ofPairs} for update of c`, [tx.merchantId, ...counterValues(pairs, since)]);
  return rows.map(row => hydrate(counters, row));
}

/** A metric of a user, of which one notice tells. */
export interface NoticeOf {
  userId: number;
  metricId: number;
}

const noticeDueText = `select ${columns} from unnest($2::bigint[], $3::bigint[]) r(user_id, metric_id)
  join usage_counters c on c.merchant_id = $1 and c.user_id = r.user_id and c.metric_id = r.metric_id and c.notice_due
  order by c.subscription_id, c.metric_id, c.start_at for update of c`;

/** Locks the counters of users' metrics of which a notice is due, in the order in which all lock them. */
export const lockNoticeDue = (tx: Tx, of: readonly NoticeOf[]): Promise<Counter[]> =>
  tx.lockFound(counters, noticeDueText, [
    tx.merchantId,
    of.map(({ userId }) => userId),
    of.map(({ metricId }) => metricId),
  ]);

/** The counters of `lockCounters`, without locks. */
export async function countersOf(reader: Reader, pairs: readonly Pair[], since: number): Promise<Counter[]> {
  if (pairs.length === 0) return [];
  const rows = await reader.query(ofPairs, [reader.merchantId, ...counterValues(pairs, since)]);
  return rows.map(row => hydrate(counters, row));
}

const chargedText = `select exists(select 1 from usage_counters c
    where c.merchant_id = $1 and c.subscription_id = asked.id and c.metric_id in ${chargedMetricIds}) as charged
  from unnest($2::text[]) with ordinality asked(id, n) order by n`;

/** True if usage of a subscription was ever counted of a metric that is charged. */
export const chargesUsage = (reader: Reader, subscriptionId: string): Promise<boolean> =>
  reader.jointly('charged', subscriptionId, async ids => {
    const rows = await reader.query(chargedText, [reader.merchantId, ids]);
    return rows.map(({ charged }) => charged === true);
  });

/** Makes counters that are not there yet, without locking those that are. */
export async function createCounters(tx: Tx, made: readonly Counter[]): Promise<void> {
  if (made.length === 0) return;
  const sorted = [...made].sort((one, other) => (counterKey(one) < counterKey(other) ? -1 : 1));
  const column = <K extends keyof Counter>(name: K) => sorted.map(counter => counter[name]);
  await tx.run(createText, [
    tx.merchantId,
    column('subscriptionId'),
    column('metricId'),
    column('startAt'),
    column('endAt'),
    column('userId'),
    column('periodStart'),
    column('periodEnd'),
  ]);
}

/** A counter of an interval in which nothing was counted yet. */
export const emptyCounter = (
  { subscriptionId, metricId }: Pair,
  { start, end }: Bounds,
  of: Pick<Counter, 'merchantId' | 'userId' | 'periodStart' | 'periodEnd'>,
): Counter => ({
  ...noTally,
  ...of,
  subscriptionId,
  metricId,
  startAt: start,
  endAt: end,
  minEventId: 0,
  maxEventId: 0,
  adjusted: 0n,
  version: 0,
  price: null,
  closed: false,
  billedValue: 0n,
  billedAmount: 0n,
  noticeDue: false,
  noticeAt: 0,
  alerted: 0,
  upgradeAsked: false,
});

export const pairKey = ({ subscriptionId, metricId }: Pair) => `${subscriptionId} ${metricId}`;
export const counterKey = (counter: Pair & { startAt: number }) => `${pairKey(counter)} ${counter.startAt}`;

/** Distinct pairs, in any order. */
export const pairsIn = (of: readonly Pair[]): Pair[] => [...new Map(of.map(pair => [pairKey(pair), pair])).values()];

/** Rows by a key, in their order. */
export function groupedBy<T, K>(rows: readonly T[], keyIn: (row: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const row of rows) {
    const group = groups.get(keyIn(row));
    if (group) group.push(row);
    else groups.set(keyIn(row), [row]);
  }
  return groups;
}

/** SQL for the start of the oldest counter of a subscription whose charge is not billed; `$1` is the merchant. */
export const oldestUnbilled = (subscriptionId: string): string => `(select min(c.start_at) from usage_counters c
  where c.merchant_id = $1 and c.subscription_id = ${subscriptionId} and not c.closed and c.events > 0
    and c.metric_id in ${chargedMetricIds})`;
