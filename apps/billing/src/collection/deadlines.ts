import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { InvoiceEndings } from '../invoices/close.js';
import { LAST_NOTICE } from '../invoices/collecting.js';
import { isUndecided } from '../invoices/domain/charge.js';
import { isOwed } from '../invoices/domain/dunning.js';
import { CustomerNotices } from '../invoices/notices.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { collections } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';

const open = `select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) and status = 'processing'`;

/** Fails open invoices whose payment term is over. */
@Injectable()
export class InvoiceExpiry {
  readonly work: Work = work('invoice.expire', { time: 'merchant', batch: 100 }, (tx, items) => this.expire(tx, items));

  constructor(
    private readonly endings: InvoiceEndings,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  /** Most invoices are settled by their expiry and never reopen: one question finds the others. */
  private async expire(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const rows = await tx.query(open, [tx.merchantId, items.map(({ key }) => key)]);
    const unpaid = new Set(rows.map(row => row.invoice_id));
    for (const item of items) if (unpaid.has(item.key)) await this.expireOne(tx.item(item), item.key);
  }

  private async expireOne(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
    if (invoice.status !== 'processing') return;
    const later =
      (await deadlineLeft(tx, invoice)) || ((await this.outcomes.awaits(tx, invoice)) ? tx.now + LOOK_AGAIN : 0);
    if (later > 0) tx.schedule('invoice.expire', invoiceId, later);
    else if (await this.outcomes.lapses(tx, invoice)) await this.endings.cancel(tx, invoice, 'Expire');
    else await this.endings.expire(tx, invoice);
  }
}

/** Seconds until the next look at an invoice whose charge is undecided at its deadline. */
const LOOK_AGAIN = 3_600;

/**
 * The time until which the end of an invoice is put off; 0 for not at all. Its deadline may have moved; an attempt that was
 * due is made first, and the outcome of a charge is waited for.
 */
async function deadlineLeft(tx: Tx, { invoiceId, deadline, payment }: InvoiceState): Promise<number> {
  if (deadline > tx.now) return deadline;
  if (isUndecided(payment)) return tx.now + LOOK_AGAIN;
  const collection = await tx.find(collections, { invoiceId });
  const isAwaited = collection && isOwed(collection, deadline);
  return isAwaited ? tx.now + collection.retryIntervalSeconds : 0;
}

/** Tells users of invoices that are still open that their deadline is near. */
@Injectable()
export class LastNotices {
  readonly work: Work = work(
    LAST_NOTICE,
    { time: 'merchant', logged: false },
    eachItem((tx, { key }) => this.tell(tx, key)),
  );

  constructor(private readonly notices: CustomerNotices) {}

  private async tell(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
    if (invoice.status !== 'processing') return;
    await this.notices.notify(tx, 'lastNotice', invoice);
  }
}
