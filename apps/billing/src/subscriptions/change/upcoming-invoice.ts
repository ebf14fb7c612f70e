import type { Reader } from '@recur/platform';
import * as discounts from '../../discounts/redemption.js';
import type { InvoiceInput, InvoiceItem } from '../../invoices/domain/items.js';
import type { Arrears } from '../arrears.js';
import { renewalInput } from '../domain/invoice-input.js';
import { pendingInvoiceItem } from '../domain/pending-items.js';
import type { Period } from '../domain/periods.js';
import { endsWithPeriod } from '../domain/renewal.js';
import { entered, pricedFrom } from '../domain/repricing.js';
import { nextPeriod, planOf, type Subscription } from '../domain/subscription.js';
import { afterDeferred, chosenByNow, type DeferredUpdate, pendingUpdates, updateTermsOf } from '../pending-update.js';

/** The next invoice of a subscription, the period that it is of, and the subscription as it will be in it, at its prices. */
export interface UpcomingInvoice {
  sub: Subscription;
  period: Period;
  input: InvoiceInput;
}

/**
 * The invoice of the period after the current one, with a deferred change applied: the billing cycle makes it,
 * preview_subscription_next_invoice shows it. `moment` is the finish, `known` the period where its invoice is made again.
 */
export async function upcomingInvoice(
  reader: Reader,
  sub: Subscription,
  { arrears, moment, known }: { arrears: Arrears; moment: number; known?: Period | undefined },
): Promise<UpcomingInvoice> {
  const start = known?.start ?? sub.currentPeriodEnd;
  const [update, usage] = await Promise.all([deferredOf(reader, sub), arrears.items(reader, sub, start)]);
  const isLost = update !== undefined && (await losesCode(reader, sub, update));
  return upcomingInvoiceOf(isLost ? { ...sub, discount: null } : sub, update, moment, { known, usage });
}

/** The discount that a change leaves: that of its submit, else a code that waits for an invoice to reduce. */
function discountWith({ discount }: Subscription, update: DeferredUpdate) {
  const waits = discount !== null && discount.waitingUseId > 0;
  return chosenByNow(updateTermsOf(update).discount, discount) ?? (waits ? discount : null);
}

/** True if a code that waits is not for the plan of a change, whose submit knew nothing of it. */
async function losesCode(reader: Reader, sub: Subscription, update: DeferredUpdate): Promise<boolean> {
  const found = discountWith(sub, update);
  if (!found || found !== sub.discount) return false;
  return !(await discounts.appliesToPlan(reader, found.discountId, planOf(afterDeferred(sub, update))));
}

/** Facts of a next invoice: its period and usage, and the open invoice that it replaces; '' for none. */
interface KnownPeriod {
  known?: Period | undefined;
  usage?: readonly InvoiceItem[];
  replaces?: string;
}

/** The same with a deferred change that is known: pure. */
export function upcomingInvoiceOf(
  now: Subscription,
  update: DeferredUpdate | undefined,
  moment: number,
  { known, usage = [], replaces = '' }: KnownPeriod = {},
): UpcomingInvoice {
  const sub = update ? { ...afterDeferred(now, update), discount: discountWith(now, update) } : now;
  const period = known ?? nextPeriod(sub);
  const priced = pricedFrom(sub, period.start);
  const input = renewalInput(priced, period, [...sub.carried.map(pendingInvoiceItem), ...usage], moment, replaces);
  return { sub: priced, period, input: update ? { ...input, name: 'SubscriptionDowngrade' } : input };
}

/** The next invoice of a subscription as it is in a later period. */
export type Following = (then: Subscription) => Promise<UpcomingInvoice>;

/**
 * The first invoice with lines, from a next period on: one without, such as free time, has no document. Undefined where the
 * subscription ends before one that has.
 */
export const firstToBill = async (next: UpcomingInvoice, following: Following): Promise<UpcomingInvoice | undefined> =>
  next.input.items.length > 0 ? next : firstAfter(next, following);

/** The same after a period, with which a deferred change has taken effect. */
export async function firstAfter(
  { sub, period }: Pick<UpcomingInvoice, 'sub' | 'period'>,
  following: Following,
): Promise<UpcomingInvoice | undefined> {
  const then = { ...entered(sub, period), pendingUpdateId: '' };
  return endsWithPeriod(then) ? undefined : firstToBill(await following(then), following);
}

/** The unfinished change that takes effect at the end of the period. */
export async function deferredOf(reader: Reader, { pendingUpdateId }: Subscription) {
  if (pendingUpdateId === '') return undefined;
  const update = await reader.find(pendingUpdates, { pendingUpdateId });
  return update?.status === 'pending' && update.effect === 'periodEnd' ? update : undefined;
}
