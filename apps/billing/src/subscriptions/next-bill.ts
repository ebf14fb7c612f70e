import type { Reader } from '@recur/platform';
import type { Bill } from '../invoicing/composed/domain/bill.js';
import { pendingUpdates } from './changes/tables.js';
import { updateTermsOf } from './changes/update-terms.js';
import { deferred } from './domain/apply-change.js';
import { cycleBill } from './domain/bill.js';
import { carriedItem } from './domain/carried.js';
import type { Period } from './domain/periods.js';
import { nextPeriod, type Subscription } from './domain/subscription.js';

/** The next bill of a subscription, the period that it is of, and the subscription as it will be in it. */
export interface NextBill {
  sub: Subscription;
  period: Period;
  bill: Bill;
}

/**
 * The bill of the period after the current one, with a deferred change applied: the billing cycle makes it,
 * preview_subscription_next_invoice shows it. `moment` is the finish, `known` the period where its invoice is made again.
 */
export async function nextBill(reader: Reader, now: Subscription, moment: number, known?: Period): Promise<NextBill> {
  const update = await deferredOf(reader, now);
  const sub = update ? { ...deferred(now, update), discount: updateTermsOf(update).discount } : now;
  const period = known ?? nextPeriod(sub);
  const bill = cycleBill(sub, period, sub.carried.map(carriedItem), moment);
  return { sub, period, bill: update ? { ...bill, name: 'SubscriptionDowngrade' } : bill };
}

/** The unfinished change that takes effect at the end of the period. */
export async function deferredOf(reader: Reader, { pendingUpdateId }: Subscription) {
  if (pendingUpdateId === '') return undefined;
  const update = await reader.find(pendingUpdates, { pendingUpdateId });
  return update?.status === 'pending' && update.effectImmediate === 0 ? update : undefined;
}
