import { bizType, creditTransactionType } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { restoreRecharged, takeRecharged } from '../credits/recharges.js';
import * as credits from '../credits/spending.js';
import { chargesItself } from '../gateways/domain/gateway.js';
import { issueRefundNote, openRefundNote, withdrawRefundNote } from '../invoices/crediting/credit-notes.js';
import { bookToPayments, refundType } from '../invoices/crediting/credit-refunds.js';
import { saveCreditedAmounts } from '../invoices/crediting/creditable-lines.js';
import { assertRefundable, ledgerOf, movedRefund, type Refund, withLedger } from '../invoices/domain/refund.js';
import { payments, REFUND_SEND } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate, refundAggregate } from '../invoices/views.js';
import { type LineShare, type RefundLedger, refundFrom, undoRefund } from '../pricing/refund.js';

export interface NewRefund {
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
  { amount, type, reason, externalRefundId = '', metadata = {}, toMainCreditOnly = false }: NewRefund,
): Promise<RefundWithDocuments> {
  const before = ledgerOf(invoice, invoice.payment);
  const [ledger, made] = toMainCreditOnly ? besidesPayments(before, amount) : refundFrom(before, amount);
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
  await saveCreditedAmounts(tx, booked);
  const note = await openRefundNote(tx, booked, made.lines, refund);
  tx.step(refundAggregate, refund, 'refund.created');
  return { invoice: booked, note, refund };
}

function besidesPayments(ledger: RefundLedger, amount: bigint): ReturnType<typeof refundFrom> {
  const { refundedToPayments, paid } = ledger;
  const [after, made] = refundFrom({ ...ledger, refundedToPayments: paid }, amount);
  return [{ ...after, refundedToPayments }, made];
}

/** Gives part of a refund to the main account. */
const giveToMain = (tx: Tx, { userId, currency, invoiceId, refundId }: Refund, amount: bigint): Promise<void> =>
  credits.addMain(tx, {
    userId,
    currency,
    invoiceId,
    bizId: refundId,
    amount,
    type: creditTransactionType.refund,
    description: 'Refund to main credit',
  });

/**
 * Makes a refund of a locked invoice. The part that exceeds the payment goes back to main credit at once; the rest stays
 * open until it is settled; a gateway that charges by itself makes it. Without such a rest the refund succeeds at once, and
 * its credit note is returned too. The refund of a credit recharge takes the credit back first. Throws what
 * `assertRefundable`, `bookRefund` and `takeRecharged` do.
 */
export async function makeRefund(
  tx: Tx,
  invoice: InvoiceState,
  request: NewRefund,
): Promise<{ refund: Refund; note?: InvoiceState }> {
  assertRefundable(invoice, invoice.payment);
  const booked = await bookRefund(tx, invoice, request);
  const { refund } = booked;
  if (invoice.bizType === bizType.creditRecharge) await takeRecharged(tx, refund);
  if (refund.toPayments > 0n) {
    if (refund.toMainCredit > 0n) await giveToMain(tx, refund, refund.toMainCredit);
    const isSent = refund.type === refundType.gateway && chargesItself(invoice.gateway);
    if (isSent) tx.schedule(REFUND_SEND, refund.refundId, tx.now);
    return { refund };
  }
  const settled = movedRefund(refund, 'succeed', '', tx.now);
  const note = await succeed(tx, booked.invoice, booked.note, settled, { mainCredit: refund.toMainCredit });
  return { refund: settled, note };
}

/** Outcome of an open refund. */
export interface RefundOutcome {
  move: 'succeed' | 'fail' | 'cancel';
  explanation: string;
  /** The gateway's reference; '' for none. */
  gatewayRefundId: string;
}

/** Locks a refund after its invoice and its credit note. Neither of them ever changes for a refund. */
export async function lockRefund(
  tx: Tx,
  { refundId, invoiceId, creditNoteId }: Pick<Refund, 'refundId' | 'invoiceId' | 'creditNoteId'>,
): Promise<RefundWithDocuments> {
  const invoice = await tx.lock(invoiceAggregate, invoiceId, 'refund_not_found');
  const note = await tx.lock(invoiceAggregate, creditNoteId, 'refund_not_found');
  const refund = await tx.lock(refundAggregate, refundId, 'refund_not_found');
  return { invoice, note, refund };
}

/**
 * Settles an open refund. At success its credit note is numbered and promo credits come back; otherwise everything that
 * it booked is taken back, except main credit that was given: that stays as a refund of its own. Returns the refund, and
 * the credit note that was issued. Throws Rejected `refund_not_open`. `log` is the operation log's entry, about the refund.
 */
