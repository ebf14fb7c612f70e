import { createFrom, type Invoice } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import * as discounts from '../../discounts/redemption.js';
import { explain } from '../../pricing/explain.js';
import { belowMinimum, type Settlement, settle } from '../../pricing/settle.js';
import { explanationView, invoiceView } from '../views.js';
import { type Composed, documentOf } from './calculate.js';
import { paidSubscriptionInvoices } from './discount-preview.js';
import { minimumOf } from './finalize.js';

/** A composed bill as the API shows it, without an id; main credit is shown as it would be spent. */
export async function previewOf(reader: Reader, composed: Composed): Promise<Invoice> {
  const document = documentOf(composed, {
    merchantId: reader.merchantId,
    id: 0,
    invoiceId: '',
    createFrom: createFrom.api,
    now: reader.now,
  });
  const [{ creditSpent }, discount] = await Promise.all([
    settlementOf(reader, composed),
    composed.discount ? discounts.shown(reader, composed.discount.code) : null,
  ]);
  const lines = document.lines.map(line => ({ ...line, lineId: '' }));
  return invoiceView({ ...document, lines, discount, partialCreditPaid: creditSpent });
}

/** Why the code of a composed bill cannot be used, blank where it can: as a sentence, and as a word. */
export const refusalOf = ({ refused }: Composed) => ({
  discountMessage: refused?.message ?? '',
  discountProblem: refused?.problem ?? ('' as const),
});

/** The rule that taxes what a bill charges, in words; of one that only credits, that of the first credit. */
export const taxReasonOf = ({ bill, rates }: Composed): string =>
  (rates.find((_, at) => !bill.items[at]?.source) ?? rates[0])?.reason ?? '';

/** The explanation of a preview: its lines are in the order of the preview's, and have no ids yet. */
export function explanationOf({ bill, composition }: Composed) {
  const { lines, totals } = explain(
    composition,
    bill.items.map(({ name, unitAmount, quantity, source, derivation }) => ({
      lineId: '',
      name,
      unitAmountExcludingTax: unitAmount,
      quantity,
      sourceLineId: source?.lineId ?? '',
      ...(derivation && { derivation }),
    })),
  );
  return explanationView({ lines, totals });
}

/** How a composed bill would be paid: main credit that it would spend, and what the gateway would collect. */
export async function settlementOf(reader: Reader, composed: Composed): Promise<Settlement> {
  const { bill, composition, gateway } = composed;
  const { userId, currency } = bill;
  const main = { userId, currency, type: 'main' } as const;
  const { balance } = userId === 0 ? { balance: 0n } : await credits.balanceOf(reader, main);
  return settle(composition.amounts.totalAmount, balance, minimumOf({ gateway, currency }));
}

/** True if a bill of a running subscription is below the gateway's minimum: its lines stay unbilled until the next one. */
export const isCarried = async (reader: Reader, composed: Composed): Promise<boolean> =>
  isTooSmall(await settlementOf(reader, composed), composed);

/** The same of a settlement that is known. */
export const isTooSmall = ({ due }: Settlement, { gateway, bill: { currency } }: Composed): boolean =>
  belowMinimum(due, minimumOf({ gateway, currency }), 'subscription') === 'carry';

/** A discount that a submit used. */
export interface UsedDiscount {
  discountId: number;
  /** '' where the request gave the terms. */
  code: string;
  recurring: boolean;
  /** Use of a one-time code that took nothing off yet and waits for the first invoice that it can reduce; else 0. */
  waitingUseId: number;
}

/**
 * Records the use of a bill's discount by an invoice; '' for a bill that makes none. Returns the discount of a submit.
 * Throws Rejected `invalid_parameters` for a code that cannot be used.
 */
export async function useDiscount(tx: Tx, composed: Composed, invoiceId: string): Promise<UsedDiscount | undefined> {
  const { bill, composition } = composed;
  const { discount, userId, currency, subscriptionId, mainPlan: plan, moment, reason } = bill;
  const amount = composition.amounts.discountAmount;
  const isCycle = reason === 'create' || reason === 'renew' || reason === 'cycle' || reason === 'trialStep';
  const use = { userId, planId: plan.id, currency, subscriptionId, amount, cycle: isCycle };
  const reduced = amount > 0n ? invoiceId : '';
  switch (discount?.is) {
    case 'code': {
      const { code, operation } = discount;
      const paidInvoices = await paidSubscriptionInvoices(tx, userId);
      const granted = await discounts.reserve(tx, {
        ...use,
        code,
        operation,
        plan,
        moment,
        paidInvoices,
        invoiceId: reduced,
      });
      const { discountId, recurring, useId } = granted;
      return { discountId, code, recurring, waitingUseId: recurring || reduced !== '' ? 0 : useId };
    }
    case 'external': {
      const { discountId, recurring } = await discounts.addBound(tx, discount.settings, { ...use, invoiceId: reduced });
      return { discountId, code: '', recurring, waitingUseId: 0 };
    }
    case 'bound':
      if (composed.discount && reduced !== '') {
        const { discountId, code } = composed.discount;
        await discounts.useCycle(tx, { ...use, discountId, code, invoiceId });
      }
      return undefined;
    case 'waiting':
      if (reduced !== '') await discounts.attach(tx, discount.useId, { invoiceId, amount });
      return undefined;
    default:
      return undefined;
  }
}
