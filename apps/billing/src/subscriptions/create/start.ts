import { Injectable } from '@nestjs/common';
import { createFrom, type createSubscription, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { daysAfter } from '../../invoices/domain/deadlines.js';
import { InvoiceIssuer } from '../../invoices/issuing/issue.js';
import { useDiscount } from '../../invoices/issuing/preview.js';
import { notBilled } from '../domain/periods.js';
import { activated, moved, type Subscription } from '../domain/subscription.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate, subscriptionView } from '../views.js';
import type { Quote } from './quote.js';

type Input = In<typeof createSubscription>;

/** Begins subscriptions as they were quoted, at a create and at a renewal. */
@Injectable()
export class SubscriptionStart {
  constructor(private readonly issuer: InvoiceIssuer) {}

  /** Saves the subscription with its first period and invoice. Without anything to pay it is active at once. */
  async start(
    tx: Tx,
    quoted: Quote,
    { startIncomplete, ...input }: Pick<Input, 'startIncomplete' | 'metadata'> & Details,
    log: string,
  ) {
    const { calculated, settings, start } = quoted;
    const hasInvoice = calculated.input.items.length > 0;
    const invoiceId = hasInvoice ? tx.newId('in_') : '';
    const used = await useDiscount(tx, calculated, invoiceId);
    const deadline = daysAfter(tx.now, settings.firstInvoiceDays);
    const { code = '', discountId = 0, recurring = false, waitingUseId = 0 } = used ?? {};
    const isBound = used !== undefined && (recurring || waitingUseId > 0);
    const sub: Subscription = {
      ...quoted.sub,
      latestInvoiceId: invoiceId,
      discount: isBound ? { discountId, code, recurring, waitingUseId } : null,
      unpaidUntil: hasInvoice ? deadline : 0,
    };
    const { merchantId, subscriptionId, userId } = sub;
    tx.onConflict('subscriptions_one_live', () => new Rejected('subscription_exists'));
    tx.step(subscriptionAggregate, sub, 'subscription.created', { log });
    const { kind, start: startAt, end: endAt } = start.period;
    const row = {
      merchantId,
      subscriptionId,
      seq: 1,
      userId,
      kind,
      startAt,
      endAt,
      invoiceId,
      createTime: tx.now,
      ...notBilled,
    };
    const collection = { automatic: !sub.manualPayment };
    const details = { checkout: firstCheckout(input) };
    const options = { status: 'open', createFrom: createFrom.api, deadline, invoiceId, details, collection } as const;
    const made = hasInvoice ? await this.issuer.issue(tx, calculated, options) : undefined;
    const paid = made === undefined || made.payment === undefined;
    tx.save(subscriptionPeriods, { ...row, state: paid ? 'paid' : 'open' });
    const result = initialStatus(tx, sub, paid, startIncomplete);
    scheduleNext(tx, result, undefined);
    const { link = '', paymentId = '' } = made?.view ?? {};
    return { invoiceId, link, paid, paymentId, subscription: subscriptionView(result) };
  }
}

type Details = Pick<Input, 'gatewayPaymentType' | 'paymentUIMode' | 'returnUrl' | 'cancelUrl'>;

function initialStatus(tx: Tx, sub: Subscription, paid: boolean, startIncomplete: boolean): Subscription {
  if (paid) {
    const active = activated(sub, tx.now);
    tx.step(subscriptionAggregate, active, 'subscription.activated');
    return active;
  }
  if (!startIncomplete) return sub;
  const incomplete = moved(sub, 'suspend', tx.now);
  tx.step(subscriptionAggregate, incomplete, 'subscription.updated');
  return incomplete;
}

const firstCheckout = (details: Details & Pick<Input, 'metadata'>) => ({ gasPayer: '' as const, ...details });
