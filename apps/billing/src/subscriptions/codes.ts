import type { createSubscription, In } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import type { DiscountSettings } from '../discounts/domain/discount.js';
import * as discounts from '../discounts/redemption.js';
import type { InvoiceDiscount } from '../invoices/domain/items.js';
import { type BoundDiscount, planOf, type Subscription } from './domain/subscription.js';
import { chosenByNow } from './pending-update.js';

// Verbs about one-time codes whose use waits for the first invoice that it can reduce.

/** Locks the discount of a code that waits: discounts are locked before invoices. */
export const lockReserved = (tx: Tx, { discount }: Pick<Subscription, 'discount'>): Promise<void> =>
  discounts.lockDiscountsOf(tx, { useId: discount?.waitingUseId ?? 0 });

/** Gives back a code that still waits when its subscription ends. */
export async function releaseReserved(tx: Tx, { discount }: Pick<Subscription, 'discount'>): Promise<void> {
  if (discount && discount.waitingUseId > 0) await discounts.releaseUse(tx, discount.waitingUseId);
}

/** Lets the code of an invoice that is cancelled wait for the next one; undefined where it has none. */
export async function reserveAgain(tx: Tx, invoice: { invoiceId: string }): Promise<BoundDiscount | undefined> {
  const use = await discounts.useOf(tx, invoice);
  if (!use || use.recurring) return undefined;
  const { discountId, code, useId } = use;
  await discounts.attach(tx, useId, { invoiceId: '', amount: 0n });
  return { discountId, code, recurring: false, waitingUseId: useId };
}

/**
 * The discount that a subscription is bound to after a change. `chosen` is that of the submit; a code that waits is kept
 * where that is none and the new plan is one of its plans, and released otherwise.
 */
export async function boundAfterChange(
  tx: Tx,
  { discount: waiting }: Pick<Subscription, 'discount'>,
  chosen: BoundDiscount | null,
  after: Subscription,
): Promise<BoundDiscount | null> {
  const useId = waiting?.waitingUseId ?? 0;
  const bound = chosenByNow(chosen, waiting);
  if (!waiting || useId === 0 || bound?.waitingUseId === useId) return bound;
  if (!bound && (await discounts.appliesToPlan(tx, waiting.discountId, planOf(after)))) return waiting;
  await discounts.releaseUse(tx, useId);
  return bound;
}

/** A discount of a request: a code of its own, bound to the subscription. */
export function externalTerms(
  given: NonNullable<In<typeof createSubscription>['discount']>,
): Extract<InvoiceDiscount, { is: 'external' }> {
  const { recurring, discountAmount, discountPercentage, cycleLimit, endTime, metadata } = given;
  const fixed = discountAmount > 0;
  const settings: Partial<DiscountSettings> = {
    billingType: recurring ? 'recurring' : 'onetime',
    discountType: fixed ? 'fixedAmount' : 'percentage',
    amount: BigInt(discountAmount),
    percentage: discountPercentage,
    cycleLimit,
    endTime,
    metadata,
  };
  const terms = fixed
    ? ({ kind: 'fixed', amount: BigInt(discountAmount) } as const)
    : ({ kind: 'percentage', percentage: discountPercentage } as const);
  return { is: 'external', settings, terms, recurring };
}
