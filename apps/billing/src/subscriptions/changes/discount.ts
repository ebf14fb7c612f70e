import { invalid } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import * as discounts from '../../discounts/redemption.js';
import type { BillDiscount } from '../../invoicing/composed/domain/bill.js';
import { discountOfChanges } from '../../pricing/discount.js';
import { externalTerms } from '../create/external-discount.js';
import { type BoundDiscount, planOf } from '../domain/subscription.js';
import type { BilledLines, ChangeInput, ChangeQuote } from './change-quote.js';

type Quoted = Pick<ChangeQuote, 'sub' | 'after' | 'plan'>;

/**
 * The discount on the charge lines of a change: the one that the request names, else the recurring one that the
 * subscription is bound to, where the period carries it and the new plan fits it. Throws Rejected `invalid_parameters` for
 * a request that names one where nothing is charged.
 */
export async function discountOf(
  reader: Reader,
  { sub, after, plan }: Quoted,
  { items, shares, carriesDiscount }: BilledLines,
  { discountCode: code, discount: external }: ChangeInput,
): Promise<BillDiscount | undefined> {
  if (code !== '' || external) {
    if (code !== '' && external) throw invalid('/discount', 'has no place beside discountCode');
    const path = external ? '/discount' : '/discountCode';
    if (!items.some(({ kind }) => kind !== 'credit'))
      throw invalid(path, 'has nothing to reduce: the change charges nothing');
    if (external) return { ...externalTerms(external), shares };
    return { is: 'code', code, operation: operationOf(plan), shares };
  }
  return boundTerms(reader, { sub, after }, { items, shares, carriesDiscount });
}

/** The recurring discount that a subscription is bound to, on the charge lines of a change. */
export async function boundTerms(
  reader: Reader,
  { sub, after }: Pick<Quoted, 'sub' | 'after'>,
  { shares, carriesDiscount }: BilledLines,
): Promise<BillDiscount | undefined> {
  const { discount } = sub;
  if (!discount?.recurring || !carriesDiscount) return undefined;
  const [fits, granted] = await Promise.all([
    discounts.survives(reader, discount.discountId, planOf(after)),
    discounts.waiting(reader, discount),
  ]);
  if (!fits || !granted) return undefined;
  return { is: 'terms', code: granted.code, terms: discountOfChanges(granted.terms, shares) };
}

function operationOf({ direction, newInterval }: ChangeQuote['plan']) {
  if (direction !== 'upgrade') return 'otherUpdate';
  return newInterval ? 'longerUpgrade' : 'upgrade';
}

/**
 * The discount on the invoice that replaces the open one of an incomplete subscription: the code of that, or the one that
 * the subscription is bound to, where the new plan fits it.
 */
export async function discountOfOpen(
  tx: Tx,
  { sub, after }: Pick<Quoted, 'sub' | 'after'>,
  invoiceId: string,
): Promise<BillDiscount | undefined> {
  const used = await discounts.useOf(tx, { invoiceId });
  const bound = used ?? (sub.discount?.recurring ? sub.discount : undefined);
  if (!bound || !(await discounts.survives(tx, bound.discountId, planOf(after)))) return undefined;
  const { discountId, code } = bound;
  if (used && !used.recurring) return { is: 'waiting', discountId, code, useId: used.useId };
  return { is: 'bound', discountId, code, replaces: invoiceId };
}

/** The bound discount after a change: it ends where it does not fit the new plan. */
export async function boundAfter(reader: Reader, { sub, after }: Quoted): Promise<BoundDiscount | null> {
  const { discount } = sub;
  if (!discount || sub.planId === after.planId) return discount;
  return (await discounts.survives(reader, discount.discountId, planOf(after))) ? discount : null;
}
