import { Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { isLive, unpaidStatuses } from '../domain/lifecycle.js';
import { ended, type Subscription } from '../domain/subscription.js';
import { subscriptions } from '../tables.js';
import { addonParamsOf, subscriptionView } from '../views.js';
import { giveBackWaiting } from '../waiting-code.js';
import type { Quote } from './quote.js';

/** Age up to which the same request for a subscription that is not paid yet is answered with it again. */
const REPEAT_SECONDS = 600;

/** A user's other subscriptions to a product when a new one is submitted. */
@Injectable()
export class Others {
  constructor(
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  /**
   * Makes room for a new subscription. One that is not paid yet is cancelled, unless it is the same and young: then it is
   * returned. Throws Rejected `subscription_exists` for one that lives. Submits for one user and product take turns.
   */
  async replace(tx: Tx, quoted: Quote) {
    const { userId, productId } = quoted.sub;
    // a question, since it changes nothing
    await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `subscribe ${tx.merchantId} ${userId} ${productId}`,
    ]);
    const others = await tx.parts(subscriptions, { userId, productId }, 'order by subscription_id');
    const alive = others.find(({ status }) => isLive(status));
    if (alive) {
      const message = `User ${userId} has subscription ${alive.subscriptionId}, which is ${alive.status}`;
      throw new Rejected('subscription_exists', message);
    }
    for (const other of others.filter(({ status }) => unpaidStatuses.includes(status))) {
      const { latestInvoiceId: invoiceId } = other;
      const invoice = invoiceId ? await this.owners.lock(tx, { invoiceId }, 'invoice_not_found') : undefined;
      const isOpen = invoice?.status === 'processing';
      if (isOpen && isSame(other, quoted) && invoice.totalAmount === quoted.composed.composition.amounts.totalAmount) {
        const { link, paymentId } = invoice;
        return { invoiceId, link, paid: false, paymentId, subscription: subscriptionView(other) };
      }
      // cancelling its invoice ends it
      if (isOpen) await this.endings.cancel(tx, invoice);
      else {
        await giveBackWaiting(tx, other);
        tx.step(subscriptionAggregate, ended(other, 'cancel', 'Replaced', tx.now), 'subscription.cancelled');
      }
    }
    return undefined;
  }
}

function isSame(other: Subscription, { sub }: Quote): boolean {
  const choiceOf = (one: Subscription) =>
    JSON.stringify([one.planId, one.quantity, one.currency, addonParamsOf(one).toSorted(byId)]);
  return sub.createTime - other.createTime < REPEAT_SECONDS && choiceOf(other) === choiceOf(sub);
}

const byId = (a: { addonPlanId: number }, b: { addonPlanId: number }) => a.addonPlanId - b.addonPlanId;
