import type * as contract from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import {
  type CodeUse,
  type DiscountTerms,
  discountProblem,
  discountsCycle,
  fitsPlan,
  type Refused,
} from '../pricing/discount.js';
import * as domain from './domain/discount.js';
import type { DiscountUse } from './domain/generated.js';
import { discounts, generatedCodes, userDiscounts } from './tables.js';
import { type Application, addUse, cyclesOf, discountOfCode, lockCode, rollBack, usesBy } from './uses.js';
import { discountView } from './views.js';

// Verbs for other wings. They write no log entry: the command that calls them does.

/** A code at the submit of the operation that names it. */
export interface RedemptionRequest {
  code: string;
  userId: number;
  /** The main plan, after the operation. */
  plan: domain.DiscountedPlan;
  currency: string;
  /** Unix seconds on the merchant's clock. */
  moment: number;
  operation: CodeUse['operation'];
  /** Paid subscription invoices of the user so far. */
  paidInvoices: number;
  /** '' or absent before there is a subscription. */
  subscriptionId?: string;
}

/** A discount, and the code by which it was chosen; absent or '' for the discount's own. */
type BoundCode = Pick<DiscountUse, 'discountId'> & { code?: string };

/** A discount as pricing takes it, and what it is bound by. */
export interface ApplicableDiscount {
  discountId: number;
  code: string;
  terms: DiscountTerms;
  recurring: boolean;
  cycleLimit: number;
}

/** The discount of a code if it can be used, else the reason why not; for previews. Nothing is locked. */
export async function check(reader: Reader, submit: RedemptionRequest): Promise<ApplicableDiscount | Refused> {
  return evaluate(reader, await discountOfCode(reader, submit.code), submit);
}

/**
 * Uses a code: locks its discount, counts the uses under the lock, and adds one. Throws Rejected `invalid_parameters` for
 * /discountCode with the reason why it cannot be used. `useId` is for `attach`.
 */
export async function reserve(
  tx: Tx,
  submit: RedemptionRequest & Application,
): Promise<ApplicableDiscount & { useId: number }> {
  const locked = await lockCode(tx, submit.code);
  const granted = await evaluate(tx, locked?.seen, submit);
  if ('problem' in granted || !locked) {
    throw invalid('/discountCode', ('problem' in granted ? granted : unknownCode(submit.code)).message);
  }
  const { discount, generated } = locked;
  tx.save(discounts, { ...discount, uses: discount.uses + 1 });
  const useId = await addUse(tx, locked.seen, { ...submit, planId: submit.plan.id, counted: true });
  if (generated) tx.save(generatedCodes, { ...generated, useId });
  return { ...granted, useId };
}

/** Gives an invoice to a use that was reserved without one, in a later transaction. */
export async function attach(tx: Tx, useId: number, { invoiceId, ...given }: Application): Promise<void> {
  const use = await tx.lock(userDiscounts, { useId }, 'discount_not_found');
  tx.save(userDiscounts, { ...use, ...given, invoiceId, modifyTime: tx.now });
}

/**
 * Locks the discounts of an invoice and of a use that waits for one, in id order. To be called before an invoice is locked,
 * where `releaseDiscount` may follow: discounts are locked before invoices.
 */
export async function lockDiscountsOf(
  tx: Tx,
  { invoiceId = '', useId = 0 }: { invoiceId?: string; useId?: number },
): Promise<void> {
  const [uses, waiting] = await Promise.all([
    invoiceId === '' ? [] : tx.all(userDiscounts, { invoiceId }, USED),
    useId === 0 ? undefined : tx.find(userDiscounts, { useId }),
  ]);
  const ids = new Set([...uses, ...(waiting ? [waiting] : [])].map(({ discountId }) => discountId));
  for (const discountId of [...ids].sort((a, b) => a - b)) await tx.part(discounts, { discountId });
}

/** The use by which an invoice is reduced; undefined for none. */
export async function useOf(tx: Tx, { invoiceId }: { invoiceId: string }) {
  const uses = await tx.parts(userDiscounts, { invoiceId }, USED);
  const use = uses.find(each => isUsedBy(each, invoiceId));
  const discount = use && (await tx.get(discounts, { discountId: use.discountId }, 'discount_not_found'));
  return (
    use && {
      useId: use.useId,
      discountId: use.discountId,
      code: use.code,
      recurring: discount?.billingType === 'recurring',
    }
  );
}

/** Takes back the use by an invoice that was cancelled, failed or deleted: quantity, userLimit and cycles count it no more. */
export async function releaseDiscount(tx: Tx, { invoiceId }: { invoiceId: string }): Promise<void> {
  await lockDiscountsOf(tx, { invoiceId });
  for (const use of await tx.parts(userDiscounts, { invoiceId }, USED)) {
    if (isUsedBy(use, invoiceId)) await rollBack(tx, use);
  }
}

/** Like `releaseDiscount`, for a use that got no invoice. */
export async function releaseUse(tx: Tx, useId: number): Promise<void> {
  const found = await tx.find(userDiscounts, { useId });
  if (found) await tx.part(discounts, { discountId: found.discountId });
  const use = await tx.part(userDiscounts, { useId });
  if (use?.status === 'used') await rollBack(tx, use);
}

/**
 * The discount that a subscription is bound to, if it reduces the next cycle invoice, or the one that `replaces` another.
 * Its code may be gone or expired.
 */
