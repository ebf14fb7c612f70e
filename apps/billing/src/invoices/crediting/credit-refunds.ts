import { clampToZero, min, ratio } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { chargesItself } from '../../gateways/domain/gateway.js';
import { distributeCredit } from '../../pricing/credit.js';
import { refundable } from '../../pricing/refund.js';
import { ledgerOf, type Refund } from '../domain/refund.js';
import { payments, REFUND_SEND } from '../payment-tables.js';
import type { InvoiceState } from '../state.js';
import { invoiceAggregate, refundAggregate } from '../views.js';

// Refunds of what the credit note of a change comes to. The note documents them, and its credit lines have taken the amount off
// what is refundable of their invoices: such a refund moves money, and nothing else.

/** How the money of a refund goes back. */
export const refundType = { gateway: 1, byHand: 2 } as const;

/** An invoice that a credit note credits in part, and what is refundable of it before that. */
export type RefundableInvoice = Pick<InvoiceState, 'invoiceId' | 'finishTime'> & { refundable: bigint };

export const refundableInvoice = (invoice: InvoiceState): RefundableInvoice => ({
  invoiceId: invoice.invoiceId,
  finishTime: invoice.finishTime,
  refundable: refundable(ledgerOf(invoice, invoice.payment)),
});

/**
 * Opens refunds for a credit note, of the payments of the invoices that it credits, the newest first. Returns what does
 * not fit: that goes to the main account.
 */
export async function refundCreditNote(
  tx: Tx,
  note: InvoiceState,
  sources: readonly RefundableInvoice[],
): Promise<bigint> {
  const newestFirst = sources.toSorted((a, b) => b.finishTime - a.finishTime || (a.invoiceId < b.invoiceId ? 1 : -1));
  const { refunds, toMainCredit } = distributeCredit(-note.totalAmount, newestFirst);
  let rest = toMainCredit;
  for (const { invoiceId, amount } of refunds) {
    const invoice = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
    const { paid, refundedToPayments } = ledgerOf(invoice, invoice.payment);
    const toPayments = min(amount, clampToZero(paid - refundedToPayments));
    rest += amount - toPayments;
    if (toPayments > 0n) await openRefund(tx, invoice, note, toPayments);
  }
  return rest;
}

async function openRefund(tx: Tx, invoice: InvoiceState, note: InvoiceState, amount: bigint): Promise<void> {
  const { merchantId, invoiceId, subscriptionId, userId, gatewayId, currency, payment } = invoice;
  const refund: Refund = {
    id: await tx.nextId(payments),
    refundId: tx.newId('re_'),
    merchantId,
    version: 0,
    status: 'created',
    type: refundType.gateway,
    invoiceId,
    subscriptionId,
    creditNoteId: note.invoiceId,
    paymentId: payment?.paymentId ?? '',
    userId,
    gatewayId,
    currency,
    amount,
    taxAmount: ratio(note.taxAmount, -amount, -note.totalAmount, 'half-away-from-zero'),
    toPayments: amount,
    toMainCredit: 0n,
    promoCredits: 0n,
    externalRefundId: '',
    gatewayRefundId: '',
    countryCode: payment?.countryCode ?? '',
    reason: note.invoiceName,
    explanation: '',
    metadata: {},
    createTime: tx.now,
    modifyTime: tx.now,
    refundTime: 0,
    sentTime: 0,
    inquiries: 0,
  };
  bookToPayments(tx, invoice, amount);
  tx.step(refundAggregate, refund, 'refund.created');
  if (chargesItself(invoice.gateway)) tx.schedule(REFUND_SEND, refund.refundId, tx.now);
}

/** Books money that goes back through the payment of an invoice; a negative amount takes that back. */
export function bookToPayments(tx: Tx, invoice: InvoiceState, amount: bigint): void {
  const refundedAmount = invoice.refundedAmount + amount;
  const refundedToPayments = invoice.refundedToPayments + amount;
  tx.step(invoiceAggregate, { ...invoice, refundedAmount, refundedToPayments, modifyTime: tx.now }, 'invoice.updated');
}
