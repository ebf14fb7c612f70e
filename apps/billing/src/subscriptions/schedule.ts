import type { IntervalUnit } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellsUsage } from './arrears.js';
import { endsWithPeriod } from './domain/cycle.js';
import { intervalOf } from './domain/items.js';
import { planOf, type Subscription } from './domain/subscription.js';
import { isUnannounced } from './prices/domain/entry.js';

/** Kind of due work: one item per subscription, due at the next thing that has to happen to it. */
export const NEXT = 'subscription.next';
/** Kind of due work: one item per subscription, due when the usage before its current period is complete. */
export const FINISH = 'subscription.finish';

/** Kind of due work: one item per subscription with a price change to announce. */
export const PRICE_NOTICE = 'subscription.price_notice';

/** Seconds before the end of a period at which the next invoice is made. */
const leads: Record<IntervalUnit, number> = { day: 3600, week: 86_400, month: 3 * 86_400, year: 15 * 86_400 };

/** Seconds before the end of its period at which a subscription's next invoice is made: none with usage charges. */
export function leadOf(sub: Subscription): number {
  return sellsUsage(sub.planSnapshot) ? 0 : leads[intervalOf(planOf(sub)).unit];
}

/** Schedules the next thing that happens to a subscription, or takes it off the schedule where it has ended. */
export function scheduleNext(tx: Tx, sub: Subscription): void {
  const { subscriptionId, status } = sub;
  if (status === 'active' || status === 'incomplete') tx.schedule(NEXT, subscriptionId, nextDue(sub));
  else tx.unschedule(NEXT, subscriptionId);
  scheduleNotice(tx, sub);
}

/** Has the notice of a price change looked at again: its time depends on the periods, and on whether it goes on. */
export function scheduleNotice(tx: Tx, { subscriptionId, priceChanges }: Subscription): void {
  if (priceChanges.some(isUnannounced)) tx.schedule(PRICE_NOTICE, subscriptionId, tx.now);
}

/** The second at which the invoice of a subscription's next period is made. */
export const makeTime = (sub: Subscription): number =>
  Math.max(sub.currentPeriodEnd - leadOf(sub), sub.currentPeriodStart);

const nextDue = (sub: Subscription): number => (endsWithPeriod(sub) ? sub.currentPeriodEnd : makeTime(sub));
