import type { Reader } from '@recur/platform';
import type { Bill } from '../invoicing/composed/bill.js';
import { type PendingUpdate, pendingUpdates } from './changes/tables.js';
import { cycleBill } from './domain/bill.js';
import { lengthOf } from './domain/calendar.js';
import { carriedItem } from './domain/carried.js';
import { intervalOf } from './domain/items.js';
import type { Period } from './domain/periods.js';
import { nextPeriod, planOf, type Subscription } from './domain/subscription.js';

/** The next bill of a subscription, the period that it is of, and the subscription as it will be in it. */
export interface NextBill {
  sub: Subscription;
  period: Period;
  bill: Bill;
}

/**
 * The bill of the period after the current one, with a deferred change applied: the billing cycle makes it,
 * preview_subscription_next_invoice shows it. `moment` is the finish.
 */
export async function nextBill(reader: Reader, now: Subscription, moment: number): Promise<NextBill> {
  const deferred = await deferredOf(reader, now);
  const sub = deferred ? inForce(now, deferred) : now;
  const period = nextPeriod(sub);
  const bill = cycleBill(sub, period, sub.carried.map(carriedItem), moment);
  return { sub, period, bill: deferred ? { ...bill, name: 'SubscriptionDowngrade' } : bill };
}

/** The unfinished change that takes effect at the end of the period. */
async function deferredOf(reader: Reader, { pendingUpdateId }: Subscription) {
  if (pendingUpdateId === '') return undefined;
  const update = await reader.find(pendingUpdates, { pendingUpdateId });
  return update?.status === 'pending' && update.effectImmediate === 0 ? update : undefined;
}

/** The subscription after a deferred change; one of the interval counts periods anew from the end of the current one. */
function inForce(before: Subscription, update: PendingUpdate): Subscription {
  const after: Subscription = {
    ...before,
    ...{ planId: update.updatePlanId, quantity: update.updateQuantity, amount: update.updateAmount },
    ...{ currency: update.updateCurrency, planSnapshot: update.updateSnapshot, items: update.updateItems },
  };
  const isSame = lengthOf(intervalOf(planOf(before))) === lengthOf(intervalOf(planOf(after)));
  return isSame ? after : { ...after, anchor: before.currentPeriodEnd, periodNo: 0 };
}
