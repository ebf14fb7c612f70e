import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { InvoiceClosing } from '../invoices/close.js';
import { chargeWork } from '../invoices/collecting.js';
import {
  type ChargeAction,
  type ChargeOutcome,
  type ChargeReport,
  chargeAction,
  mismatchOf,
  pollDelay,
  statesMoney,
} from '../invoices/domain/charge.js';
import { receivePayment } from '../invoices/domain/collection.js';
import { isTriedNow } from '../invoices/domain/dunning.js';
import { markFailed, type Payment } from '../invoices/domain/payment.js';
import { CustomerNotifications, type NotificationKind, type NotificationParts } from '../invoices/notifications.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { collections, payments } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { paymentAggregate } from '../invoices/views.js';
import { reconcileAmount } from '../pricing/settle.js';
import { tellMismatch } from '../refunds/mismatches.js';
import { type Overpayment, receiveOverpayment } from '../refunds/overpayments.js';
import { resumeAfterRelease } from './charges.js';
import { settleTransfer } from './wire-transfers.js';

/** Records what gateways say about charges: the same for answers, inquiries and callbacks. */
@Injectable()
export class ChargeSettlement {
  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
    private readonly notices: CustomerNotifications,
  ) {}

  /** Records a report, with its log entry; false for one that says nothing new, or names no payment. */
  async report(tx: Tx, report: ChargeReport): Promise<boolean> {
    const locked = await this.outcomes.lockCharge(tx, report.paymentId);
    if (!locked) return false;
    const { invoice, payment } = locked;
    const action = chargeAction(payment, invoice, report);
    if (action === 'mismatch') return this.mismatch(tx, invoice, payment, report);
    if (!(await this.apply(tx, invoice, payment, report.outcome, action))) return false;
    const { invoiceId, userId, paymentId } = payment;
    tx.log(`Payment(${paymentId})`, `Charge: ${report.outcome.is}`, { invoiceId, userId });
    return true;
  }

  /** Returns false where nothing changes. */
  private async apply(
    tx: Tx,
    invoice: InvoiceState,
    payment: Payment,
    outcome: ChargeOutcome,
    action: Exclude<ChargeAction, 'mismatch'>,
  ): Promise<boolean> {
    const amount = statesMoney(outcome) ? outcome.amount : 0n;
    const gatewayPaymentId = referenceOf(outcome) || payment.gatewayPaymentId;
    const known = { ...payment, gatewayPaymentId, modifyTime: tx.now };
    const over: Payment = { ...known, outcome: '', inquiries: 0 };
    switch (action) {
      case 'ignore':
        return false;
      case 'collect': {
        const [received, paid] = receivePayment(over, invoice, { gatewayPaymentId, now: tx.now });
        await settleTransfer(tx, this.closing, paid, received, reconcileAmount(payment.totalAmount, amount, true));
        return true;
      }
      case 'overpaid':
        return overpaid(tx, invoice, payment, { gatewayPaymentId, amount });
      case 'fail':
        await this.fail(tx, invoice, over, outcome);
        return true;
      case 'requireAction': {
        const link = outcome.is === 'needsAction' ? outcome.link : '';
        const waiting: Payment = { ...over, outcome: 'action', link: link || payment.link };
        tx.step(paymentAggregate, waiting, 'payment.authorised.need');
        await this.outcomes.underWay(tx, invoice, false);
        tx.schedule(chargeWork.reconcile, payment.paymentId, tx.now + pollDelay(waiting));
        await this.tell(tx, 'needsAction', invoice, waiting, { link: waiting.link });
        return true;
      }
      case 'authorise':
        tx.save(payments, { ...over, outcome: 'authorised' });
        if (payment.captureId !== '') tx.schedule(chargeWork.capture, payment.paymentId, tx.now);
        await this.outcomes.underWay(tx, invoice, true);
        return true;
      case 'poll':
        if (pollPayment(tx, known).outcome === 'unknown') await this.outcomes.underWay(tx, invoice, true);
        return true;
      case 'retry':
        tx.save(payments, over);
        await this.outcomes.underWay(tx, invoice, false);
        await retry(tx, invoice);
        return true;
      case 'close':
        tx.save(payments, { ...over, gatewayPaymentId: payment.gatewayPaymentId });
        await resumeAfterRelease(tx, payment);
        return true;
    }
  }

  /**
   * Money that is none of the payment's: a person has to look, and the payment keeps its status. An answer of its own
   * gateway says too that no more is to come of the charge: nothing is asked any more, and nothing is charged by itself.
   */
  private async mismatch(
    tx: Tx,
    invoice: InvoiceState,
    payment: Payment,
    { gatewayId, attempt, by, outcome }: ChargeReport,
  ): Promise<boolean> {
    if (!statesMoney(outcome)) return false;
    const { reference, amount, currency } = outcome;
    const reason = mismatchOf(payment, { gatewayId, attempt }, outcome) ?? 'amount';
    const reported = { gatewayId, reference, amount, currency, expected: payment.totalAmount, refundId: '' };
    const isNew = await tellMismatch(tx, payment, { about: 'charge', reason, ...reported });
    if (by === 'callback' || payment.outcome === '') return isNew;
    const { paymentId, invoiceId, userId } = payment;
    if (!isNew) tx.log(`Payment(${paymentId})`, 'Charge: mismatch', { invoiceId, userId });
    tx.save(payments, { ...payment, outcome: '', inquiries: 0, captureId: '', modifyTime: tx.now });
    if (payment.status !== 'created') {
      await resumeAfterRelease(tx, payment);
      return true;
    }
    const collection = await tx.lockIfAny(collections, { invoiceId });
    // by hand alone from now on: not at its time, nor with another method
    const byHand = { automatic: false, tryNow: false, tryMethodId: '', nextTime: 0 };
    if (collection) tx.save(collections, { ...collection, ...byHand });
    await this.outcomes.underWay(tx, invoice, false);
    return true;
  }

  /** The payment fails; a hard decline ends the automatic attempts. The user is told of the first failure. */
  private async fail(tx: Tx, invoice: InvoiceState, payment: Payment, outcome: ChargeOutcome): Promise<void> {
    const reason = outcome.is === 'declined' ? outcome.reason : 'The gateway has cancelled the charge';
    const failed = markFailed(payment, reason, tx.now);
    tx.step(paymentAggregate, failed, 'payment.failure');
    await this.outcomes.refused(tx, invoice);
    await this.outcomes.underWay(tx, invoice, false);
    const { invoiceId } = payment;
    const collection = await tx.lockIfAny(collections, { invoiceId });
    if (!collection) return;
    const isOver = outcome.is === 'declined' && outcome.kind === 'hard';
    const nextTime = isOver ? 0 : collection.nextTime;
    tx.save(collections, { ...collection, nextTime, failures: collection.failures + 1 });
    if (isTriedNow(collection)) tx.schedule(chargeWork.attempt, invoiceId, tx.now);
    if (collection.failures === 0) await this.tell(tx, 'paymentFailed', invoice, failed);
  }

  private tell(
    tx: Tx,
    occasion: NotificationKind,
    invoice: InvoiceState,
    payment: Payment,
    parts: NotificationParts = {},
  ): Promise<void> {
    return this.notices.notify(tx, occasion, { ...invoice, payment }, parts);
  }
}

