import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { InvoiceEndings } from './endings.js';
import { InvoiceOwners } from './owners.js';

const open = `select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) and status = 'processing'`;

/** Fails open invoices whose payment term is over. */
@Injectable()
export class InvoiceExpiry {
  readonly work: Work = work('invoice.expire', { time: 'merchant', batch: 100 }, (tx, items) => this.expire(tx, items));

  constructor(
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  /** Most invoices are settled by their expiry and never reopen: one question finds the others. */
  private async expire(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const rows = await tx.query(open, [tx.merchantId, items.map(({ key }) => key)]);
    const unpaid = new Set(rows.map(row => row.invoice_id));
    for (const item of items) if (unpaid.has(item.key)) await this.expireOne(tx.item(item), item.key);
  }

  private async expireOne(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await this.owners.lock(tx, { invoiceId }, 'invoice_not_found');
    if (invoice.status === 'processing') await this.endings.expire(tx, invoice);
  }
}
