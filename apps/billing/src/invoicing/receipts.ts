import type { Tx } from '@recur/platform';
import { acceptShort, type LineShare } from '../pricing/refund.js';
import type { Receipt } from '../pricing/settle.js';
import { issueBankCharges } from './credit-notes/issue.js';
import type { Payment } from './domain/payment.js';
import { ledgerOf, withWaived } from './domain/refund-ledger.js';
import type { InvoiceEndings } from './endings.js';
import { saveLines } from './refunds/book.js';
import { keepSurplus } from './refunds/surplus.js';
import type { InvoiceState } from './state.js';

/**
 * Records that an invoice is paid by what arrived for its payment, `received`. More than due is a surplus; less, a credit
 * note of bank charges, for which no money moves. `log` is the operation log's entry, about the invoice.
 */
export async function settleReceipt(
  tx: Tx,
  endings: InvoiceEndings,
  paid: InvoiceState,
  received: Payment,
  { surplus, shortfall }: Receipt,
  log?: string,
): Promise<void> {
  const { totalAmount, gatewayPaymentId } = received;
  const collected = { ...received, paymentAmount: totalAmount - shortfall };
  const shares = shortfall > 0n ? sharesOf(paid, collected, shortfall) : [];
  const settled = { ...withWaived(paid, shares), surplus: paid.surplus + surplus };
  if (shortfall > 0n) await saveLines(tx, settled);
  await endings.paid(tx, settled, collected, log);
  if (surplus > 0n) await keepSurplus(tx, collected, { gatewayPaymentId, amount: surplus });
  if (shortfall > 0n) await issueBankCharges(tx, { ...settled, payment: collected }, shares);
}

function sharesOf(invoice: InvoiceState, payment: Payment, shortfall: bigint): LineShare[] {
  const [, shares] = acceptShort(ledgerOf(invoice, payment), shortfall);
  return shares;
}
