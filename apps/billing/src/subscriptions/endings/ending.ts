import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { openInvoicesOf } from '../../invoicing/composed/open-invoices.js';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { ChangeEffects } from '../changes/effects.js';
import { ended, type Subscription } from '../domain/subscription.js';
import { SubscriptionInvoices } from '../owner.js';
import { scheduleNext } from '../schedule.js';
import { LastDocuments, type LastTerms } from './last-document.js';

/** The end of a subscription: at once, at the end of its period, at a deadline. */
export interface Ending extends Partial<LastTerms> {
  move: 'cancel' | 'expire' | 'fail';
  reason: string;
  log?: string;
}

/** Ends subscriptions. The subscription is locked. */
@Injectable()
export class SubscriptionEndings {
  constructor(
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
    private readonly changes: ChangeEffects,
    private readonly documents: LastDocuments,
    owner: SubscriptionInvoices,
  ) {
    owner.endsAfterRefund(async (tx, sub) => {
      await this.end(tx, sub, { move: 'cancel', reason: 'Refunded' });
    });
  }

  /**
   * Ends it now: cancels its unfinished change and its open invoices, and makes its last document, by which a next period
   * that is paid is credited in any case. Throws Rejected `subscription_wrong_state`.
   */
  async end(tx: Tx, sub: Subscription, { move, reason, log, ...terms }: Ending): Promise<Subscription> {
    const before = await this.changes.cancelPending(tx, sub);
    const over = { ...ended(before, move, reason, tx.now), carried: [] };
    if (move === 'cancel') tx.step(subscriptionAggregate, over, 'subscription.cancelled');
    else tx.step(subscriptionAggregate, over, move === 'expire' ? 'subscription.expired' : 'subscription.failed');
    scheduleNext(tx, over);
    // the handlers of their ends find that it is over
    for (const invoiceId of await openInvoicesOf(tx, sub.subscriptionId)) {
      const invoice = await this.owners.lock(tx, { invoiceId }, 'invoice_not_found');
      if (invoice.status === 'processing') await this.endings.cancel(tx, invoice);
    }
    const unbilled = await this.documents.make(tx, before, { prorate: false, invoiceNow: false, ...terms });
    if (log) logEnd(tx, over, [log, ...unbilled]);
    return over;
  }
}

/** The entry in the operation log; it names what was never billed. */
function logEnd(tx: Tx, { subscriptionId, userId, planId }: Subscription, words: readonly string[]): void {
  tx.log(`Subscription(${subscriptionId})`, words.join(', '), { subscriptionId, userId, planId });
}
