import { Injectable } from '@nestjs/common';
import { createFrom, type createSubscription, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { useDiscount } from '../../invoicing/composed/discount-use.js';
import { InvoiceMaker } from '../../invoicing/composed/make.js';
import { firstInvoiceDeadline } from '../../invoicing/domain/dunning.js';
import { subscriptionAggregate } from '../aggregate.js';
import { notBilled } from '../domain/periods.js';
import { activated, moved, type Subscription } from '../domain/subscription.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionView } from '../views.js';
import type { Quote } from './quote.js';

type Input = In<typeof createSubscription>;

/** Begins subscriptions as they were quoted, at a create and at a renewal. */
@Injectable()
export class FirstPeriods {
  constructor(private readonly maker: InvoiceMaker) {}

  /** Saves the subscription with its first period and invoice. Without anything to pay it is active at once. */
  async make(
    tx: Tx,
    quoted: Quote,
    { startIncomplete, ...input }: Pick<Input, 'startIncomplete' | 'metadata'> & Details,
    log: string,
  ) {
    const { composed, settings, start } = quoted;
    const hasInvoice = composed.bill.items.length > 0;
    const invoiceId = hasInvoice ? tx.newId('in_') : '';
    const used = await useDiscount(tx, composed, invoiceId);
    const deadline = firstInvoiceDeadline(tx.now, settings.firstInvoiceDays);
    const { code = '', discountId = 0, recurring = false, waitingUseId = 0 } = used ?? {};
    const isBound = used !== undefined && (recurring || waitingUseId > 0);
    const sub: Subscription = {
      ...quoted.sub,
      latestInvoiceId: invoiceId,
      discount: isBound ? { discountId, code, recurring, waitingUseId } : null,
      currentPeriodPaid: hasInvoice ? deadline : 1,
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
    const details = { checkout: checkoutOf(input) };
    const making = { status: 'open', createFrom: createFrom.api, deadline, invoiceId, details, collection } as const;
    const made = hasInvoice ? await this.maker.make(tx, composed, making) : undefined;
    const paid = made === undefined || made.payment === undefined;
    tx.save(subscriptionPeriods, { ...row, state: paid ? 'paid' : 'open' });
    const result = begun(tx, sub, paid, startIncomplete);
    scheduleNext(tx, result);
    const { link = '', paymentId = '' } = made?.view ?? {};
    return { invoiceId, link, paid, paymentId, subscription: subscriptionView(result) };
  }
}

type Details = Pick<Input, 'gatewayPaymentType' | 'paymentUIMode' | 'returnUrl' | 'cancelUrl'>;

function begun(tx: Tx, sub: Subscription, paid: boolean, startIncomplete: boolean): Subscription {
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

const checkoutOf = (details: Details & Pick<Input, 'metadata'>) => ({ gasPayer: '' as const, ...details });
