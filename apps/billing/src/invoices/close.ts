import { Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { releaseDiscount } from '../discounts/redemption.js';
import { releaseCharge } from './collecting.js';
import { issueVoidNote } from './crediting/credit-notes.js';
import { restoreCredit, restorePromoOf } from './crediting/credit-use.js';
import { reverseCredits } from './crediting/creditable-lines.js';
import { expireInvoice, voidInvoice } from './domain/collection.js';
import type { Payment } from './domain/payment.js';
import { CustomerNotifications } from './notifications.js';
import { InvoiceOutcomes } from './outcomes.js';
import type { InvoiceState } from './state.js';
import { invoiceAggregate, paymentAggregate } from './views.js';

/**
 * The ends of open invoices, each with all that belongs to it: its payment, what it sells, credit and the use of a discount
 * that come back, what its credit lines credit, and the credit note of a cancelled one. The invoice is locked.
 */
@Injectable()
export class InvoiceClosing {
  constructor(
    private readonly outcomes: InvoiceOutcomes,
    private readonly notices: CustomerNotifications,
  ) {}

  /** Cancels an open invoice and its payment. Throws what `voidInvoice` does. */
  async cancel(tx: Tx, invoice: InvoiceState, log?: string): Promise<void> {
    const [stopped, cancelled] = voidInvoice(invoice, invoice.payment, tx.now);
    if (stopped) this.stopped(tx, stopped);
    await this.cancelled(tx, { ...cancelled, payment: stopped ?? invoice.payment }, log);
  }

  /** Records that a payment is cancelled, log entry included if `log` is given. */
  stopped(tx: Tx, cancelled: Payment, log?: string): void {
    tx.step(paymentAggregate, cancelled, 'payment.cancelled', { log });
    releaseCharge(tx, cancelled);
  }

  /** Records that an invoice is cancelled, after its payment. */
  async cancelled(tx: Tx, cancelled: InvoiceState, log?: string): Promise<void> {
    tx.step(invoiceAggregate, cancelled, 'invoice.cancelled', { log });
    await this.outcomes.cancelled(tx, cancelled);
    await releaseReductions(tx, cancelled);
    await reverseCredits(tx, cancelled);
    await this.outcomes.undone(tx, cancelled);
    await issueVoidNote(tx, cancelled);
  }

  /** Fails an open invoice whose term is over, and its payment. Throws what `expireInvoice` does. */
  async expire(tx: Tx, invoice: InvoiceState): Promise<void> {
    const [failedPayment, expired] = expireInvoice(invoice, invoice.payment, tx.now);
    if (failedPayment) {
      tx.step(paymentAggregate, failedPayment, 'payment.failure');
      releaseCharge(tx, failedPayment);
    }
    const failed = { ...expired, payment: failedPayment ?? invoice.payment };
    tx.step(invoiceAggregate, failed, 'invoice.failed', { log: 'Expire' });
    await this.outcomes.failed(tx, failed);
    await releaseReductions(tx, failed);
    await reverseCredits(tx, failed);
  }

  /** Records that an invoice is paid. Its payment, if it has one, has succeeded. Returns its view. */
  async paid(tx: Tx, paid: InvoiceState, payment: Payment | undefined, log?: string): Promise<Invoice> {
    if (payment) tx.step(paymentAggregate, payment, 'payment.success');
    const { view } = tx.step(invoiceAggregate, { ...paid, payment }, 'invoice.paid', { log });
    const settled = { ...paid, payment };
    await this.outcomes.paid(tx, settled);
    await restorePromoOf(tx, paid);
    if (settled.number !== '') await this.notices.notify(tx, 'paid', settled);
    return view;
  }
}

/** Returns what an invoice that ended unpaid has used: its discount first, whose lock comes before those of accounts. */
async function releaseReductions(tx: Tx, invoice: InvoiceState): Promise<void> {
  if (invoice.discount || invoice.discountAmount > 0n) await releaseDiscount(tx, invoice);
  await restoreCredit(tx, invoice);
}
