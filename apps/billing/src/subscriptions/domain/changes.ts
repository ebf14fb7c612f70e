import { type Interval, invalid, lengthOf, Rejected } from '@recur/kernel';
import { QUOTE_SECONDS } from '../../invoices/domain/deadlines.js';
import type { Item } from './items.js';
import type { SubscriptionStatus } from './subscription.js';

/** Items that a subscription sells per period: the main plan first, then the add-ons by id. */
export interface Terms<I extends Item = Item> {
  currency: string;
  interval: Interval;
  items: readonly I[];
}

/** Effect that a request asks for. */
export type RequestedEffect = 'byRules' | 'now' | 'periodEnd';

/** Facts of a subscription and its merchant that decide when a change takes effect. */
export interface ChangeContext {
  requested: RequestedEffect;
  /** Active, and outside of a trial. */
  paidActive: boolean;
  /** The current period was paid in another system: there is no line of it to credit. */
  paidElsewhere?: boolean;
  /** In a trial, the next period is paid: a change bills that one again. */
  paidAhead?: boolean;
  downgradeEffectImmediately: boolean;
  upgradeProration: boolean;
}

export type ChangeDirection = 'upgrade' | 'downgrade' | 'equal';

/** When a change takes effect, and what it is. */
export interface ChangeDecision {
  effect: 'now' | 'periodEnd';
  direction: ChangeDirection;
  /** True for an interval other than the present one: a change that is billed starts a new period when it takes effect. */
  newInterval: boolean;
  /** False for a change that bills nothing when it takes effect. */
  billed: boolean;
}

/** Whole price of a period, before discounts. */
export const totalPrice = ({ items }: { items: readonly Pick<Item, 'unitAmount' | 'quantity'>[] }): bigint =>
  items.reduce((total, { unitAmount, quantity }) => total + unitAmount * BigInt(quantity), 0n);

/** Where a longer interval, or else a higher price, makes an upgrade. */
export function directionOf(from: Terms, to: Terms): ChangeDirection {
  const longer = lengthOf(to.interval) - lengthOf(from.interval);
  const dearer = totalPrice(to) - totalPrice(from);
  if (longer !== 0) return longer > 0 ? 'upgrade' : 'downgrade';
  if (!sameInterval(from.interval, to.interval) || dearer === 0n) return 'equal';
  return dearer > 0n ? 'upgrade' : 'downgrade';
}

/**
 * Decides when a change takes effect; the first rule that applies wins: the request, a subscription that is not active
 * and paid, another interval, the price of a period. Another currency, and a period that was paid elsewhere, take effect at
 * the period's end only: throws Rejected `invalid_parameters` for /effectImmediate if the request wants it at once.
 */
export function decideChange(from: Terms, to: Terms, context: ChangeContext): ChangeDecision {
  const { requested, paidActive, paidElsewhere = false, paidAhead = false, upgradeProration } = context;
  const direction = directionOf(from, to);
  const newInterval = !sameInterval(from.interval, to.interval);
  const anotherCurrency = from.currency !== to.currency;
  if (anotherCurrency && requested === 'now') {
    throw invalid('/effectImmediate', `A change from ${from.currency} to ${to.currency} waits for the period's end`);
  }
  if (paidElsewhere && requested === 'now') {
    const message = 'The period was paid in the system from which the subscription was imported';
    throw invalid('/effectImmediate', `${message}: a change waits for its end`);
  }
  const effect = anotherCurrency || paidElsewhere ? 'periodEnd' : effectOfChange(direction, context);
  const equal = direction === 'equal' && requested === 'byRules' && !newInterval;
  return { effect, direction, newInterval, billed: (paidActive || paidAhead) && upgradeProration && !equal };
}

function effectOfChange(
  direction: ChangeDirection,
  { requested, paidActive, downgradeEffectImmediately }: ChangeContext,
): ChangeDecision['effect'] {
  if (requested !== 'byRules') return requested;
  if (!paidActive || direction !== 'downgrade') return 'now';
  return downgradeEffectImmediately ? 'now' : 'periodEnd';
}

