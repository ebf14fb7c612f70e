import { creditTransactionType } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import { refund as computed, type RefundLedger } from '../../pricing/refund.js';
import { invoiceAggregate } from '../aggregates.js';
import { openRefundNote } from '../credit-notes/issue.js';
import type { Refund } from '../domain/refund.js';
import { ledgerOf, withLedger } from '../domain/refund-ledger.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines, payments } from '../tables.js';
import { refundAggregate } from './aggregates.js';

/** How the money of a refund goes back. */
export const refundType = { gateway: 1, byHand: 2 } as const;

export interface RefundRequest {
  amount: bigint;
  type: number;
  reason: string;
  externalRefundId?: string;
  metadata?: Record<string, unknown>;
  /** True for a refund that no part of goes through the payment. */
  toMainCreditOnly?: boolean;
}

/** A refund with its locked invoice and credit note. */
export interface RefundWithDocuments {
  invoice: InvoiceState;
  note: InvoiceState;
  refund: Refund;
}

/**
 * Books a refund on the lines of a locked invoice, opens its credit note, and leaves it open. Throws what `refund` of
 * pricing does; Rejected `invalid_parameters` for a reference that another refund has.
 */
export async function bookRefund(
  tx: Tx,
  invoice: InvoiceState,
  { amount, type, reason, externalRefundId = '', metadata = {}, toMainCreditOnly = false }: RefundRequest,
): Promise<RefundWithDocuments> {
  const before = ledgerOf(invoice, invoice.payment);
  const [ledger, made] = toMainCreditOnly ? besidesPayments(before, amount) : computed(before, amount);
  const { toPayments, toMainCredit, promoCredits, tax } = made;
  const { merchantId, invoiceId, subscriptionId, userId, gatewayId, currency, payment } = invoice;
  const refund: Refund = {
    refundId: tx.newId('re_'),
    id: await tx.nextId(payments),
    merchantId,
    version: 0,
    status: 'created',
    type,
    invoiceId,
    subscriptionId,
    creditNoteId: tx.newId('in_'),
    paymentId: payment?.paymentId ?? '',
    userId,
    gatewayId,
    currency,
    amount,
    taxAmount: tax,
    toPayments,
    toMainCredit,
    promoCredits,
    externalRefundId,
    gatewayRefundId: '',
    countryCode: payment?.countryCode ?? '',
    reason,
    explanation: '',
    metadata,
    createTime: tx.now,
    modifyTime: tx.now,
    refundTime: 0,
    sentTime: 0,
    inquiries: 0,
  };
  tx.onConflict('refunds_external', () => invalid('/externalRefundId', 'is the reference of another refund'));
  const booked = withLedger(invoice, ledger, invoice.refundedAmount + amount);
  await saveGivenBack(tx, booked);
  const note = await openRefundNote(tx, booked, made.lines, refund);
  tx.step(refundAggregate, refund, 'refund.created');
  return { invoice: booked, note, refund };
}

function besidesPayments(ledger: RefundLedger, amount: bigint): ReturnType<typeof computed> {
  const { refundedToPayments, paid } = ledger;
  const [after, made] = computed({ ...ledger, refundedToPayments: paid }, amount);
  return [{ ...after, refundedToPayments }, made];
}

/** Saves what was given back of an invoice, on it and on its lines. */
export async function saveGivenBack(tx: Tx, invoice: InvoiceState): Promise<void> {
  await saveLines(tx, invoice);
  tx.step(invoiceAggregate, { ...invoice, modifyTime: tx.now }, 'invoice.updated');
}

/** Locks and saves the lines of a locked invoice. */
export async function saveLines(tx: Tx, { invoiceId, lines }: InvoiceState): Promise<void> {
  await tx.parts(invoiceLines, { invoiceId }, 'order by line_no');
  for (const line of lines) tx.save(invoiceLines, line);
}

/** Gives part of a refund to the main account. */
export const giveToMain = (tx: Tx, { userId, currency, invoiceId, refundId }: Refund, amount: bigint): Promise<void> =>
  credits.addMain(tx, {
    userId,
    currency,
    invoiceId,
    bizId: refundId,
    amount,
    type: creditTransactionType.refund,
    description: 'Refund to main credit',
  });
