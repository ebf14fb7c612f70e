import type { Tx } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import { lockCounters } from '../counters.js';
import { isLimit } from '../metric-kinds.js';
import { splitAt } from '../splits.js';
import { counters } from '../tables.js';

/** The end of a period, and where it moves to. */
export interface MovedEnd {
  from: number;
  to: number;
  /** The end of the period that begins there, if one does: what was counted since counts in it. */
  next?: number;
}

/**
 * Moves the end of a subscription's current period for what is counted of its limits: to a change with which a new period
 * begins, which counts from zero, or to the end of free time that was appended.
 */
export async function movePeriodEnd(tx: Tx, subscriptionId: string, { from, to, next }: MovedEnd): Promise<void> {
  const ending = await tx.all(counters, { subscriptionId, periodEnd: from });
  const metrics = await metricsById(
    tx,
    ending.map(({ metricId }) => metricId),
  );
  const limits = [...metrics.values()].filter(isLimit).sort((a, b) => a.id - b.id);
  const pairs = limits.map(({ id: metricId }) => ({ subscriptionId, metricId }));
  for (const counter of await lockCounters(tx, pairs, 0)) {
    const metric = metrics.get(counter.metricId);
    if (!metric || counter.periodEnd !== from || counter.startAt >= to) continue;
    const rest = { startAt: to, endAt: next ?? 0, periodStart: to, periodEnd: next ?? 0 };
    const moved = next === undefined ? { ...counter, endAt: to } : await splitAt(tx, metric, counter, rest);
    tx.save(counters, { ...moved, periodEnd: to, version: counter.version + 1 });
  }
}
