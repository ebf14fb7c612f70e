import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { subscriptionAggregate } from '../aggregate.js';
import { hasEnded } from '../domain/lifecycle.js';
import { activated, ended, moved } from '../domain/subscription.js';
import { type InvoiceEnd, SubscriptionInvoices } from '../owner.js';
import { markPeriod } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { giveBackWaiting } from '../waiting-code.js';

/** The end of a first invoice: paid, it activates its subscription; unpaid, it ends it. */
@Injectable()
export class FirstInvoice {
  constructor(owner: SubscriptionInvoices) {
    owner.register(['create', 'renew'], {
      paid: (tx, end) => this.paid(tx, end),
      failed: (tx, end) => this.unpaid(tx, end, 'fail'),
      cancelled: (tx, end) => this.unpaid(tx, end, 'cancel'),
      underWay: async (tx, end, isUnderWay) => underWay(tx, end, isUnderWay),
    });
  }

  private async paid(tx: Tx, { sub, invoice }: InvoiceEnd): Promise<void> {
    if (hasEnded(sub.status)) return;
    const active = activated(sub, tx.now);
    await markPeriod(tx, invoice, 'paid');
    tx.step(subscriptionAggregate, active, 'subscription.activated');
    scheduleNext(tx, active);
  }

  private async unpaid(tx: Tx, { sub, invoice }: InvoiceEnd, move: 'fail' | 'cancel'): Promise<void> {
    // an invoice that was replaced by another for the same period ends nothing
    if (sub.latestInvoiceId !== invoice.invoiceId && !hasEnded(sub.status)) return;
    await markPeriod(tx, invoice, 'unpaid');
    if (hasEnded(sub.status)) return;
    const isFailure = move === 'fail';
    const reason = isFailure ? 'The first invoice was not paid in time' : 'The first invoice was cancelled';
    await giveBackWaiting(tx, sub);
    const over = ended(sub, move, reason, tx.now);
    tx.step(subscriptionAggregate, over, isFailure ? 'subscription.failed' : 'subscription.cancelled');
    scheduleNext(tx, over);
  }
}

/** A subscription that was never paid is processing while the outcome of its first payment is awaited. */
function underWay(tx: Tx, { sub }: InvoiceEnd, isUnderWay: boolean): void {
  if (sub.status !== (isUnderWay ? 'pending' : 'processing')) return;
  tx.step(subscriptionAggregate, moved(sub, isUnderWay ? 'process' : 'refuse', tx.now), 'subscription.updated');
}
