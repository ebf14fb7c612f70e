import { Injectable } from '@nestjs/common';
import { Db, type Tx, type Work, type WorkItem } from '@recur/platform';
import { type Chargeable, gatewayUserIdOf } from '../gateways/chargeable.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import { gatewayCalls } from '../gateways/gateway-calls.js';
import { announceDeadline, chargeWork } from '../invoices/collecting.js';
import { type ChargeReport, isBusy } from '../invoices/domain/charge.js';
import { openAnotherPayment } from '../invoices/domain/collection.js';
import {
  type Collection,
  isAttemptDue,
  isChargedAtFinish,
  isMissedAttempt,
  isTriedNow,
  recordAttempt,
  skipAttempt,
} from '../invoices/domain/dunning.js';
import type { Checkout, Payment } from '../invoices/domain/payment.js';
import { InvoiceFinalizer } from '../invoices/issuing/finalize.js';
import { CustomerNotifications } from '../invoices/notifications.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { collections, payments } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { type InvoiceRow, invoices } from '../invoices/tables.js';
import { invoiceAggregate, paymentAggregate } from '../invoices/views.js';
import { Charges, releaseSeconds, unreleasedUsers } from './charges.js';
import { chargedMethod } from './method-added.js';
import { ChargeSettlement } from './settlement.js';

/** `inFlightSeconds`: longer than a claimed attempt may wait and its call may take; shorter than the lease. */
const limits = { batch: 20, leaseSeconds: 60, inFlightSeconds: 45 } as const;

/** An attempt that a worker has claimed: to be sent, or to be asked for where another worker has claimed it before. */
interface ChargeClaim {
  gateway: Gateway;
  payment: Payment;
  /** Undefined: it may have been sent already. */
  method: Chargeable | undefined;
  gatewayUserId: string;
}

/**
 * Charges open invoices: claims each attempt in a transaction, sends it outside of any, and records the outcome in
 * another. One whose worker was killed in between is asked for at the gateway before anything is sent again.
 */
@Injectable()
export class PaymentAttempts {
  readonly work: Work;

  constructor(
    db: Db,
    private readonly charges: Charges,
    private readonly settlement: ChargeSettlement,
    private readonly finalizer: InvoiceFinalizer,
    private readonly outcomes: InvoiceOutcomes,
    private readonly notices: CustomerNotifications,
  ) {
    const terms = { batch: limits.batch, leaseSeconds: limits.leaseSeconds };
    this.work = gatewayCalls(db, chargeWork.attempt, terms, {
      claim: (tx, items) => this.claim(tx, items),
      call: claim => this.outcomeOf(claim),
      record: (tx, items, reports) => this.record(tx, items, reports),
    });
  }

  /** Claims the attempts of all items. What it changes is logged apart from what comes of the attempts. */
  private async claim(tx: Tx, items: readonly WorkItem[]): Promise<ReadonlyMap<string, ChargeClaim>> {
    const keys = items.map(({ key }) => key).sort();
    await this.outcomes.lockInOrder(tx, keys);
    const unreleased = await unreleasedUsers(tx, keys);
    const claims = new Map<string, ChargeClaim>();
    for (const { key, requestId } of items) {
      const claim = await this.claimOne(tx.item({ requestId: `${requestId}_claim` }), key, unreleased);
      if (claim) claims.set(key, claim);
    }
    return claims;
  }

  private async claimOne(tx: Tx, invoiceId: string, unreleased: ReadonlySet<number>): Promise<ChargeClaim | undefined> {
    const invoice = await tx.lockIfAny(invoiceAggregate, invoiceId);
    const collection = invoice && (await tx.lockIfAny(collections, { invoiceId }));
    if (!collection || invoice.status !== 'processing') return undefined;
    const { payment, gateway } = invoice;
    const isOpen = payment?.status === 'created';
    if (isOpen && payment.outcome === 'sending') return this.takenOver(tx, invoice, payment);
    if (!isAttemptDue(collection, tx.now) || unreleased.has(invoice.userId)) return undefined;
    if (await this.isHeld(tx, invoice, collection)) return undefined;
    const busy = isBusy(payment);
    const isOver = tx.now >= invoice.deadline && !isMissedAttempt(collection, invoice.deadline);
    const awaitsMethod = !busy && !isOver;
    const charges = awaitsMethod && this.charges.adapterOf(gateway) !== undefined;
    const method = charges && (await chargedMethod(tx, this.outcomes, invoice, collection.tryMethodId));
    if (gateway && method) return this.claimSending(tx, invoice, collection, gateway, method);
    if (awaitsMethod && isChargedAtFinish(collection, invoice.finishTime))
      await this.notices.notify(tx, 'issued', invoice);
    tx.save(collections, skipAttempt({ ...collection, awaitsMethod }, invoice.deadline, tx.now, busy));
    return undefined;
  }

  /** True for an attempt that is held for what the invoice sells: only one that nobody asked for may be. */
  private isHeld(tx: Tx, invoice: InvoiceRow, { tryNow }: Collection): Promise<boolean> {
    return this.outcomes.holds(tx, invoice, { isAsked: tryNow });
  }

