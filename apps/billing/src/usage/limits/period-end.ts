import type { Tx } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import { lockCounters } from '../counters.js';
import { type Counter, isCharge } from '../domain/counter.js';
import { kindOf } from '../metric-kinds.js';
import { scheduleRecount } from '../recounts.js';
import { splitAt } from '../splits.js';
import { counters } from '../tables.js';

/** The change that moves the end of a period; free time that is appended moves that of its limits alone. */
export interface MovedFor {
  /** The period that begins at the new end: what was counted since counts in it. Free time may follow what it sells. */
  next?: { soldUntil: number; end: number };
  /** True where the period itself is sold anew, for another interval. */
  isResold?: boolean;
}

/** The end of a period, and where it moves to. */
interface MovedEnd extends MovedFor {
  from: number;
  to: number;
}

/**
 * Moves the end of a subscription's current period for what is counted of it: to a change with which a new period begins,
 * which counts from zero, or to the end of free time that was appended.
 */
export async function movePeriodEnd(tx: Tx, subscriptionId: string, moved: MovedEnd): Promise<void> {
  const { from, to, next } = moved;
  const ending = await tx.all(counters, { subscriptionId, periodEnd: from, closed: false });
  const metrics = await metricsById(
    tx,
    ending.map(({ metricId }) => metricId),
  );
  const pairs = [...metrics.keys()].sort((a, b) => a - b).map(metricId => ({ subscriptionId, metricId }));
  const changed: Counter[] = [];
  for (const counter of await lockCounters(tx, pairs, 0)) {
    const metric = metrics.get(counter.metricId);
    if (!metric || counter.periodEnd !== from || counter.closed) continue;
    const found = isCharge(kindOf(metric)) ? chargeMoved(counter, moved) : undefined;
    if (found) changed.push(found);
    if (isCharge(kindOf(metric)) || counter.startAt >= to) continue;
    const rest = { ...counter, startAt: to, endAt: next?.end ?? 0, periodStart: to, periodEnd: next?.end ?? 0 };
    const cut = next ? await splitAt(tx, metric, counter, rest) : { ...counter, endAt: to };
    changed.push({ ...cut, periodEnd: to });
    if (next) scheduleRecount(tx, rest);
  }
  await tx.upsert(
    counters,
    changed.map(counter => ({ ...counter, version: counter.version + 1 })),
  );
}

/** A charge's counter with its period as it is sold: one that began with the change, or one of a period sold anew. */
function chargeMoved(counter: Counter, { from, to, next, isResold }: MovedEnd): Counter | undefined {
  if (next && counter.startAt >= to) {
    return { ...counter, endAt: next.soldUntil, periodStart: to, periodEnd: next.end };
  }
  if (!isResold || counter.startAt >= to) return undefined;
  return { ...counter, endAt: counter.endAt === from ? to : counter.endAt, periodEnd: to };
}
