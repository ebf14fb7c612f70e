import { Injectable } from '@nestjs/common';
import type { IntervalUnit } from '@recur/contracts';
import { DAY_SECONDS } from '@recur/kernel';
import { type Reader, type Tx, type Work, work } from '@recur/platform';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';
import { Arrears, hasUsage, sellsUsage } from './arrears.js';
import { intervalOf } from './domain/items.js';
import { isUnannounced } from './domain/price-entry.js';
import { endsWithPeriod } from './domain/renewal.js';
import { isInForce, planOf, type Subscription } from './domain/subscription.js';

/** Kind of due work: one item per subscription, due at the next thing that has to happen to it. */
export const NEXT = 'subscription.next';
/** Kind of due work: one item per subscription, due when the usage before its current period is complete. */
export const FINISH = 'subscription.finish';

/** Kind of due work: one item per subscription with a price change to announce. */
export const PRICE_NOTICE = 'subscription.price_notice';

/** Kind of due work: one item per subscription that ends with its period, due when its end is near. */
export const END_NOTICE = 'subscription.end_notice';

/** Seconds before the end of a period at which the next invoice is made, and an end with it is announced. */
const leadTimes: Record<IntervalUnit, number> = {
  day: 3600,
  week: DAY_SECONDS,
  month: 3 * DAY_SECONDS,
  year: 15 * DAY_SECONDS,
};

/** Seconds before the end of its period at which a subscription's next invoice is made: none with usage charges. */
export function leadOf(sub: Subscription): number {
  return sellsUsage(sub.planSnapshot) ? 0 : leadTimes[intervalOf(planOf(sub)).unit];
}

/**
 * Schedules the next thing that happens to a subscription, or takes it off the schedule where it has ended. `before` is
 * what it was until now; undefined for a new one.
 */
export function scheduleNext(tx: Tx, sub: Subscription, before: Subscription | undefined): void {
  const { subscriptionId } = sub;
  if (isInForce(sub)) tx.schedule(NEXT, subscriptionId, nextDue(sub));
  else tx.unschedule(NEXT, subscriptionId);
  schedulePriceNotice(tx, sub);
  scheduleEndNotice(tx, sub, before);
}

/** Has its end announced, where it is to end with its period since now, that has another end, or is near from another time. */
export function scheduleEndNotice(tx: Tx, sub: Subscription, before: Subscription | undefined): void {
  if (!willEnd(sub)) return;
  const at = endNoticeTimeOf(sub);
  const isSameEnd = before !== undefined && willEnd(before) && before.currentPeriodEnd === sub.currentPeriodEnd;
  const isKnown = isSameEnd && (endNoticeTimeOf(before) <= tx.now || endNoticeTimeOf(before) === at);
  if (!isKnown) tx.schedule(END_NOTICE, sub.subscriptionId, at);
}

/** True for one that is in force, and ends with its period. */
export const willEnd = (sub: Subscription): boolean => isInForce(sub) && endsWithPeriod(sub);

/** The second from which the end of its period is near. */
export const endNoticeTimeOf = (sub: Subscription): number =>
  sub.currentPeriodEnd - leadTimes[intervalOf(planOf(sub)).unit];

/** Has the notice of a price change looked at again: its time depends on the periods, and on whether it goes on. */
export function schedulePriceNotice(tx: Tx, { subscriptionId, priceChanges }: Subscription): void {
  if (priceChanges.some(isUnannounced)) tx.schedule(PRICE_NOTICE, subscriptionId, tx.now);
}

/** The second at which the invoice of a subscription's next period is made. */
const invoiceTimeOf = (sub: Subscription): number =>
  Math.max(sub.currentPeriodEnd - leadOf(sub), sub.currentPeriodStart);

/** The same, or now where that has passed. */
export const nextInvoiceMoment = ({ now }: Pick<Reader, 'now'>, sub: Subscription): number =>
  Math.max(now, invoiceTimeOf(sub));

const nextDue = (sub: Subscription): number => (endsWithPeriod(sub) ? sub.currentPeriodEnd : invoiceTimeOf(sub));

/** Kind of due work: the limits of an invoice's period are kept, as they are once it is paid; the key is its id. */
const KEEP_LIMITS = 'usage.snapshot';

/** Schedules that the limits of a paid invoice's period are kept, where it has any. */
export function keepLimitsOf(tx: Tx, { invoiceId, billReason, billed }: InvoiceState): void {
  if (billReason === 'onetime' || !billed?.planSnapshot) return;
  if (hasUsage(billed.planSnapshot)) tx.schedule(KEEP_LIMITS, invoiceId, tx.now);
}

/** Keeps the limits of paid invoices. It comes after the payment is committed: the first one makes the subscription live. */
@Injectable()
export class InvoiceLimits {
  readonly work: Work = work(KEEP_LIMITS, { time: 'merchant', logged: false }, (tx, items) =>
    tx.together(items, item => this.keep(tx.item(item), item.key)),
  );

  constructor(private readonly arrears: Arrears) {}

  private async keep(tx: Tx, invoiceId: string): Promise<void> {
    await this.arrears.keepLimits(tx, await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found'));
  }
}
