import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { openInvoicesOf } from '../../invoicing/composed/open-invoices.js';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { ended, type Subscription } from '../domain/subscription.js';
import { scheduleNext } from '../schedule.js';

/** The end of a subscription: at once, at the end of its period, at a deadline. */
export interface Ending {
  move: 'cancel' | 'expire' | 'fail';
  reason: string;
  log?: string;
}

const events = {
  cancel: 'subscription.cancelled',
  expire: 'subscription.expired',
  fail: 'subscription.failed',
} as const;

/** Ends subscriptions. The subscription is locked. */
@Injectable()
export class SubscriptionEndings {
  constructor(
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  /** Ends it now, and cancels its open invoices. Throws Rejected `subscription_wrong_state`. */
  async end(tx: Tx, sub: Subscription, { move, reason, log }: Ending): Promise<Subscription> {
    const over = ended(sub, move, reason, tx.now);
    tx.step(subscriptionAggregate, over, events[move], { log });
    scheduleNext(tx, over);
    // the handlers of their ends find that it is over
    for (const invoiceId of await openInvoicesOf(tx, sub.subscriptionId)) {
      const invoice = await this.owners.lock(tx, { invoiceId }, 'invoice_not_found');
      if (invoice.status === 'processing') await this.endings.cancel(tx, invoice);
    }
    return over;
  }
}
