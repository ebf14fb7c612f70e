import { hasMetric, termsOf, type UsagePeriod, type UsageSubscription } from './facts.js';

/** `lateSeconds`: how old an event may be; `aheadSeconds`: how far ahead of the merchant's clock. */
export const eventTimes = { lateSeconds: 35 * 86_400, aheadSeconds: 300 } as const;

/** Where an event counts. */
export interface Place {
  subscription: UsageSubscription;
  period: UsagePeriod;
}

export type Misplaced =
  /** The time is outside of what is taken. */
  | { refused: 'time'; message: string }
  /** No subscription that takes events covers the time. */
  | { refused: 'no-subscription' }
  /** The period is invoiced, and the merchant refuses late usage. */
  | { refused: 'late' };

/**
 * The subscription and period that an event of `metricId` at `at` counts for: of the user's subscriptions that cover the
 * time, the one whose plans have the metric, else the newest. Period open or in grace: counted; invoiced: as
 * `lateUsage` says.
 */
export function place(
  subscriptions: readonly UsageSubscription[],
  { metricId, at, now }: { metricId: number; at: number; now: number },
): Place | Misplaced {
  if (at > now + eventTimes.aheadSeconds) {
    return { refused: 'time', message: `is more than ${eventTimes.aheadSeconds} seconds ahead` };
  }
  if (at < now - eventTimes.lateSeconds) return { refused: 'time', message: 'is more than 35 days ago' };
  const taking = subscriptions.filter(({ end, takesUntil }) => end === 0 || now < takesUntil);
  const candidates = taking.flatMap(subscription => {
    const period = periodAt(subscription, at);
    return period ? [{ subscription, period }] : [];
  });
  const newestFirst = candidates.sort((one, other) => other.subscription.start - one.subscription.start);
  const found = newestFirst.find(({ period }) => hasMetric(termsOf(period), metricId)) ?? newestFirst[0];
  if (!found) {
    const isBefore = taking.length > 0 && taking.every(({ start }) => at < start);
    if (isBefore) return { refused: 'time', message: 'is before the start of the subscription' };
    return { refused: 'no-subscription' };
  }
  if (found.period.state === 'invoiced' && found.subscription.lateUsage === 'refuse') return { refused: 'late' };
  return found;
}

function periodAt({ start, end, periods }: UsageSubscription, at: number): UsagePeriod | undefined {
  if (at < start || (end !== 0 && at >= end)) return undefined;
  return periods.find(period => period.start <= at && at < period.end);
}
