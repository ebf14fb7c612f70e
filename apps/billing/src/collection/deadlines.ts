import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { InvoiceClosing } from '../invoices/close.js';
import { PAYMENT_REMINDER } from '../invoices/collecting.js';
import { isUndecided } from '../invoices/domain/charge.js';
import { isMissedAttempt } from '../invoices/domain/dunning.js';
import { CustomerNotifications } from '../invoices/notifications.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { collections } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';

const openText = `select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) and status = 'processing'`;

/** Fails open invoices whose payment term is over. */
@Injectable()
export class InvoiceExpiry {
  readonly work: Work = work('invoice.expire', { time: 'merchant', batch: 100 }, (tx, items) => this.expire(tx, items));

  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  /** Most invoices are settled by their expiry and never reopen: one question finds the others. */
  private async expire(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const rows = await tx.query(openText, [tx.merchantId, items.map(({ key }) => key)]);
    const unpaid = new Set(rows.map(row => row.invoice_id));
    for (const item of items) if (unpaid.has(item.key)) await this.expireOne(tx.item(item), item.key);
  }

  private async expireOne(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
    if (invoice.status !== 'processing') return;
    const later =
      (await deadlineLeft(tx, invoice)) || ((await this.outcomes.awaits(tx, invoice)) ? tx.now + LOOK_AGAIN : 0);
    if (later > 0) tx.schedule('invoice.expire', invoiceId, later);
    else if (await this.outcomes.cancelsWhenOverdue(tx, invoice)) await this.closing.cancel(tx, invoice, 'Expire');
    else await this.closing.expire(tx, invoice);
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
  const isAwaited = collection && isMissedAttempt(collection, deadline);
  return isAwaited ? tx.now + collection.retryIntervalSeconds : 0;
}

/** Tells users of invoices that are still open that their deadline is near. */
@Injectable()
export class PaymentReminders {
  readonly work: Work = work(
    PAYMENT_REMINDER,
    { time: 'merchant', logged: false },
    eachItem((tx, { key }) => this.tell(tx, key)),
  );

  constructor(private readonly notices: CustomerNotifications) {}

  private async tell(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
    if (invoice.status !== 'processing') return;
    await this.notices.notify(tx, 'lastNotice', invoice);
  }
}
