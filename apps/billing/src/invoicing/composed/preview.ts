import { createFrom, type Invoice } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import * as discounts from '../../discounts/verbs.js';
import { belowMinimum, type Settlement, settle } from '../../pricing/settle.js';
import { minimumOf } from '../finalize.js';
import { invoiceView } from '../views.js';
import type { Composed } from './compose.js';
import { documentOf } from './document.js';

/** A composed bill as the API shows it, without an id; main credit is shown as it would be spent. */
export async function previewOf(reader: Reader, composed: Composed): Promise<Invoice> {
  const document = documentOf(composed, {
    ...{ merchantId: reader.merchantId, id: 0, invoiceId: '', createFrom: createFrom.api, now: reader.now },
  });
  const [{ creditSpent }, discount] = await Promise.all([
    settlementOf(reader, composed),
    composed.discount ? discounts.shown(reader, composed.discount.code) : null,
  ]);
  const lines = document.lines.map(line => ({ ...line, lineId: '' }));
  return invoiceView({ ...document, lines, discount, partialCreditPaid: creditSpent });
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
export async function isCarried(reader: Reader, composed: Composed): Promise<boolean> {
  const { due } = await settlementOf(reader, composed);
  const { gateway, bill } = composed;
  return belowMinimum(due, minimumOf({ gateway, currency: bill.currency }), 'subscription') === 'carry';
}
