import { createFrom, type Invoice } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import * as discounts from '../../discounts/redemption.js';
import { explain } from '../../pricing/explain.js';
import { belowMinimum, type DueSplit, settle } from '../../pricing/settle.js';
import { explanationView, invoiceView } from '../views.js';
import type { CalculatedInvoice } from './calculate.js';
import { invoiceStateOf } from './composed.js';
import { paidSubscriptionInvoices } from './discount-preview.js';
import { minimumOf } from './finalize.js';

/** A calculated invoice as the API shows it, without an id; main credit is shown as it would be spent. */
export async function previewOf(reader: Reader, calculated: CalculatedInvoice): Promise<Invoice> {
  const document = invoiceStateOf(calculated, {
    merchantId: reader.merchantId,
    id: 0,
    invoiceId: '',
    createFrom: createFrom.api,
    now: reader.now,
  });
  const [{ creditSpent }, discount] = await Promise.all([
    settlementOf(reader, calculated),
    calculated.discount ? discounts.shownDiscount(reader, calculated.discount.code) : null,
  ]);
  const lines = document.lines.map(line => ({ ...line, lineId: '' }));
  return invoiceView({ ...document, lines, discount, partialCreditPaid: creditSpent });
}

/** Why the code of a calculated invoice cannot be used, blank where it can: as a sentence, and as a word. */
export const discountRefusal = ({ refused }: CalculatedInvoice) => ({
  discountMessage: refused?.message ?? '',
  discountProblem: refused?.problem ?? ('' as const),
});

/** The rule that taxes what an invoice charges, in words; of one that only credits, that of the first credit. */
export const taxReasonOf = ({ input, rates }: CalculatedInvoice): string =>
  (rates.find((_, at) => !input.items[at]?.source) ?? rates[0])?.reason ?? '';

/** The explanation of a preview: its lines are in the order of the preview's, and have no ids yet. */
export function explanationOfPreview({ input, composition }: CalculatedInvoice) {
  const { lines, totals } = explain(
    composition,
    input.items.map(({ name, unitAmount, quantity, source, derivation }) => ({
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

/** How a calculated invoice would be paid: main credit that it would spend, and what the gateway would collect. */
export async function settlementOf(reader: Reader, calculated: CalculatedInvoice): Promise<DueSplit> {
  const { input, composition, gateway } = calculated;
  const { userId, currency } = input;
  const main = { userId, currency, type: 'main' } as const;
  const { balance } = userId === 0 ? { balance: 0n } : await credits.balanceOf(reader, main);
  return settle(composition.amounts.totalAmount, balance, minimumOf({ gateway, currency }));
}

/** True if an invoice of a running subscription is below the gateway's minimum: its lines stay unbilled until the next one. */
export const isBelowMinimum = async (reader: Reader, calculated: CalculatedInvoice): Promise<boolean> =>
  isTooSmall(await settlementOf(reader, calculated), calculated);

/** The same of a settlement that is known. */
export const isTooSmall = ({ due }: DueSplit, { gateway, input: { currency } }: CalculatedInvoice): boolean =>
  belowMinimum(due, minimumOf({ gateway, currency }), 'subscription') === 'defer';

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
 * Records that an invoice uses its discount; '' where no document is issued. Returns the discount of a submit.
 * Throws Rejected `invalid_parameters` for a code that cannot be used.
 */
export async function useDiscount(
  tx: Tx,
  calculated: CalculatedInvoice,
  invoiceId: string,
): Promise<UsedDiscount | undefined> {
  const { input, composition } = calculated;
  const { discount, userId, currency, subscriptionId, mainPlan: plan, moment, reason } = input;
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
      const { discountId, recurring } = await discounts.createPrivateDiscount(tx, discount.settings, {
        ...use,
        invoiceId: reduced,
      });
      return { discountId, code: '', recurring, waitingUseId: 0 };
    }
    case 'bound':
      if (calculated.discount && reduced !== '') {
        const { discountId, code } = calculated.discount;
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
