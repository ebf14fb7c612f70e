import { Inject, Injectable } from '@nestjs/common';
import { eachItem, LOG, type Log, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { metricsById } from '../customers/metrics.js';
import { aggregationOf } from './metric-kinds.js';
import { recount } from './recounting.js';
import { counters } from './tables.js';

/** The kind of work that compares counters with their events; its key is `<subscriptionId> <metricId> <startAt>`. */
export const RECOUNT_WORK = 'usage.recount';

const everySeconds = 86_400;

/**
 * Compares each counter with a recount of its events: daily while it grows, and once when its time is over. A difference
 * is an error in the log and changes nothing, since an invoice may stand on the counter.
 */
@Injectable()
export class UsageRecounts {
  readonly work: Work = work(
    RECOUNT_WORK,
    { time: 'merchant', logged: false, batch: 1, leaseSeconds: 120, atOnce: 1 },
    eachItem((tx, item) => this.compare(tx, item)),
  );
  /** Counters that differed, since the start of the process. */
  differences = 0;

  constructor(@Inject(LOG) private readonly log: Log) {}

  private async compare(tx: Tx, { key }: WorkItem): Promise<void> {
    const [subscriptionId = '', metricId, startAt] = key.split(' ');
    const of = { subscriptionId, metricId: Number(metricId), startAt: Number(startAt) };
    const counter = await tx.lockIfAny(counters, of);
    const metric = (await metricsById(tx, [of.metricId])).get(of.metricId);
    if (!counter || !metric) return;
    const exact = await recount(tx, aggregationOf(metric), counter);
    if (exact.events !== counter.events || exact.used !== counter.used) {
      this.differences++;
      const { merchantId, events, used } = counter;
      const differing = {
        counted: { events: `${events}`, used: `${used}` },
        exact: { events: `${exact.events}`, used: `${exact.used}` },
      };
      this.log.error({ merchantId, counter: key, ...differing }, 'a usage counter differs from its events');
    }
    scheduleRecount(tx, counter);
  }
}

/** Schedules the next comparison of a counter: in a day, or when its time is over; none after that. */
export function scheduleRecount(
  tx: Tx,
  counter: { subscriptionId: string; metricId: number; startAt: number; endAt: number },
): void {
  const { subscriptionId, metricId, startAt, endAt } = counter;
  if (tx.now >= endAt) return;
  tx.schedule(RECOUNT_WORK, `${subscriptionId} ${metricId} ${startAt}`, Math.min(tx.now + everySeconds, endAt));
}
