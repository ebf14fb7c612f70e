import type { In, submitChange } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import * as discounts from '../../discounts/redemption.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import type { InvoiceDiscount } from '../../invoices/domain/items.js';
import type { CalculatedInvoice } from '../../invoices/issuing/calculate.js';
import { discountOfParts } from '../../pricing/discount.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import type { BilledPart } from '../../usage/rating.js';
import { externalTerms } from '../codes.js';
import type { Update } from '../domain/apply-change.js';
import type { ChangeItems } from '../domain/change-items.js';
import type { ChangeDecision, ChangeMode } from '../domain/changes.js';
import { type PendingItem, pendingItem } from '../domain/pending-items.js';
import type { PeriodRow } from '../domain/periods.js';
import { type BoundDiscount, planOf, type Subscription } from '../domain/subscription.js';
import type { SubscriptionSettings } from '../tables.js';

type SubmitInput = In<typeof submitChange>;
/** Terms of update_preview and update_submit; what only the latter has is optional. */
export type ChangeInput = Pick<
  SubmitInput,
  'newPlanId' | 'addonParams' | 'applyPromoCredit' | 'applyPromoCreditAmount' | 'currency' | 'discountCode'
> &
  Pick<SubmitInput, 'effectImmediate' | 'gatewayId' | 'prorationDate' | 'vatCountryCode' | 'vatNumber'> &
  Partial<Pick<SubmitInput, 'discount' | 'productData' | 'quantity' | 'taxPercentage'>>;

/** A change as it would be carried out, with what it bills now calculated. */
export interface ChangeQuote {
  /** The subscription as it is, and as it will be. */
  sub: Subscription;
  after: Subscription;
  update: Update;
  mode: ChangeMode;
  decision: ChangeDecision;
  /** Unix second at which it is priced. */
  at: number;
  /** Live periods from then on: the current one, and the next one where it has an invoice. */
  periods: PeriodRow[];
  /** The period that starts with the change. */
  newPeriod: ServicePeriod | undefined;
  /** The usage up to the change that is billed with it: of metrics whose price it alters, or of all with a new period. */
  ended: BilledPart;
  calculated: CalculatedInvoice;
  /**
   * Unbilled lines, of the subscription and of the open next invoice, which the change withdraws: those that its invoice sets
   * off, or those that it leaves to the next invoice. One of the two is empty.
   */
  setOff: readonly PendingItem[];
  kept: readonly PendingItem[];
  gateway: Gateway | undefined;
  settings: SubscriptionSettings;
}

/** Lines of a change that are billed now, and whether the creditable lines carry a discount. */
export interface BilledLines extends Pick<ChangeItems, 'items' | 'discountBases'> {
  carriesDiscount: boolean;
}

/** Lines of an invoice that stays below the gateway's minimum. */
export const itemsToDefer = ({ input, composition }: CalculatedInvoice): PendingItem[] =>
  input.items.map((item, at) => pendingItem(item, composition.lines[at]?.net ?? 0n));

type Quoted = Pick<ChangeQuote, 'sub' | 'after' | 'decision'>;

/**
 * The discount on the charge lines of a change: the one that the request names, else the recurring one that the
 * subscription is bound to, where the period carries it and the new plan fits it. Throws Rejected `invalid_parameters` for
 * a request that names one where nothing is charged.
 */
export async function grantedDiscount(
  reader: Reader,
  { sub, after, decision }: Quoted,
  { items, discountBases, carriesDiscount }: BilledLines,
  { discountCode: code, discount: external }: ChangeInput,
): Promise<InvoiceDiscount | undefined> {
  if (code !== '' || external) {
    if (code !== '' && external) throw invalid('/discount', 'cannot be combined with discountCode');
    const path = external ? '/discount' : '/discountCode';
    if (!items.some(({ kind }) => kind !== 'credit'))
      throw invalid(path, 'has nothing to reduce: the change charges nothing');
    if (external) return { ...externalTerms(external), bases: discountBases };
    return { is: 'code', code, operation: operationOf(decision), bases: discountBases };
  }
  return boundTerms(reader, { sub, after }, { items, discountBases, carriesDiscount });
}

/** The recurring discount that a subscription is bound to, on the charge lines of a change. */
export async function boundTerms(
  reader: Reader,
  { sub, after }: Pick<Quoted, 'sub' | 'after'>,
  { discountBases, carriesDiscount }: BilledLines,
): Promise<InvoiceDiscount | undefined> {
  const { discount } = sub;
  if (!discount?.recurring || !carriesDiscount) return undefined;
  const [fits, granted] = await Promise.all([
    discounts.appliesToPlan(reader, discount.discountId, planOf(after)),
    discounts.reservedUse(reader, discount),
  ]);
  if (!fits || !granted) return undefined;
  return { is: 'terms', code: granted.code, terms: discountOfParts(granted.terms, discountBases) };
}

function operationOf({ direction, newInterval }: ChangeQuote['decision']) {
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
): Promise<InvoiceDiscount | undefined> {
  const used = await discounts.useOf(tx, { invoiceId });
  const bound = used ?? (sub.discount?.recurring ? sub.discount : undefined);
  if (!bound || !(await discounts.appliesToPlan(tx, bound.discountId, planOf(after)))) return undefined;
  const { discountId, code } = bound;
  if (used && !used.recurring) return { is: 'waiting', discountId, code, useId: used.useId };
  return { is: 'bound', discountId, code, replaces: invoiceId };
}

/** The bound discount after a change: it ends where it does not fit the new plan. */
export async function boundAfter(reader: Reader, { sub, after }: Quoted): Promise<BoundDiscount | null> {
  const { discount } = sub;
  if (!discount || sub.planId === after.planId) return discount;
  return (await discounts.appliesToPlan(reader, discount.discountId, planOf(after))) ? discount : null;
}