export async function nextCycle(
  reader: Reader,
  { discountId, code = '', subscriptionId, replaces = '' }: BoundCode & { subscriptionId: string; replaces?: string },
): Promise<ApplicableDiscount | undefined> {
  const discount = await reader.find(discounts, { discountId });
  if (discount?.billingType !== 'recurring') return undefined;
  const use = [subscriptionId, discountId, replaces] as const;
  const cycles = await reader.jointly('cycles of a discount', use, uses => cyclesOf(reader, uses));
  return discountsCycle(discount.cycleLimit, cycles) ? applicableOf(chosenBy(code, discount)) : undefined;
}

/** A one-time discount whose use was reserved and waits for its invoice. Its code may be gone or expired. */
export async function reservedUse(
  reader: Reader,
  { discountId, code = '' }: BoundCode,
): Promise<ApplicableDiscount | undefined> {
  const discount = await reader.find(discounts, { discountId });
  return discount && applicableOf(chosenBy(code, discount));
}

/** Records that a cycle invoice is reduced by a bound discount. The caller has locked the subscription. */
export async function useCycle(
  tx: Tx,
  {
    discountId,
    code = '',
    ...of
  }: BoundCode & Pick<DiscountUse, 'userId' | 'planId' | 'currency' | 'subscriptionId'> & Application,
): Promise<void> {
  const discount = await tx.get(discounts, { discountId }, 'discount_not_found');
  await addUse(tx, chosenBy(code, discount), { ...of, counted: false });
}

/** True if a bound discount survives a change to a plan. */
export async function appliesToPlan(reader: Reader, discountId: number, plan: domain.DiscountedPlan): Promise<boolean> {
  const discount = await reader.find(discounts, { discountId });
  return discount !== undefined && fitsPlan(domain.discountRule(discount), plan.id, domain.groupsOf(discount, plan));
}

/** The discount of a code that a subscription to the plan may have for long, expired or not; undefined for none. */
export async function bindable(
  reader: Reader,
  code: string,
  plan: domain.DiscountedPlan,
): Promise<{ discountId: number; code: string } | undefined> {
  const discount = await discountOfCode(reader, code);
  if (discount?.billingType !== 'recurring' || ['editable', 'archived'].includes(discount.status)) return undefined;
  const fits = fitsPlan(domain.discountRule(discount), plan.id, domain.groupsOf(discount, plan));
  return fits ? { discountId: discount.discountId, code: discount.code } : undefined;
}

/** A discount given with a submit, as a code of its own that only its subscription has; used at once. */
export async function createPrivateDiscount(
  tx: Tx,
  settings: Partial<domain.DiscountSettings>,
  use: Pick<DiscountUse, 'userId' | 'planId' | 'currency' | 'subscriptionId'> & Application,
): Promise<ApplicableDiscount> {
  const { subscriptionId } = use;
  const discountId = await tx.nextId(discounts);
  const of = { merchantId: tx.merchantId, discountId, kind: 'code' } as const;
  const identity = { ...of, code: tx.newId('dc_'), subscriptionId };
  const discount = domain.newDiscount(identity, { ...domain.defaultSettings, ...settings }, tx.now);
  tx.save(discounts, { ...discount, uses: 1 });
  await addUse(tx, discount, { ...use, counted: true });
  return applicableOf(discount);
}

/** A code's discount as the API shows it; null for an unknown code, and for one that is bound to a subscription. */
export async function shownDiscount(reader: Reader, code: string): Promise<contract.Discount | null> {
  const discount = await discountOfCode(reader, code);
  return discount?.subscriptionId === '' ? discountView(discount, reader.now) : null;
}

/** Condition of the partial index on invoices. */
const USED = `and status = 'used' and invoice_id <> '' order by discount_id`;

/** True if a use reduces an invoice, in this transaction too. */
const isUsedBy = (use: DiscountUse, invoiceId: string) => use.status === 'used' && use.invoiceId === invoiceId;

/** A discount with the code by which it was chosen: one of a template's; '' for the discount's own. */
const chosenBy = (code: string, discount: domain.Discount) => ({ ...discount, code: code || discount.code });

const unknownCode = (code: string): Refused => ({ problem: 'unknown', message: `There is no discount code ${code}` });

const applicableOf = (discount: domain.Discount): ApplicableDiscount => ({
  discountId: discount.discountId,
  code: discount.code,
  terms: domain.discountTerms(discount),
  recurring: discount.billingType === 'recurring',
  cycleLimit: discount.cycleLimit,
});

async function evaluate(
  reader: Reader,
  discount: domain.Discount | undefined,
  { code, userId, plan, currency, moment, operation, paidInvoices, subscriptionId = '' }: RedemptionRequest,
): Promise<ApplicableDiscount | Refused> {
  if (!discount || (discount.subscriptionId !== '' && discount.subscriptionId !== subscriptionId)) {
    return unknownCode(code);
  }
  const usesByUser = discount.userLimit === 0 ? 0 : await usesBy(reader, discount.discountId, userId);
  const refused = discountProblem(domain.discountRule(discount), {
    now: moment,
    currency,
    operation,
    paidInvoices,
    usesByUser,
    uses: discount.uses,
    mainPlanId: plan.id,
    planGroups: domain.groupsOf(discount, plan),
  });
  return refused ?? applicableOf(discount);
}
