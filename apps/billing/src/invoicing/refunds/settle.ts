import { bizType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { giveBackRecharged } from '../../credits/recharges.js';
import * as credits from '../../credits/verbs.js';
import { type LineShare, undoRefund } from '../../pricing/refund.js';
import { invoiceAggregate } from '../aggregates.js';
import { issueRefundNote, withdrawRefundNote } from '../credit-notes/issue.js';
import { moved, type Refund } from '../domain/refund.js';
import { ledgerOf, withLedger } from '../domain/refund-ledger.js';
import type { InvoiceState } from '../state.js';
import { payments } from '../tables.js';
import { refundAggregate } from './aggregates.js';
import { bookRefund, giveToMain, type RefundWithDocuments, refundType, saveGivenBack } from './book.js';
import { settlePayOut } from './pay-out.js';

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
  const settled = { ...moved(refund, move, explanation, tx.now), gatewayRefundId };
  if (note.noteReason === 'composed') {
    await settlePayOut(tx, { invoice, note, refund }, settled, log);
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
    lines: sharesOf(invoice, note),
  });
  const restored = withLedger(invoice, undone, invoice.refundedAmount - refund.amount);
  await saveGivenBack(tx, restored);
  withdrawRefundNote(tx, note, settled);
  tx.step(refundAggregate, settled, move === 'fail' ? 'refund.failure' : 'refund.cancelled', { log });
  if (invoice.bizType === bizType.creditRecharge) await giveBackRecharged(tx, refund);
  if (refund.toMainCredit > 0n) await keepMainCredit(tx, restored, refund);
  return { refund: settled };
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
  const reversed = moved(refund, 'reverse', explanation, tx.now);
  tx.step(refundAggregate, reversed, 'refund.reversed', { log: 'Reverse' });
  await giveToMain(tx, reversed, refund.toPayments);
}

/** Main credit that a refund gave before it failed stays with the user, as a refund that succeeded. */
async function keepMainCredit(tx: Tx, invoice: InvoiceState, { toMainCredit: amount, reason }: Refund): Promise<void> {
  const request = { amount, type: refundType.byHand, reason, toMainCreditOnly: true };
  const kept = await bookRefund(tx, invoice, request);
  await succeed(tx, kept.invoice, kept.note, moved(kept.refund, 'succeed', '', tx.now), { mainCredit: 0n });
}

/** The shares of a refund in its invoice's lines, as its credit note has them. */
const sharesOf = ({ lines }: InvoiceState, note: InvoiceState): LineShare[] =>
  lines.map(({ lineId, category, ratePpm }) => {
    const share = note.lines.find(({ sourceLineId }) => sourceLineId === lineId);
    return { lineId, category, ratePpm, net: -(share?.amountExcludingTax ?? 0n), tax: -(share?.tax ?? 0n) };
  });
