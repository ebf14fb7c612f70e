import { Injectable } from '@nestjs/common';
import { bizType } from '@recur/contracts';
import { eachItem, type Tx, type Work, work } from '@recur/platform';
import * as discounts from '../discounts/redemption.js';
import type { BillReason } from '../invoices/domain/items.js';
import { isAwaited } from '../invoices/open-invoices.js';
import { InvoiceOwners } from '../invoices/owners.js';
import type { InvoiceState } from '../invoices/state.js';
import * as usage from '../usage/rating.js';
import { endsWithPeriod } from './domain/renewal.js';
import { hasEnded, type Subscription } from './domain/subscription.js';
import { keepLimitsOf, NEXT } from './schedule.js';
import { pendingUpdates, subscriptions } from './tables.js';
import { subscriptionAggregate } from './views.js';

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
  /** After `cancelled`: what it had used has come back. */
  undone?(tx: Tx, end: InvoiceEnd): Promise<void>;
  /** A charge failed; others may follow. */
  refused?(tx: Tx, end: InvoiceEnd): Promise<void>;
  /** The outcome of its payment is awaited, or no longer. */
  underWay?(tx: Tx, end: InvoiceEnd, isUnderWay: boolean): Promise<void>;
  /** True if an invoice that is unpaid at its deadline is cancelled instead of failing. */
  lapses?(tx: Tx, end: InvoiceEnd): Promise<boolean>;
}

/** Kind of due work: the end of a subscription whose payment was charged back; the key is its id. */
const END = 'subscription.end';
/** Seconds until the next look, while a payment of the subscription is under way. */
const awaitSeconds = 60;

type SubscriptionEnd = (tx: Tx, sub: Subscription, reason: string) => Promise<void>;

/**
 * The owner of invoices of subscriptions. Each occasion for an invoice has a handler for its end; handlers register when
 * the service starts. An invoice that is cancelled gives back the usage that it billed, unless it was the last one.
 */
@Injectable()
export class SubscriptionInvoices {
  readonly work: Work = work(
    END,
    { time: 'merchant', logged: false },
    eachItem((tx, { key }) => this.endWhenDecided(tx, key)),
  );
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
      // usage that is not paid by the deadline stays billed
      failed: (tx, invoice) => this.tell('failed', tx, invoice),
      cancelled: async (tx, invoice) => {
        // a last invoice is followed by no other
        const isLast = invoice.billReason === 'last' || invoice.billReason === 'usage';
        if (!isLast) await usage.reopen(tx, invoice.invoiceId);
        await this.tell('cancelled', tx, invoice);
      },
      undone: (tx, invoice) => this.tell('undone', tx, invoice),
      refused: (tx, invoice) => this.tell('refused', tx, invoice),
      underWay: async (tx, invoice, isUnderWay) => {
        const end = await endOf(tx, invoice);
        if (!end) return;
        await this.handlers.get(invoice.billReason)?.underWay?.(tx, end, isUnderWay);
        // a step of the cycle may have waited for the outcome
        const { status, currentPeriodEnd, subscriptionId } = end.sub;
        if (!isUnderWay && !hasEnded(status) && currentPeriodEnd <= tx.now) tx.schedule(NEXT, subscriptionId, tx.now);
      },
      methodOf: async (reader, { subscriptionId }) =>
        (await reader.find(subscriptions, { subscriptionId }))?.paymentMethodId ?? '',
      holds: async (tx, { subscriptionId, periodKind, periodStart }, { isAsked }) => {
        const sub = periodKind === '' ? undefined : await tx.part(subscriptions, { subscriptionId });
        if (sub?.status !== 'active' || periodStart < sub.currentPeriodEnd) return false;
        return (!isAsked && endsWithPeriod(sub)) || isBeingChanged(tx, sub);
      },
      awaits: (tx, { subscriptionId }) => isAwaited(tx, subscriptionId),
      reversed: async (tx, invoice, { keep }) => {
        if (!keep) await this.endWhenDecided(tx, invoice.subscriptionId);
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

  /** Ends a subscription whose payment was charged back, once no payment of it is under way. */
  private async endWhenDecided(tx: Tx, subscriptionId: string): Promise<void> {
    await tx.part(subscriptions, { subscriptionId });
    if (await isAwaited(tx, subscriptionId)) tx.schedule(END, subscriptionId, tx.now + awaitSeconds);
    else await this.endAfter(tx, { subscriptionId }, 'Its payment was charged back');
  }

  private async endAfter(
    tx: Tx,
    { subscriptionId }: Pick<InvoiceIds, 'subscriptionId'>,
    reason: string,
  ): Promise<void> {
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

  private async tell(
    end: 'paid' | 'failed' | 'refused' | 'cancelled' | 'undone',
    tx: Tx,
    invoice: InvoiceState,
  ): Promise<void> {
    const ended = await endOf(tx, invoice);
    if (ended) await this.handlers.get(invoice.billReason)?.[end]?.(tx, ended);
  }
}

/** Undefined for a subscription that is being made in this transaction: the command that makes it knows the outcome. */
async function endOf(tx: Tx, invoice: InvoiceState): Promise<InvoiceEnd | undefined> {
  const sub = await tx.lockIfAny(subscriptionAggregate, invoice.subscriptionId);
  return sub && { invoice, sub };
}

/** True while a change waits for its payment: when that comes, the next period's invoice is made again. */
async function isBeingChanged(tx: Tx, { pendingUpdateId }: Subscription): Promise<boolean> {
  const update = pendingUpdateId === '' ? undefined : await tx.find(pendingUpdates, { pendingUpdateId });
  return update?.status === 'pending' && update.effectImmediate !== 0;
}
