import { Inject, Injectable } from '@nestjs/common';
import type { MerchantMetric } from '@recur/contracts';
import { DAY_SECONDS } from '@recur/kernel';
import {
  eachItem,
  LOG,
  type Log,
  type Reader,
  metrics as series,
  type Tx,
  type Work,
  type WorkItem,
  work,
} from '@recur/platform';
import { Counter as Series } from 'prom-client';
import { metricsById } from '../customers/catalog.js';
import { counterKey } from './counters.js';
import type { Aggregation, Tally } from './domain/aggregation.js';
import { aggregationOf, type Counter } from './domain/counter.js';
import { counters } from './tables.js';

/** The kind of work that compares counters with their events; its key is `<subscriptionId> <metricId> <periodStart>`. */
const RECOUNT_WORK = 'usage.recount';

const differences = new Series({
  name: 'recur_usage_recount_differences_total',
  help: 'Usage counters that were found to differ from their events',
  registers: [series],
});

/** A counter beside the exact tally of its events. */
export interface Compared {
  counter: Counter;
  exact: Recount;
  agrees: boolean;
}

/**
 * Compares counters with a recount of their events: those of a metric's period daily while it lasts, once when it is over,
 * and once more after each day on which a late event or a deletion changed one. A difference is counted, logged, and told
 * in the operation log; it changes nothing, since an invoice may stand on the counter. The counters of that period are
 * not compared again until they are mended.
 */
@Injectable()
export class UsageRecounts {
  readonly work: Work = work(
    RECOUNT_WORK,
    { time: 'merchant', batch: 1, leaseSeconds: 120, atOnce: 1 },
    eachItem((tx, item) => this.compare(tx, item)),
  );

  constructor(@Inject(LOG) private readonly log: Log) {}

  private async compare(tx: Tx, { key }: WorkItem): Promise<void> {
    const [subscriptionId = '', metric, start] = key.split(' ');
    const [metricId, periodStart] = [Number(metric), Number(start)];
    const known = (await metricsById(tx, [metricId])).get(metricId);
    const own = await tx.parts(counters, { subscriptionId, metricId, periodStart }, 'order by start_at');
    const last = own.at(-1);
    if (!last || !known) return;
    const differing: Compared[] = [];
    for (const counter of own) {
      const compared = await comparison(tx, known, counter);
      if (!compared.agrees) differing.push(compared);
    }
    if (differing.length > 0) return this.tell(tx, differing);
    if (tx.now < last.periodEnd) scheduleRecount(tx, last);
  }

  private tell(tx: Tx, differing: readonly Compared[]): void {
    for (const { counter, exact } of differing) {
      const { merchantId, events, used } = counter;
      const tallies = {
        counted: { events: `${events}`, used: `${used}` },
        exact: { events: `${exact.events}`, used: `${exact.used}` },
      };
      this.log.error(
        { merchantId, counter: counterKey(counter), ...tallies },
        'a usage counter differs from its events',
      );
    }
    tx.onCommit(() => differences.inc(differing.length));
    logDifference(tx, differing, 'Differs');
  }
}

/** Schedules the next comparison of the counters of a metric's period: in a day, or when the period is over. */
export function scheduleRecount(
  tx: Tx,
  {
    subscriptionId,
    metricId,
    periodStart,
    periodEnd,
  }: Pick<Counter, 'subscriptionId' | 'metricId' | 'periodStart' | 'periodEnd'>,
): void {
  const day = tx.now + DAY_SECONDS;
  const at = tx.now < periodEnd ? Math.min(day, periodEnd) : day;
  tx.schedule(RECOUNT_WORK, `${subscriptionId} ${metricId} ${periodStart}`, at);
}

/** Compares a locked counter with its events. */
export async function comparison(tx: Tx, metric: MerchantMetric, counter: Counter): Promise<Compared> {
  const aggregation = aggregationOf(metric);
  const exact = await recount(tx, aggregation, counter);
  const names = ['events', 'used', 'latestTime', 'latestId'] as const;
  const isEqual = names.every(name => exact[name] === counter[name]);
  const agrees = isEqual && !(aggregation === 'countUnique' && (await uniquesDiffer(tx, counter)));
  return { counter, exact, agrees };
}