  private async takenOver(
    tx: Tx,
    { gateway, userId }: InvoiceState,
    payment: Payment,
  ): Promise<ChargeClaim | undefined> {
    if (!gateway || !this.charges.adapterOf(gateway)) return undefined;
    const gatewayUserId = await gatewayUserIdOf(tx, { gatewayId: gateway.gatewayId, userId });
    return { gateway, payment, method: undefined, gatewayUserId };
  }

  private async claimSending(
    tx: Tx,
    invoice: InvoiceState,
    collection: Collection,
    gateway: Gateway,
    method: Chargeable,
  ): Promise<ChargeClaim> {
    const made = recordAttempt(collection, invoice.deadline, tx.now, method.methodId);
    const { deadline, automatic } = made;
    const [payment, opened] = await this.paymentOf(tx, invoice);
    const sending: Payment = {
      ...payment,
      automatic,
      attempt: payment.attempt + 1,
      outcome: 'sending',
      inquiries: 0,
      sentTime: this.charges.machineNow(),
      modifyTime: tx.now,
      methodId: method.methodId,
      methodName: method.name,
    };
    tx.save(collections, made.collection);
    if (deadline !== invoice.deadline) {
      tx.schedule('invoice.expire', invoice.invoiceId, deadline);
      announceDeadline(tx, invoice.invoiceId, deadline);
    }
    if (opened !== invoice || deadline !== invoice.deadline) {
      const log = opened === invoice ? 'Extend deadline' : 'Open another payment';
      tx.step(invoiceAggregate, { ...opened, deadline, gateway, payment: sending }, 'invoice.updated', { log });
    }
    if (payment === invoice.payment) tx.save(payments, sending);
    else tx.step(paymentAggregate, sending, 'payment.created');
    return { gateway, payment: sending, method, gatewayUserId: method.gatewayUserId };
  }

  /** The open payment of an invoice, or another one after a payment that failed or was cleared. */
  private async paymentOf(tx: Tx, invoice: InvoiceState): Promise<[Payment, InvoiceState]> {
    const { payment: current, gatewayId, link } = invoice;
    if (current?.status === 'created') return [current, invoice];
    const { countryCode = '', manualCapture = false } = current ?? {};
    const checkout = withoutChoice(current?.checkout ?? null);
    const given = {
      paymentId: tx.newId('pay_'),
      id: await tx.nextId(payments),
      gatewayId,
      // the link that the user was sent stays the one to pay at
      link: link || this.finalizer.newLink(),
      checkout,
      countryCode,
      manualCapture,
      now: tx.now,
    };
    return openAnotherPayment(invoice, current, given);
  }

  private async outcomeOf({ gateway, payment, method, gatewayUserId }: ChargeClaim): Promise<ChargeReport> {
    const { paymentId, attempt } = payment;
    const report = { paymentId, attempt, gatewayId: gateway.gatewayId, by: 'answer' } as const;
    if (method) return { ...report, outcome: await this.charges.send(gateway, payment, method) };
    const outcome = await this.charges.ask(gateway, payment, gatewayUserId);
    const isInFlight = this.charges.machineNow() - payment.sentTime < limits.inFlightSeconds;
    // a request sent a moment ago may still arrive: it is not sent again yet
    return { ...report, outcome: outcome.is === 'absent' && isInFlight ? lost : outcome };
  }

  private async record(tx: Tx, items: readonly WorkItem[], reports: readonly (ChargeReport | undefined)[]) {
    const byKey = items
      .map((item, at) => ({ item, report: reports[at] }))
      .sort((a, b) => (a.item.key < b.item.key ? -1 : 1));
    const keys = byKey.map(({ item }) => item.key);
    await this.outcomes.lockInOrder(tx, keys);
    const unreleased = await unreleasedUsers(tx, keys);
    for (const { item, report } of byKey) {
      if (report) await this.settlement.report(tx.item(item), report);
      await this.scheduleNext(tx, item.key, unreleased);
    }
  }

  /** Schedules the next automatic attempt of an invoice that is open still, and not held. */
  private async scheduleNext(tx: Tx, invoiceId: string, unreleased: ReadonlySet<number>): Promise<void> {
    const invoice = await tx.lockIfAny(invoices, { invoiceId });
    const collection = invoice && (await tx.lockIfAny(collections, { invoiceId }));
    if (!collection || invoice.status !== 'processing') return;
    const { tryNow, nextTime } = collection;
    if (isAttemptDue(collection, tx.now)) {
      if (unreleased.has(invoice.userId)) {
        tx.schedule(chargeWork.attempt, invoiceId, tx.now + releaseSeconds);
        return;
      }
      if (await this.isHeld(tx, invoice, collection)) return;
    }
    // a method that is tried once the charge under way has failed is taken up by that failure
    const waits = !tryNow && isTriedNow(collection) && isBusy(await tx.lockIfAny(paymentAggregate, invoice.paymentId));
    const isNow = isTriedNow(collection) && !waits;
    if (isNow || nextTime > 0) tx.schedule(chargeWork.attempt, invoiceId, isNow ? tx.now : nextTime);
  }
}

/** The wishes for a payment, for the one after it: the method was chosen for the one that failed. */
function withoutChoice(checkout: Checkout | null): Checkout | null {
  if (!checkout) return null;
  const { paymentMethodId: _, ...rest } = checkout;
  return rest;
}

const lost = { is: 'unknown', reference: '' } as const;