const referenceOf = (outcome: ChargeOutcome): string => (outcome.is === 'absent' ? '' : outcome.reference);

/** Money beside its payment; the payment keeps its state and reference. False for a repeated report. */
async function overpaid(tx: Tx, invoice: InvoiceState, payment: Payment, money: Overpayment): Promise<boolean> {
  const isNew = await receiveOverpayment(tx, invoice, payment, money);
  if (payment.outcome !== '') {
    tx.save(payments, { ...payment, outcome: '' });
    await resumeAfterRelease(tx, payment);
  }
  return isNew || payment.outcome !== '';
}

function pollPayment(tx: Tx, payment: Payment): Payment {
  const outcome = payment.outcome === 'sending' && payment.status === 'created' ? 'unknown' : payment.outcome;
  const asked = { ...payment, outcome, inquiries: payment.inquiries + 1 };
  tx.save(payments, asked);
  tx.schedule(chargeWork.reconcile, payment.paymentId, tx.now + pollDelay(payment));
  return asked;
}

/** The sending that never arrived is repeated as the next one, with the same method unless another one waits to be tried. */
async function retry(tx: Tx, { invoiceId }: InvoiceState): Promise<void> {
  const collection = await tx.lockIfAny(collections, { invoiceId });
  if (!collection) return;
  tx.save(collections, { ...collection, tryMethodId: collection.tryMethodId || collection.lastMethodId });
  tx.schedule(chargeWork.attempt, invoiceId, tx.now);
}
