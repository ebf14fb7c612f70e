import { Injectable } from '@nestjs/common';
import { createFrom, type createSubscription, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { daysAfter } from '../../invoices/domain/deadlines.js';

import { InvoiceMaker } from '../../invoices/issuing/issue.js';
import { useDiscount } from '../../invoices/issuing/preview.js';
import { giveBackWaiting } from '../codes.js';
import { notBilled } from '../domain/periods.js';
import { activated, ended, hasEnded, moved, type Subscription } from '../domain/subscription.js';
import { type InvoiceEnd, markPeriod } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate, subscriptionView } from '../views.js';
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
    const deadline = daysAfter(tx.now, settings.firstInvoiceDays);
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

/** The first invoice is paid: its subscription is active. */
export async function activate(tx: Tx, { sub, invoice }: InvoiceEnd): Promise<void> {
  if (hasEnded(sub.status)) return;
  const active = activated(sub, tx.now);
  await markPeriod(tx, invoice, 'paid');
  tx.step(subscriptionAggregate, active, 'subscription.activated');
  scheduleNext(tx, active);
}

/** The first invoice has ended unpaid, and its subscription ends with it. */
export async function endUnpaid(tx: Tx, { sub, invoice }: InvoiceEnd, move: 'fail' | 'cancel'): Promise<void> {
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

/** A subscription that was never paid is processing while the outcome of its first payment is awaited. */
export function markUnderWay(tx: Tx, { sub }: InvoiceEnd, isUnderWay: boolean): void {
  if (sub.status !== (isUnderWay ? 'pending' : 'processing')) return;
  tx.step(subscriptionAggregate, moved(sub, isUnderWay ? 'process' : 'refuse', tx.now), 'subscription.updated');
}
