import { Injectable } from '@nestjs/common';
import { bizType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import * as discounts from '../discounts/verbs.js';
import type { BillReason } from '../invoicing/composed/domain/facts.js';
import { InvoiceOwners } from '../invoicing/owners.js';
import type { InvoiceState } from '../invoicing/state.js';
import { subscriptionAggregate } from './aggregate.js';
import { hasEnded } from './domain/lifecycle.js';
import type { Subscription } from './domain/subscription.js';
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
  reversed?(tx: Tx, end: InvoiceEnd): Promise<void>;
  /** True if an invoice that is unpaid at its deadline is cancelled instead of failing. */
  lapses?(tx: Tx, end: InvoiceEnd): Promise<boolean>;
}

/**
 * The owner of invoices of subscriptions. Each occasion for an invoice has a handler for its end; handlers register when
 * the service starts. An invoice that ends unpaid gives its discount back.
 */
@Injectable()
export class SubscriptionInvoices {
  private readonly handlers = new Map<BillReason | '', EndHandler>();
  private afterRefund: ((tx: Tx, sub: Subscription) => Promise<void>) | undefined;

  constructor(owners: InvoiceOwners) {
    owners.register(bizType.subscription, {
      lock: (tx, invoice) => this.lock(tx, invoice),
      paid: (tx, invoice) => this.tell('paid', tx, invoice),
      failed: async (tx, invoice) => {
        await this.tell('failed', tx, invoice);
        await discounts.giveBack(tx, invoice);
      },
      cancelled: async (tx, invoice) => {
        await this.tell('cancelled', tx, invoice);
        await discounts.giveBack(tx, invoice);
      },
      reversed: (tx, invoice) => this.tell('reversed', tx, invoice),
      lapses: async (tx, invoice) => {
        const end = await endOf(tx, invoice);
        return (end && (await this.handlers.get(invoice.billReason)?.lapses?.(tx, end))) ?? false;
      },
      ended: async (tx, { subscriptionId }) => {
        const sub = await tx.lockIfAny(subscriptionAggregate, subscriptionId);
        if (sub && !hasEnded(sub.status)) await this.afterRefund?.(tx, sub);
      },
    });
  }

  /** Registers how a live subscription ends where a refund is to end it. The subscription is locked. */
  endsAfterRefund(end: (tx: Tx, sub: Subscription) => Promise<void>): void {
    this.afterRefund = end;
  }

  register(reasons: readonly BillReason[], handler: EndHandler): void {
    for (const reason of reasons) {
      if (this.handlers.has(reason)) throw new Error(`the ends of invoices of reason ${reason} have a handler`);
      this.handlers.set(reason, handler);
    }
  }

  /** The subscription, then the discounts of the invoice. */
  private async lock(tx: Tx, { subscriptionId, invoiceId }: InvoiceIds): Promise<void> {
    await tx.part(subscriptions, { subscriptionId });
    await discounts.lockDiscountsOf(tx, { invoiceId });
  }

  private async tell(end: Exclude<keyof EndHandler, 'lapses'>, tx: Tx, invoice: InvoiceState): Promise<void> {
    const ended = await endOf(tx, invoice);
    if (ended) await this.handlers.get(invoice.billReason)?.[end]?.(tx, ended);
  }
}

/** Undefined for a subscription that is being made in this transaction: the command that makes it knows the outcome. */
async function endOf(tx: Tx, invoice: InvoiceState): Promise<InvoiceEnd | undefined> {
  const sub = await tx.lockIfAny(subscriptionAggregate, invoice.subscriptionId);
  return sub && { invoice, sub };
}
