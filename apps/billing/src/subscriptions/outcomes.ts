import { Injectable, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { bizType } from '@recur/contracts';
import { eachItem, type Reader, type Tx, type Work, work } from '@recur/platform';
import { rechargeFailed, rechargePaid } from '../credits/recharges.js';
import * as discounts from '../discounts/redemption.js';
import type { BillingReason } from '../invoices/domain/items.js';
import { isAwaited } from '../invoices/open-invoices.js';
import { InvoiceOutcomes, type InvoiceRow } from '../invoices/outcomes.js';
import type { InvoiceState } from '../invoices/state.js';
import * as usage from '../usage/rating.js';
import { settleAddon } from './addons/addons.js';
import { PlanChanges } from './change/plan-changes.js';
import { activateOnPayment, endNeverPaid, markUnderWay } from './create/first-outcomes.js';
import { endsWithPeriod } from './domain/renewal.js';
import { hasEnded, type Subscription } from './domain/subscription.js';
import { pendingUpdates } from './pending-update.js';
import type { InvoiceOutcome } from './periods.js';
import { RenewalOutcomes } from './renewal/renewal-outcomes.js';
import { Renewals } from './renewal/steps.js';
import { SubscriptionTermination } from './renewal/termination.js';
import { keepLimitsOf, NEXT } from './schedule.js';
import { subscriptions } from './tables.js';
import { subscriptionAggregate } from './views.js';

/** An outcome of an invoice, carried out where it comes about; `app` has the providers that do it. */
type OutcomeHandler<E, O = void> = (tx: Tx, of: E, app: ModuleRef) => O | Promise<O>;

interface OutcomeHandlers<E> {
  paid?: OutcomeHandler<E>;
  /** Unpaid at its deadline. */
  failed?: OutcomeHandler<E>;
  cancelled?: OutcomeHandler<E>;
  /** After `cancelled`: what it had used has come back. */
  undone?: OutcomeHandler<E>;
  /** A charge failed; others may follow. */
  refused?: OutcomeHandler<E>;
  /** The payment was charged back, and what it sells is to end. */
  reversed?: OutcomeHandler<E>;
  /** The outcome of its payment is awaited, or no longer. */
  awaited?: OutcomeHandler<E>;
  decided?: OutcomeHandler<E>;
  /** True if it is cancelled at its deadline instead of failing. */
  cancelsWhenOverdue?: OutcomeHandler<E, boolean>;
}

/** An outcome that a method of a provider carries out. */
const via =
  <T, E, O>(type: Type<T>, method: (provider: T, tx: Tx, of: E) => O | Promise<O>): OutcomeHandler<E, O> =>
  (tx, of, app) =>
    method(app.get(type, { strict: false }), tx, of);

const onFirst: OutcomeHandlers<InvoiceOutcome> = {
  paid: activateOnPayment,
  failed: (tx, end) => endNeverPaid(tx, end, 'fail'),
  cancelled: (tx, end) => endNeverPaid(tx, end, 'cancel'),
  awaited: (tx, end) => markUnderWay(tx, end, true),
  decided: (tx, end) => markUnderWay(tx, end, false),
};

const onRenewal: OutcomeHandlers<InvoiceOutcome> = {
  paid: via(RenewalOutcomes, (renewals, tx, end) => renewals.paid(tx, end)),
  failed: via(RenewalOutcomes, (renewals, tx, end) => renewals.failed(tx, end)),
  refused: via(RenewalOutcomes, (renewals, tx, end) => renewals.refused(tx, end)),
  cancelled: via(RenewalOutcomes, (renewals, tx, end) => renewals.cancelled(tx, end)),
  undone: via(RenewalOutcomes, (renewals, tx, end) => renewals.undone(tx, end)),
};

const onChange: OutcomeHandlers<InvoiceOutcome> = {
  paid: via(PlanChanges, (changes, tx, end) => changes.paid(tx, end)),
  failed: via(PlanChanges, (changes, tx, end) => changes.unpaid(tx, end)),
  cancelled: via(PlanChanges, (changes, tx, end) => changes.unpaid(tx, end)),
  // a change that is not paid in time lapses, and its invoice with it
  cancelsWhenOverdue: via(PlanChanges, (changes, tx, end) => changes.isAwaiting(tx, end)),
};

/** Outcomes of the invoices of a subscription, which is locked, by their reason. A last invoice moves nothing. */
const byReason: Readonly<Record<Exclude<BillingReason, 'onetime'>, OutcomeHandlers<InvoiceOutcome>>> = {
  create: onFirst,
  renew: onFirst,
  cycle: onRenewal,
  trialStep: onRenewal,
  upgrade: onChange,
  downgrade: onChange,
  last: {},
  usage: {},
};

/** Outcomes of the other invoices that sell more than a line, by their bizType. */
const ofOthers: Readonly<Record<number, OutcomeHandlers<InvoiceState>>> = {
  [bizType.onetime]: {
    paid: (tx, invoice) => settleAddon(tx, invoice, 'paid'),
    failed: (tx, invoice) => settleAddon(tx, invoice, 'expired'),
    cancelled: (tx, invoice) => settleAddon(tx, invoice, 'cancelled'),
    reversed: (tx, invoice) => settleAddon(tx, invoice, 'cancelled'),
  },
  [bizType.creditRecharge]: { paid: rechargePaid, failed: rechargeFailed, cancelled: rechargeFailed },
};

/** Kind of due work: the end of a subscription whose payment was charged back; the key is its id. */
const END = 'subscription.end';
/** Seconds until the next look, while a payment of the subscription is under way. */
const awaitSeconds = 60;

type PlainOutcome = Exclude<keyof OutcomeHandlers<unknown>, 'cancelsWhenOverdue'>;

/** Carries out what the tables above say, and what is the same for all invoices of subscriptions. */
@Injectable()
export class SubscriptionOutcomes extends InvoiceOutcomes {
  readonly work: Work = work(
    END,
    { time: 'merchant', logged: false },
    eachItem((tx, { key }) => this.endWhenDecided(tx, key)),
  );

  /** Providers are looked up where an outcome needs them: some of them close invoices themselves. */
  constructor(private readonly app: ModuleRef) {
    super();
  }

  /** The subscription, then the discounts of the invoice and of a code that waits for one. */
  async lockSold(tx: Tx, { bizType: type, subscriptionId, invoiceId }: InvoiceRow): Promise<void> {
    if (subscriptionId === '') return;
    const sub = await tx.part(subscriptions, { subscriptionId });
    if (type !== bizType.subscription) return;
    await discounts.lockDiscountsOf(tx, { invoiceId, useId: sub?.discount?.waitingUseId ?? 0 });
  }

  async paid(tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.carryOut('paid', tx, invoice);
    if (isOfSubscription(invoice)) keepLimitsOf(tx, invoice);
  }

  /** Usage that is not paid by the deadline stays billed. */
  async failed(tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.carryOut('failed', tx, invoice);
  }

  /** An invoice that is cancelled reopens the usage that it billed, unless it was the last one. */
  async cancelled(tx: Tx, invoice: InvoiceState): Promise<void> {
    const isLast = invoice.billReason === 'last' || invoice.billReason === 'usage';
    if (isOfSubscription(invoice) && !isLast) await usage.reopen(tx, invoice.invoiceId);
    await this.carryOut('cancelled', tx, invoice);
  }

  async undone(tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.carryOut('undone', tx, invoice);
  }

  async refused(tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.carryOut('refused', tx, invoice);
  }

  async underWay(tx: Tx, invoice: InvoiceState, isUnderWay: boolean): Promise<void> {
    const sub = await this.carryOut(isUnderWay ? 'awaited' : 'decided', tx, invoice);
    // a step of the renewal may have waited for the outcome
    if (!isUnderWay && sub && !hasEnded(sub.status) && sub.currentPeriodEnd <= tx.now)
      tx.schedule(NEXT, sub.subscriptionId, tx.now);
  }

  async reversed(tx: Tx, invoice: InvoiceState, { keep }: { keep: boolean }): Promise<void> {
    if (!isOfSubscription(invoice)) await this.carryOut('reversed', tx, invoice);
    else if (!keep) await this.endWhenDecided(tx, invoice.subscriptionId);
  }

  async ended(tx: Tx, invoice: InvoiceState): Promise<void> {
    if (isOfSubscription(invoice)) await this.end(tx, invoice.subscriptionId, 'Refunded');
  }

  async finish(tx: Tx, { subscriptionId }: InvoiceState): Promise<void> {
    const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    await this.app.get(Renewals, { strict: false }).finishNow(tx, sub);
  }

  async cancelsWhenOverdue(tx: Tx, invoice: InvoiceState): Promise<boolean> {
    const decide = handlersOf(invoice).cancelsWhenOverdue;
    const end = decide && (await endOf(tx, invoice));
    return end ? decide(tx, end, this.app) : false;
  }

  async methodOf(reader: Reader, { subscriptionId }: InvoiceRow): Promise<string> {
    const sub = subscriptionId === '' ? undefined : await reader.find(subscriptions, { subscriptionId });
    return sub?.paymentMethodId ?? '';
  }

  async holds(tx: Tx, invoice: InvoiceRow, { isAsked }: { isAsked: boolean }): Promise<boolean> {
    const { subscriptionId, periodKind, periodStart } = invoice;
    if (!isOfSubscription(invoice) || periodKind === '') return false;
    const sub = await tx.part(subscriptions, { subscriptionId });
    if (sub?.status !== 'active' || periodStart < sub.currentPeriodEnd) return false;
    return (!isAsked && endsWithPeriod(sub)) || isBeingChanged(tx, sub);
  }

  async awaits(tx: Tx, invoice: InvoiceRow): Promise<boolean> {
    return isOfSubscription(invoice) && (await isAwaited(tx, invoice.subscriptionId));
  }

  /** Returns the subscription that it was carried out on, as it was before; undefined for none. */
  private async carryOut(outcome: PlainOutcome, tx: Tx, invoice: InvoiceState): Promise<Subscription | undefined> {
    await ofOthers[invoice.bizType]?.[outcome]?.(tx, invoice, this.app);
    const end = isOfSubscription(invoice) ? await endOf(tx, invoice) : undefined;
    if (end) await handlersOf(invoice)[outcome]?.(tx, end, this.app);
    return end?.sub;
  }

  /** Ends a subscription whose payment was charged back, once no payment of it is under way. */
  private async endWhenDecided(tx: Tx, subscriptionId: string): Promise<void> {
    await tx.part(subscriptions, { subscriptionId });
    if (await isAwaited(tx, subscriptionId)) tx.schedule(END, subscriptionId, tx.now + awaitSeconds);
    else await this.end(tx, subscriptionId, 'Its payment was charged back');
  }

  private async end(tx: Tx, subscriptionId: string, reason: string): Promise<void> {
    const sub = await tx.lockIfAny(subscriptionAggregate, subscriptionId);
    if (!sub || hasEnded(sub.status)) return;
    await this.app.get(SubscriptionTermination, { strict: false }).end(tx, sub, { move: 'cancel', reason });
  }
}

const isOfSubscription = ({ bizType: type }: Pick<InvoiceRow, 'bizType'>): boolean => type === bizType.subscription;

const handlersOf = ({ billReason }: InvoiceState): OutcomeHandlers<InvoiceOutcome> =>
  billReason === '' || billReason === 'onetime' ? {} : byReason[billReason];

/** Undefined for a subscription that is being made in this transaction: the command that makes it knows the outcome. */
async function endOf(tx: Tx, invoice: InvoiceState): Promise<InvoiceOutcome | undefined> {
  const sub = await tx.lockIfAny(subscriptionAggregate, invoice.subscriptionId);
  return sub && { invoice, sub };
}

/** True while a change waits for its payment: when that comes, the next period's invoice is made again. */
async function isBeingChanged(tx: Tx, { pendingUpdateId }: Subscription): Promise<boolean> {
  const update = pendingUpdateId === '' ? undefined : await tx.find(pendingUpdates, { pendingUpdateId });
  return update?.status === 'pending' && update.effect === 'now';
}