export async function settledRefund(
  tx: Tx,
  { invoice, note, refund }: RefundWithDocuments,
  { move, explanation, gatewayRefundId }: RefundOutcome,
  log?: string,
): Promise<{ refund: Refund; note?: InvoiceState }> {
  const settled = { ...movedRefund(refund, move, explanation, tx.now), gatewayRefundId };
  if (note.noteReason === 'composed') {
    await settleNoteRefund(tx, { invoice, note, refund }, settled, log);
    return { refund: settled };
  }
  if (move === 'succeed') {
    return { refund: settled, note: await succeed(tx, invoice, note, settled, { mainCredit: 0n, log }) };
  }
  const undone = undoRefund(ledgerOf(invoice, invoice.payment), {
    amount: refund.amount,
    net: refund.amount - refund.taxAmount,
    tax: refund.taxAmount,
    toPayments: refund.toPayments,
    toMainCredit: refund.toMainCredit,
    promoCredits: refund.promoCredits,
    lines: noteShares(invoice, note),
  });
  const restored = withLedger(invoice, undone, invoice.refundedAmount - refund.amount);
  await saveCreditedAmounts(tx, restored);
  withdrawRefundNote(tx, note, settled);
  tx.step(refundAggregate, settled, move === 'fail' ? 'refund.failure' : 'refund.cancelled', { log });
  if (invoice.bizType === bizType.creditRecharge) await restoreRecharged(tx, refund);
  if (refund.toMainCredit > 0n) await keepMainCredit(tx, restored, refund);
  return { refund: settled };
}

/**
 * Settles a refund of what the credit note of a change comes to. One that was not made leaves the money with the user: it
 * goes to the main account.
 */
async function settleNoteRefund(
  tx: Tx,
  { invoice, refund }: RefundWithDocuments,
  settled: Refund,
  log?: string,
): Promise<void> {
  const { payment } = invoice;
  if (settled.status === 'success') {
    if (payment) tx.save(payments, { ...payment, refundedAmount: payment.refundedAmount + refund.toPayments });
    tx.step(refundAggregate, settled, 'refund.success', { log });
    return;
  }
  bookToPayments(tx, invoice, -refund.amount);
  tx.step(refundAggregate, settled, settled.status === 'failed' ? 'refund.failure' : 'refund.cancelled', { log });
  await giveToMain(tx, settled, refund.amount);
}

/** Settles a refund as successful. `mainCredit` is the part that is given to the main account now. Returns its credit note. */
export async function succeed(
  tx: Tx,
  { payment, invoiceId }: InvoiceState,
  note: InvoiceState,
  settled: Refund,
  { mainCredit, log }: { mainCredit: bigint; log?: string | undefined },
): Promise<InvoiceState> {
  const { toPayments, promoCredits, userId, currency } = settled;
  if (payment && toPayments > 0n) {
    tx.save(payments, { ...payment, refundedAmount: payment.refundedAmount + toPayments });
  }
  tx.step(refundAggregate, settled, 'refund.success', { log });
  await credits.returnPromo(tx, { userId, currency, invoiceId, credits: promoCredits });
  if (mainCredit > 0n) await giveToMain(tx, settled, mainCredit);
  return issueRefundNote(tx, note, settled);
}

/**
 * Records that the bank sent back a refund that had succeeded. Its credit note stands, so the amount is owed to the user
 * still: it goes to the main account. Throws Rejected `refund_not_open`.
 */
export async function reverseRefund(tx: Tx, { refund }: RefundWithDocuments, explanation: string): Promise<void> {
  const reversed = movedRefund(refund, 'reverse', explanation, tx.now);
  tx.step(refundAggregate, reversed, 'refund.reversed', { log: 'Reverse' });
  await giveToMain(tx, reversed, refund.toPayments);
}

/** Main credit that a refund gave before it failed stays with the user, as a refund that succeeded. */
async function keepMainCredit(tx: Tx, invoice: InvoiceState, { toMainCredit: amount, reason }: Refund): Promise<void> {
  const request = { amount, type: refundType.byHand, reason, toMainCreditOnly: true };
  const kept = await bookRefund(tx, invoice, request);
  await succeed(tx, kept.invoice, kept.note, movedRefund(kept.refund, 'succeed', '', tx.now), { mainCredit: 0n });
}

/** The shares of a refund in its invoice's lines, as its credit note has them. */
const noteShares = ({ lines }: InvoiceState, note: InvoiceState): LineShare[] =>
  lines.map(({ lineId, category, ratePpm }) => {
    const share = note.lines.find(({ sourceLineId }) => sourceLineId === lineId);
    return { lineId, category, ratePpm, net: -(share?.amountExcludingTax ?? 0n), tax: -(share?.tax ?? 0n) };
  });
