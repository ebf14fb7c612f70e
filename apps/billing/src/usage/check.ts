import { Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { shownValue } from './billing/due-lines.js';
import { countersOf } from './counters.js';
import type { UsageSubscription } from './domain/facts.js';
import { eventTimes } from './domain/placing.js';
import { count, counterAt, type Placed, totalOf } from './events/counted.js';
import { uniqueCounts, uniqueKey } from './events/keys.js';
import { placing } from './events/recorder.js';
import type { Incoming } from './events/resolve.js';
import { aggregationOf, isLimit, kindOf } from './metric-kinds.js';

type Of = { incoming: Pick<Incoming, 'metric'> };

const nowhere = { currentValue: 0, isLimited: false, totalLimit: 0, left: 0, periodEnd: 0 } as const;

/** Counts an event as the recorder would, in a counter that is not kept. A blank unique id stands for a new one. */
export async function checked(reader: Reader, incoming: Incoming, subscriptions: readonly UsageSubscription[]) {
  const placed = placing(incoming, subscriptions, reader.now);
  if (placed instanceof Rejected) return { allowed: false, reason: placed.slug, ...nowhere };
  const { period, at } = placed;
  const { metric, value, uniqueId } = incoming;
  const { counter, shown } = await standing(reader, placed);
  const isLimited = isLimit(metric);
  const [currentValue, isNew] = await Promise.all([
    isLimited ? counter.used : shown(),
    isNewIn(reader, counter, incoming),
  ]);
  const event = { id: Number.MAX_SAFE_INTEGER, eventTime: at, value, uniqueId };
  const isTaken = count(placed, { ...counter }, event, isNew) !== undefined;
  const total = totalOf(placed, counter);
  return {
    allowed: isTaken,
    reason: isTaken ? '' : 'usage_limit_exceeded',
    currentValue: Number(currentValue),
    isLimited,
    totalLimit: Number(total),
    left: isLimited && total > counter.used ? Number(total - counter.used) : 0,
    periodEnd: period.end,
  };
}

/** The counter of an event, and how to get the value that it shows. */
export async function standing(reader: Reader, placed: Pick<Placed, 'subscription' | 'period' | 'at'> & Of) {
  const { subscription, incoming } = placed;
  const { metric } = incoming;
  const pair = { subscriptionId: subscription.subscriptionId, metricId: metric.id };
  // a recurring charge counts on over all periods
  const since = kindOf(metric) === 'chargeRecurring' ? 0 : reader.now - eventTimes.lateSeconds;
  const there = await countersOf(reader, [pair], since);
  const { counter } = counterAt(placed, reader.merchantId, there);
  return { counter, shown: () => shownValue(reader, metric, counter, there, subscription) };
}

/** True if no event of the counter has the unique id. */
async function isNewIn(
  reader: Reader,
  counter: ReturnType<typeof counterAt>['counter'],
  { metric, uniqueId }: Incoming,
): Promise<boolean> {
  if (aggregationOf(metric) !== 'countUnique' || uniqueId === '') return true;
  const name = { ...counter, uniqueId };
  return ((await uniqueCounts(reader, [name])).get(uniqueKey(name)) ?? 0n) === 0n;
}