/** The entry of the operation log for counters of one metric. */
export function logDifference(tx: Tx, differing: readonly Compared[], word: 'Differs' | 'Mended'): void {
  const [first] = differing;
  if (!first) return;
  const { metricId, subscriptionId, userId } = first.counter;
  const parts = differing.map(
    ({ counter, exact }) =>
      `from ${counter.startAt}: ${counter.used} of ${counter.events} events, exactly ${exact.used} of ${exact.events}`,
  );
  tx.log(`Metric(${metricId})`, `Counter${word}(${parts.join('; ')})`, { userId, subscriptionId });
}

/** An interval of a metric's events of one subscription. */
export type CounterWindow = Pick<Counter, 'subscriptionId' | 'metricId' | 'userId' | 'startAt' | 'endAt'>;

const within = 'user_id = $2 and metric_id = $3 and subscription_id = $4 and event_time >= $5 and event_time < $6';
const liveEvents = `from usage_events where merchant_id = $1 and ${within} and deleted_time = 0`;

const valuesOf = ({ merchantId }: Reader, { userId, metricId, subscriptionId, startAt, endAt }: CounterWindow) => [
  merchantId,
  userId,
  metricId,
  subscriptionId,
  startAt,
  endAt,
];

const valueTexts: Readonly<Record<Aggregation, string>> = {
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

/** The exact tally of an interval, from its events. Its cost grows with their number. */
export async function recount(reader: Reader, aggregation: Aggregation, period: CounterWindow): Promise<Recount> {
  const of = valuesOf(reader, period);
  await reader.query(`select set_config('statement_timeout', '60000', true)`, []);
  const [row] = await reader.query(
    `select count(*) as events, ${valueTexts[aggregation]} as used, coalesce(min(id), 0) as first, coalesce(max(id), 0) as last ${liveEvents}`,
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
    `select value, event_time, id ${liveEvents} order by event_time desc, id desc limit 1`,
    of,
  );
  if (!last) return tally;
  return { ...tally, used: BigInt(String(last.value)), latestTime: Number(last.event_time), latestId: Number(last.id) };
}

const exactUniques = `select unique_id, count(*) as events ${liveEvents} and unique_id <> '' group by unique_id`;

/** True if the unique ids that are kept of a counter are not those of its events. */
async function uniquesDiffer(reader: Reader, period: CounterWindow): Promise<boolean> {
  const rows = await reader.query(
    `select from (select unique_id, events from usage_uniques where merchant_id = $1 and subscription_id = $4
         and metric_id = $3 and start_at = $5 and events <> 0) kept full join (${exactUniques}) exact using (unique_id)
       where kept.events is distinct from exact.events limit 1`,
    valuesOf(reader, period),
  );
  return rows.length > 0;
}

/** Gives the events of a locked counter's time to it, where they name another one. */
export const reassignEvents = (tx: Tx, period: CounterWindow) =>
  tx.run(
    `update usage_events set counter_start = $5 where merchant_id = $1 and ${within} and counter_start <> $5`,
    valuesOf(tx, period),
  );

/** Keeps the unique ids of a locked counter's events in place of what was kept; none for a metric without such. */
export async function rebuildUniques(tx: Tx, period: CounterWindow): Promise<void> {
  const { subscriptionId, metricId, startAt, endAt } = period;
  await tx.run(
    `delete from usage_uniques where merchant_id = $1 and subscription_id = $2 and metric_id = $3
       and start_at >= $4 and start_at < $5`,
    [tx.merchantId, subscriptionId, metricId, startAt, endAt],
  );
  await tx.run(
    `insert into usage_uniques (merchant_id, subscription_id, metric_id, start_at, unique_id, events)
       select $1, $4, $3, $5, unique_id, events from (${exactUniques}) exact`,
    valuesOf(tx, period),
  );
}
