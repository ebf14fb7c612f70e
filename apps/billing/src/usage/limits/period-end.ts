import type { Tx } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import { lockCounters } from '../counters.js';
import { isLimit } from '../metric-kinds.js';
import { counters } from '../tables.js';

/**
 * Moves the end of a subscription's current period for what is counted of its limits: to a change with which a new period
 * begins, which counts from zero, or to the end of free time that was appended.
 */
export async function movePeriodEnd(tx: Tx, subscriptionId: string, from: number, to: number): Promise<void> {
  const ending = await tx.all(counters, { subscriptionId, periodEnd: from });
  const limits = [
    ...(
      await metricsById(
        tx,
        ending.map(({ metricId }) => metricId),
      )
    ).values(),
  ].filter(isLimit);
  const pairs = limits
    .map(({ id: metricId }) => ({ subscriptionId, metricId }))
    .sort((a, b) => a.metricId - b.metricId);
  for (const counter of await lockCounters(tx, pairs, 0)) {
    if (counter.periodEnd !== from || counter.startAt >= to) continue;
    tx.save(counters, { ...counter, endAt: to, periodEnd: to, version: counter.version + 1 });
  }
}
