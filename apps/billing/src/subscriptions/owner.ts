import { Injectable } from '@nestjs/common';
import { bizType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import * as discounts from '../discounts/verbs.js';
import type { BillReason } from '../invoicing/composed/domain/facts.js';
import { InvoiceOwners } from '../invoicing/owners.js';
import type { InvoiceState } from '../invoicing/state.js';
import * as usage from '../usage/verbs.js';
import { subscriptionAggregate } from './aggregate.js';
import { endsWithPeriod } from './domain/cycle.js';
import { hasEnded } from './domain/lifecycle.js';
import type { Subscription } from './domain/subscription.js';
import { keepLimitsOf } from './invoice-limits.js';
import { subscriptions } from './tables.js';

type InvoiceIds = Pick<InvoiceState, 'subscriptionId' | 'invoiceId'>;

/** An invoice of a subscription that ended, with the locked subscription. */
export interface InvoiceEnd {
  invoice: InvoiceState;
  sub: Subscription;
}

/** Effects of the end of an invoice on its subscription. `failed` is the deadline, `cancelled` comes before it. */
export interface EndHandler {
  paid(tx: Tx, end: InvoiceEnd): Promise<void>;
  failed(tx: Tx, end: InvoiceEnd): Promise<void>;
  cancelled(tx: Tx, end: InvoiceEnd): Promise<void>;
  /** A charge failed; others may follow. */
  refused?(tx: Tx, end: InvoiceEnd): Promise<void>;
  /** The outcome of its payment is awaited, or no longer. */
  underWay?(tx: Tx, end: InvoiceEnd, isUnderWay: boolean): Promise<void>;
  /** True if an invoice that is unpaid at its deadline is cancelled instead of failing. */
  lapses?(tx: Tx, end: InvoiceEnd): Promise<boolean>;
}

type SubscriptionEnd = (tx: Tx, sub: Subscription, reason: string) => Promise<void>;

/**
 * The owner of invoices of subscriptions. Each occasion for an invoice has a handler for its end; handlers register when
 * the service starts. An invoice that ends unpaid gives back the usage that it billed.
 */
@Injectable()
export class SubscriptionInvoices {
  private readonly handlers = new Map<BillReason | '', EndHandler>();
  private finishNow: ((tx: Tx, sub: Subscription) => Promise<void>) | undefined;
  private ending: SubscriptionEnd | undefined;

  constructor(owners: InvoiceOwners) {
    owners.register(bizType.subscription, {
      lock: (tx, invoice) => this.lock(tx, invoice),
      paid: async (tx, invoice) => {
        await this.tell('paid', tx, invoice);
        keepLimitsOf(tx, invoice);
      },
      failed: async (tx, invoice) => {
        await usage.reopen(tx, invoice.invoiceId);
        await this.tell('failed', tx, invoice);
      },
      cancelled: async (tx, invoice) => {
        await usage.reopen(tx, invoice.invoiceId);
        await this.tell('cancelled', tx, invoice);
      },
      refused: (tx, invoice) => this.tell('refused', tx, invoice),
      underWay: async (tx, invoice, isUnderWay) => {
        const end = await endOf(tx, invoice);
        if (end) await this.handlers.get(invoice.billReason)?.underWay?.(tx, end, isUnderWay);
      },
      methodOf: async (reader, { subscriptionId }) =>
        (await reader.find(subscriptions, { subscriptionId }))?.paymentMethodId ?? '',
      holds: async (tx, { subscriptionId, periodKind, periodStart }) => {
        const sub = periodKind === '' ? undefined : await tx.part(subscriptions, { subscriptionId });
        return sub?.status === 'active' && endsWithPeriod(sub) && periodStart >= sub.currentPeriodEnd;
      },
      reversed: async (tx, invoice, { keep }) => {
        if (!keep) await this.endAfter(tx, invoice, 'Its payment was charged back');
      },
      lapses: async (tx, invoice) => {
        const end = await endOf(tx, invoice);
        return (end && (await this.handlers.get(invoice.billReason)?.lapses?.(tx, end))) ?? false;
      },
      finish: async (tx, { subscriptionId }) => {
        const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
        await this.finishNow?.(tx, sub);
      },
      ended: (tx, invoice) => this.endAfter(tx, invoice, 'Refunded'),
    });
  }

  /** Registers how the draft of the current period is finished before its time. The subscription is locked. */
  finishesDrafts(finish: (tx: Tx, sub: Subscription) => Promise<void>): void {
    this.finishNow = finish;
  }

  /** Registers how a subscription ends with a refund or a chargeback. The subscription is locked. */
  endsBy(end: SubscriptionEnd): void {
    this.ending = end;
  }

  private async endAfter(tx: Tx, { subscriptionId }: InvoiceIds, reason: string): Promise<void> {
    const sub = await tx.lockIfAny(subscriptionAggregate, subscriptionId);
    if (sub && !hasEnded(sub.status)) await this.ending?.(tx, sub, reason);
  }

  register(reasons: readonly BillReason[], handler: EndHandler): void {
    for (const reason of reasons) {
      if (this.handlers.has(reason)) throw new Error(`the ends of invoices of reason ${reason} have a handler`);
      this.handlers.set(reason, handler);
    }
  }

  /** The subscription, then the discounts of the invoice and of a code that waits for one. */
  private async lock(tx: Tx, { subscriptionId, invoiceId }: InvoiceIds): Promise<void> {
    const sub = await tx.part(subscriptions, { subscriptionId });
    await discounts.lockDiscountsOf(tx, { invoiceId, useId: sub?.discount?.waitingUseId ?? 0 });
  }

  private async tell(end: 'paid' | 'failed' | 'refused' | 'cancelled', tx: Tx, invoice: InvoiceState): Promise<void> {
    const ended = await endOf(tx, invoice);
    if (ended) await this.handlers.get(invoice.billReason)?.[end]?.(tx, ended);
  }
}

/** Undefined for a subscription that is being made in this transaction: the command that makes it knows the outcome. */
async function endOf(tx: Tx, invoice: InvoiceState): Promise<InvoiceEnd | undefined> {
  const sub = await tx.lockIfAny(subscriptionAggregate, invoice.subscriptionId);
  return sub && { invoice, sub };
}
