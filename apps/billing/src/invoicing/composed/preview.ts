import { createFrom, type Invoice } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import * as discounts from '../../discounts/redemption.js';
import { explain } from '../../pricing/explain.js';
import { belowMinimum, type Settlement, settle } from '../../pricing/settle.js';
import { minimumOf } from '../finalize.js';
import { explanationView, invoiceView } from '../views.js';
import type { Composed } from './compose.js';
import { documentOf } from './document.js';

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
