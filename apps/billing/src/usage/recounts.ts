import { Inject, Injectable } from '@nestjs/common';
import type { MerchantMetric } from '@recur/contracts';
import { eachItem, LOG, type Log, metrics as series, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { Counter as Series } from 'prom-client';
import { metricsById } from '../customers/metrics.js';
import { keyOf } from './counters.js';
import type { Counter } from './domain/counter.js';
import { aggregationOf } from './metric-kinds.js';
import { type Recount, recount, uniquesDiffer } from './recounting.js';
import { counters } from './tables.js';

/** The kind of work that compares counters with their events; its key is `<subscriptionId> <metricId> <periodStart>`. */
export const RECOUNT_WORK = 'usage.recount';

const everySeconds = 86_400;

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
      this.log.error({ merchantId, counter: keyOf(counter), ...tallies }, 'a usage counter differs from its events');
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
  const day = tx.now + everySeconds;
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
