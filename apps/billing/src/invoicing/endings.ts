import { Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { invoiceAggregate, paymentAggregate } from './aggregates.js';
import { undoSources } from './composed/sold-lines.js';
import { issueVoidNote } from './credit-notes/issue.js';
import { giveBackCredit, giveBackPromoOf } from './credit-use.js';
import { expireInvoice, voidInvoice } from './domain/collection.js';
import type { Payment } from './domain/payment.js';
import { InvoiceOwners } from './owners.js';
import type { InvoiceState } from './state.js';

/**
 * The ends of open invoices, each with all that belongs to it: its payment, credit that comes back, its owner, and the
 * credit note of a cancelled one. The invoice is locked.
 */
@Injectable()
export class InvoiceEndings {
  constructor(private readonly owners: InvoiceOwners) {}

  /** Cancels an open invoice and its payment. Throws Rejected `invoice_not_open`, then `payment_not_open`. */
  async cancel(tx: Tx, invoice: InvoiceState, log?: string): Promise<void> {
    const [stopped, cancelled] = voidInvoice(invoice, invoice.payment, tx.now);
    if (stopped) tx.step(paymentAggregate, stopped, 'payment.cancelled');
    await this.cancelled(tx, { ...cancelled, payment: stopped ?? invoice.payment }, log);
  }

  /** Records that an invoice is cancelled, after its payment. */
  async cancelled(tx: Tx, cancelled: InvoiceState, log?: string): Promise<void> {
    tx.step(invoiceAggregate, cancelled, 'invoice.cancelled', { log });
    await this.owners.tell('cancelled', tx, cancelled);
    await giveBackCredit(tx, cancelled);
    await undoSources(tx, cancelled);
    await issueVoidNote(tx, cancelled);
  }

  /** Fails an open invoice whose term is over, and its payment. Throws what `expireInvoice` does. */
  async expire(tx: Tx, invoice: InvoiceState): Promise<void> {
    const [failedPayment, expired] = expireInvoice(invoice, invoice.payment, tx.now);
    if (failedPayment) tx.step(paymentAggregate, failedPayment, 'payment.failure');
    const failed = { ...expired, payment: failedPayment ?? invoice.payment };
    tx.step(invoiceAggregate, failed, 'invoice.failed', { log: 'Expire' });
    await this.owners.tell('failed', tx, failed);
    await giveBackCredit(tx, failed);
    await undoSources(tx, failed);
  }

  /** Records that an invoice is paid. Its payment, if it has one, has succeeded. Returns its view. */
  async paid(tx: Tx, paid: InvoiceState, payment: Payment | undefined, log?: string): Promise<Invoice> {
    if (payment) tx.step(paymentAggregate, payment, 'payment.success');
    const view = tx.step(invoiceAggregate, { ...paid, payment }, 'invoice.paid', { log });
    await this.owners.tell('paid', tx, { ...paid, payment });
    await giveBackPromoOf(tx, paid);
    return view;
  }
}
