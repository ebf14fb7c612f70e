import type { Tx } from '@recur/platform';
import * as discounts from '../discounts/redemption.js';
import { chosenByNow } from './changes/update-terms.js';
import type { BoundDiscount, Subscription } from './domain/subscription.js';
import { planOf } from './domain/subscription.js';

// Verbs about one-time codes whose use waits for the first invoice that it can reduce.

/** Locks the discount of a code that waits: discounts are locked before invoices. */
export const lockWaiting = (tx: Tx, { discount }: Pick<Subscription, 'discount'>): Promise<void> =>
  discounts.lockDiscountsOf(tx, { useId: discount?.waitingUseId ?? 0 });

/** Gives back a code that still waits when its subscription ends. */
export async function giveBackWaiting(tx: Tx, { discount }: Pick<Subscription, 'discount'>): Promise<void> {
  if (discount && discount.waitingUseId > 0) await discounts.giveBackUse(tx, discount.waitingUseId);
}

/** Lets the code of an invoice that is cancelled wait for the next one; undefined where it has none. */
export async function waitAgain(tx: Tx, invoice: { invoiceId: string }): Promise<BoundDiscount | undefined> {
  const use = await discounts.useOf(tx, invoice);
  if (!use || use.recurring) return undefined;
  const { discountId, code, useId } = use;
  await discounts.attach(tx, useId, { invoiceId: '', amount: 0n });
  return { discountId, code, recurring: false, waitingUseId: useId };
}

/**
 * The discount that a subscription is bound to after a change. `chosen` is that of the submit; a code that waits is kept
 * where that is none and the new plan is one of its plans, and given back otherwise.
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
  if (!bound && (await discounts.survives(tx, waiting.discountId, planOf(after)))) return waiting;
  await discounts.giveBackUse(tx, useId);
  return bound;
}
