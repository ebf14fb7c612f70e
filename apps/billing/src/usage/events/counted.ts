import { emptyCounter } from '../counters.js';
import { added, type Measured } from '../domain/aggregation.js';
import { boundsAt, type Counter, isCharge } from '../domain/counter.js';
import { exceeds, limitOf } from '../domain/limit.js';
import type { Place } from '../domain/placing.js';
import { aggregationOf, isLimit, kindOf } from '../metric-kinds.js';
import type { Incoming } from './resolve.js';

/** An event with its place and time. */
export interface Placed extends Place {
  incoming: Incoming;
  at: number;
}

type Of = { incoming: Pick<Incoming, 'metric'> };

/** The counter of an event: among those that are there, else the one to make for it. */
export function counterAt(
  { incoming, at, subscription, period }: Pick<Placed, 'at' | 'subscription' | 'period'> & Of,
  merchantId: number,
  there: readonly Counter[],
): { counter: Counter; isNew: boolean } {
  const found = there.find(({ startAt, endAt }) => startAt <= at && at < endAt);
  if (found) return { counter: found, isNew: false };
  const { metric } = incoming;
  const others = there.map(({ startAt, endAt }) => ({ start: startAt, end: endAt }));
  const bounds = boundsAt(subscription, period, { metricId: metric.id, kind: kindOf(metric), at }, others);
  const { subscriptionId, userId } = subscription;
  const of = { merchantId, userId, periodStart: period.start, periodEnd: period.end };
  return { counter: emptyCounter({ subscriptionId, metricId: metric.id }, bounds, of), isNew: true };
}

/** The limit of a counter's period with what was carried over and adjusted; 0 for charges. */
export function totalOf({ incoming: { metric }, period }: Placed, { adjusted }: Pick<Counter, 'adjusted'>): bigint {
  return isLimit(metric) ? limitOf(period, metric.id, metric.carryoverProrationEnabled) + adjusted : 0n;
}

/** Counts one more event in a counter, which it changes; returns the limit, or undefined if the event exceeds it. */
export function count(placed: Placed, counter: Counter, event: Measured, isNew: boolean): bigint | undefined {
  const { metric } = placed.incoming;
  const tally = added(aggregationOf(metric), counter, event, isNew);
  const total = totalOf(placed, counter);
  if (!isCharge(kindOf(metric)) && exceeds(counter.used, tally.used, total)) return undefined;
  // in place: a batch counts a thousand events
  counter.events = tally.events;
  counter.used = tally.used;
  counter.latestTime = tally.latestTime;
  counter.latestId = tally.latestId;
  counter.minEventId = counter.minEventId === 0 ? event.id : Math.min(counter.minEventId, event.id);
  counter.maxEventId = Math.max(counter.maxEventId, event.id);
  return total;
}
