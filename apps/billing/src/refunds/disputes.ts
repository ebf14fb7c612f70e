import { Injectable } from '@nestjs/common';
import { bizType } from '@recur/contracts';
import { clampToZero, min, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { takeRecharged } from '../credits/recharges.js';
import { refundType } from '../invoices/crediting/credit-refunds.js';
import { markReversed } from '../invoices/domain/invoice.js';
import type { Dispute, Payment } from '../invoices/domain/payment.js';
import { ledgerOf, movedRefund } from '../invoices/domain/refund.js';
import { CustomerNotifications } from '../invoices/notifications.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments } from '../invoices/payment-tables.js';
import { invoiceSettingsOf } from '../invoices/settings.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';
import { refundable } from '../pricing/refund.js';
import { bookRefund, succeed } from './book.js';

/** Chargebacks, as a gateway reports them. The invoice is locked with its payment, which succeeded. */
@Injectable()
export class Disputes {
  constructor(
    private readonly outcomes: InvoiceOutcomes,
    private readonly notices: CustomerNotifications,
  ) {}

  /** A chargeback was opened: refunds are refused until it is decided. False if one was opened before. */
  open(tx: Tx, invoice: InvoiceState): boolean {
    const payment = paymentOf(invoice);
    if (payment.dispute !== '') return false;
    this.save(tx, invoice, payment, 'open');
    return true;
  }

  /** The bank decided for the merchant. */
  won(tx: Tx, invoice: InvoiceState): boolean {
    const payment = paymentOf(invoice);
    if (payment.dispute !== 'open') return false;
    this.save(tx, invoice, payment, 'won');
    return true;
  }

  /**
   * The bank took back `amount`: a refund by the system, as far as it was not refunded before. Of the whole payment, the
   * invoice is reversed, and what it sells ends, unless the merchant keeps it. False if it was decided before.
   */
  async lost(tx: Tx, invoice: InvoiceState, amount: bigint): Promise<boolean> {
    const current = paymentOf(invoice);
    if (current.dispute === 'won' || current.dispute === 'lost') return false;
    const disputed = this.save(tx, invoice, current, 'lost');
    const { payment } = disputed;
    const ledger = ledgerOf(disputed, payment);
    const rest = clampToZero(min(refundable(ledger), ledger.paid - ledger.refundedToPayments));
    const taken = min(amount, rest);
    const booked =
      taken > 0n
        ? await bookRefund(tx, disputed, { amount: taken, type: refundType.gateway, reason: 'Chargeback' })
        : undefined;
    const after = booked?.invoice ?? disputed;
    const isWhole = amount >= current.paymentAmount;
    if (isWhole) {
      const reversed = markReversed(after, tx.now);
      tx.step(invoiceAggregate, reversed, 'invoice.reversed');
      await this.outcomes.reversed(tx, reversed, { keep: (await invoiceSettingsOf(tx)).keepAfterDispute });
    }
    if (!booked) return true;
    const { refund, note } = booked;
    if (invoice.bizType === bizType.creditRecharge) await takeRecharged(tx, refund, { asFarAsItGoes: true });
    const issued = await succeed(tx, after, note, movedRefund(refund, 'succeed', '', tx.now), { mainCredit: 0n });
    await this.notices.notify(tx, 'credited', issued);
    return true;
  }

  private save(tx: Tx, invoice: InvoiceState, current: Payment, dispute: Dispute): InvoiceState {
    const payment = { ...current, dispute, modifyTime: tx.now };
    tx.save(payments, payment);
    const { invoiceId, userId } = invoice;
    tx.log(`Payment(${payment.paymentId})`, `Dispute: ${dispute}`, { invoiceId, userId });
    return { ...invoice, payment };
  }
}

function paymentOf({ invoiceId, payment }: InvoiceState): Payment {
  if (payment?.status === 'success') return payment;
  throw new Rejected('invoice_not_refundable', `Invoice ${invoiceId} has no successful payment to dispute`);
}