export const sameInterval = (a: Interval, b: Interval): boolean => a.unit === b.unit && a.count === b.count;

/** How a change is carried out, by the state of the subscription. */
export type ChangeMode = 'billed' | 'trial' | 'incomplete';

/** State of a subscription as far as a change depends on it. */
export interface ChangeableState {
  subscriptionId: string;
  status: SubscriptionStatus;
  inTrial: boolean;
  cancelAtPeriodEnd: boolean;
}

/**
 * Decides how a change may be carried out: a trial is switched at once without lines, an incomplete subscription has its
 * open invoice replaced, an active one is billed. Throws Rejected `subscription_wrong_state` where it may not.
 */
export function changeMode(state: ChangeableState): ChangeMode {
  const { subscriptionId, status, inTrial } = state;
  if (status !== 'active' && status !== 'incomplete') {
    throw new Rejected('subscription_wrong_state', `Subscription ${subscriptionId} is ${status}: cannot change it`);
  }
  if (status === 'incomplete') return 'incomplete';
  return inTrial ? 'trial' : 'billed';
}

/** The refusal while the next period is paid as a change that waits for it sells it. */
export const prepaid = (subscriptionId: string): Rejected =>
  new Rejected(
    'subscription_wrong_state',
    `The next period of subscription ${subscriptionId} is paid with its pending change: change it when that has begun`,
  );

/** The refusal while a period is over, and the next one has not begun. */
export const betweenPeriods = (subscriptionId: string): Rejected =>
  new Rejected(
    'subscription_wrong_state',
    `The period of subscription ${subscriptionId} is over, and its next one has not begun: try again in a moment`,
  );

/** The refusal of another currency where usage, late usage too, is priced in the one that there is. */
export const pricedUsage = ({ subscriptionId, currency }: { subscriptionId: string; currency: string }): Rejected =>
  new Rejected(
    'subscription_wrong_state',
    `Subscription ${subscriptionId} sells usage, which is priced in ${currency}: its currency cannot change`,
  );

/** The refusal while the invoice of the current period, which waits for usage or for its payment, is not paid. */
export const unpaidPeriod = (subscriptionId: string): Rejected =>
  new Rejected(
    'subscription_wrong_state',
    `The invoice of the current period of subscription ${subscriptionId} is not paid yet: try again when it is`,
  );

/** The refusal while the invoice of the current period, which was cancelled, waits to be made again. */
export const cancelledInvoice = (subscriptionId: string): Rejected =>
  new Rejected(
    'subscription_wrong_state',
    `The invoice of the current period of subscription ${subscriptionId} is cancelled: change it once it is made again`,
  );

/** Refuses a deferred change of a subscription that ends with its period. Throws Rejected `subscription_wrong_state`. */
export function assertDeferrable({ subscriptionId, cancelAtPeriodEnd }: ChangeableState): void {
  if (!cancelAtPeriodEnd) return;
  throw new Rejected(
    'subscription_wrong_state',
    `Subscription ${subscriptionId} ends with its period: it cannot change at that time`,
  );
}

/**
 * The second at which a change is priced: that of a quote, else now. Throws Rejected `invalid_parameters` for
 * /prorationDate unless it is in [now − 3600, now], within the period, and not before the last change.
 */
export function prorationDateOf(
  given: number,
  now: number,
  { start, end, changed }: { start: number; end: number; changed: number },
): number {
  if (given === 0) return now;
  if (given < now - QUOTE_SECONDS || given > now) {
    throw invalid('/prorationDate', `is ${given}: a quote holds ${QUOTE_SECONDS} seconds, it is ${now}`);
  }
  if (given < start || given >= end) {
    throw invalid('/prorationDate', `is ${given}: outside of the period from ${start} to ${end}`);
  }
  if (given < changed) throw invalid('/prorationDate', `is ${given}: the subscription was changed at ${changed}`);
  return given;
}
