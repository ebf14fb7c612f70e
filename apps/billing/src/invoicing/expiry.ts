import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { expireInvoice } from './domain/collection.js';
import { loadInvoiceParts } from './parts.js';
import { invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

const open = `select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) and status = 'processing'`;

/** Fails open invoices whose payment term is over. */
@Injectable()
export class InvoiceExpiry {
  readonly work: Work = work('invoice.expire', { time: 'merchant', batch: 100 }, (tx, items) => this.expire(tx, items));

  /** Most invoices are settled by their expiry and never reopen: one question finds the others. */
  private async expire(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const rows = await tx.query(open, [tx.merchantId, items.map(({ key }) => key)]);
    const unpaid = new Set(rows.map(row => row.invoice_id));
    for (const item of items) if (unpaid.has(item.key)) await this.expireOne(tx.item(item), item.key);
  }

  private async expireOne(tx: Tx, invoiceId: string): Promise<void> {
    const row = await tx.lock(invoices, { invoiceId }, 'invoice_not_found');
    if (row.status !== 'processing') return;
    const { invoice, gateway, payment } = await loadInvoiceParts(tx, row);
    const [failed, expired] = expireInvoice(invoice, payment, tx.now);
    if (failed) {
      tx.save(payments, failed);
      tx.emit('payment.failure', failed, paymentView(failed));
    }
    tx.save(invoices, expired);
    tx.emit('invoice.failed', expired, invoiceView(expired, gateway, failed ?? payment));
    tx.log(`Invoice(${invoiceId})`, 'Expire', { invoiceId, userId: expired.userId });
  }
}
