import type { InvoiceDiscount, InvoiceInput, InvoiceItem } from '../../invoices/domain/items.js';
import type { ChangeDirection } from './changes.js';
import { type ProductText, periodItems } from './items-to-bill.js';
import { pendingInvoiceItem } from './pending-items.js';
import type { Period } from './periods.js';
import { planOf, type Subscription } from './subscription.js';

// Inputs of calculateInvoice: of the first invoice, a renewal, a change and the final invoice. Nothing else computes an amount.

/** Choices of a create or a renewal beyond the subscription itself. */
export interface FirstInvoiceTerms {
  discount?: InvoiceDiscount;
  product?: ProductText;
  promo?: InvoiceInput['promo'];
}

/** The invoice of the first period: create_preview, create_submit and renew. */
export function firstInput(sub: Subscription, period: Period, terms: FirstInvoiceTerms, moment: number): InvoiceInput {
  const items = period.kind === 'free' ? [] : periodItems(sub, period, terms.product);
  return {
    ...commonInput(sub, moment),
    reason: 'create',
    name: 'SubscriptionCreate',
    period: { kind: period.kind, start: period.start, end: period.end },
    items,
    ...(terms.discount && { discount: terms.discount }),
    ...(terms.promo && { promo: terms.promo }),
  };
}

/**
 * The invoice of a later period: the cycle and preview_subscription_next_invoice. `others` are pending items, late usage and
 * usage of the period before, in that order; pending items come first on the invoice, usage after the fees. `replaces` is an
 * open invoice in whose place it comes.
 */
export function renewalInput(
  sub: Subscription,
  period: Period,
  others: readonly InvoiceItem[],
  moment: number,
  replaces = '',
): InvoiceInput {
  const carried = others.filter(({ kind }) => kind === 'carried');
  const usage = others.filter(({ kind }) => kind !== 'carried');
  const { discount } = sub;
  const fees = period.kind === 'free' ? [] : periodItems(sub, period);
  return {
    ...commonInput(sub, moment),
    reason: period.kind === 'trial' ? 'trialStep' : 'cycle',
    name: 'SubscriptionCycle',
    period: { kind: period.kind, start: period.start, end: period.end },
    items: [...carried, ...fees, ...usage],
    ...(discount && { discount: boundDiscount(discount, replaces) }),
  };
}

const boundDiscount = (
  { discountId, code, waitingUseId }: NonNullable<Subscription['discount']>,
  replaces: string,
): InvoiceDiscount =>
  waitingUseId > 0
    ? { is: 'waiting', discountId, code, useId: waitingUseId }
    : { is: 'bound', discountId, code, replaces };

/** Fields of every invoice of a subscription. */
export const commonInput = (sub: Subscription, moment: number) => ({
  subscriptionId: sub.subscriptionId,
  userId: sub.userId,
  currency: sub.currency,
  moment,
  taxPercentage: sub.taxPercentage,
  vatNumber: sub.vatNumber,
  countryCode: sub.countryCode,
  snapshot: sub.planSnapshot,
  anchor: sub.anchor,
  trialEnd: sub.trialEnd,
  mainPlan: planOf(sub),
});

/** `usage`: usage alone, of a cancelled invoice that is not made again, or what came before the grace of an end was over. */
export type FinalKind = 'last' | 'usage';

/** The final invoice of a subscription. Pending items come first. */
export const finalInput = (
  sub: Subscription,
  items: readonly InvoiceItem[],
  at: number,
  kind: FinalKind,
): InvoiceInput => ({
  ...commonInput(sub, at),
  reason: kind,
  name: 'SubscriptionCancel',
  period: { kind: '', start: sub.currentPeriodStart, end: at },
  items: [...sub.carried.map(pendingInvoiceItem), ...items],
});

/** A change as far as its invoice depends on it. */
export interface ChangeToBill {
  direction: ChangeDirection;
  at: number;
  periodEnd: number;
  items: InvoiceInput['items'];
  discount?: InvoiceDiscount | undefined;
  promo?: InvoiceInput['promo'];
}

/** The invoice of a change: update_preview and update_submit. `sub` is the subscription as it will be. */
export const changeInput = (sub: Subscription, change: ChangeToBill): InvoiceInput => ({
  ...commonInput(sub, change.at),
  ...reasonOfChange(change.direction),
  period: { kind: '', start: change.at, end: change.periodEnd },
  items: change.items,
  prorationDate: change.at,
  ...(change.discount && { discount: change.discount }),
  ...(change.promo && { promo: change.promo }),
});

const reasonOfChange = (direction: ChangeDirection) =>
  direction === 'downgrade'
    ? ({ reason: 'downgrade', name: 'SubscriptionDowngrade' } as const)
    : ({ reason: 'upgrade', name: 'SubscriptionUpgrade' } as const);
