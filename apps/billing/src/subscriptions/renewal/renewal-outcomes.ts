import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { lastAttempt } from '../../invoices/collecting.js';
import type { InvoiceState } from '../../invoices/state.js';
import { Arrears, hasUsage } from '../arrears.js';
import { deferredOf } from '../change/upcoming-invoice.js';
import { reserveAgain } from '../codes.js';
import { pendingItemsOf } from '../domain/pending-items.js';
import type { PeriodRow } from '../domain/periods.js';
import { endsWithPeriod, periodOf } from '../domain/renewal.js';
import { entered } from '../domain/repricing.js';
import { hasEnded, moved, type Subscription, suspended } from '../domain/subscription.js';
import { type InvoiceOutcome, voidPeriod } from '../periods.js';
import { NEXT, scheduleEndNotice } from '../schedule.js';
import { chargeTermsOf, subscriptionSettingsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';
import { FinalInvoices } from './final-invoice.js';
import { SubscriptionTermination } from './termination.js';

/** Ends of the invoices of later periods: paid, the period begins at its time; unpaid, the subscription ends. */
@Injectable()
export class RenewalOutcomes {
  constructor(
    private readonly termination: SubscriptionTermination,
    private readonly arrears: Arrears,
    private readonly finals: FinalInvoices,
  ) {}

  async paid(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
    const row = await periodRowOf(tx, invoice);
    // a draft that costs nothing is paid while the cycle finishes it
    if (row?.state !== 'open' || row.finishAt > 0) return;
    tx.save(subscriptionPeriods, { ...row, state: 'paid', remakeAt: 0 });
    if (hasEnded(sub.status)) return;
    // a deferred change, or an end with the period, comes first: the cycle carries it out
    const isNext = row.startAt <= tx.now && row.startAt === sub.currentPeriodEnd;
    const begins = isNext && !(sub.status === 'active' && endsWithPeriod(sub)) && !(await deferredOf(tx, sub));
    const next = begins ? { ...entered(sub, periodOf(sub, row)), modifyTime: tx.now } : sub;
    if (begins && hasUsage(next.planSnapshot)) await this.begin(tx, next, row);
    const isCurrent = begins || row.startAt === sub.currentPeriodStart;
    if (isCurrent && sub.status === 'incomplete') {
      const active = { ...moved(next, 'activate', tx.now), dunningTime: 0, firstPaidTime: sub.firstPaidTime || tx.now };
      const { state } = tx.step(subscriptionAggregate, active, 'subscription.auto_renew.success');
      tx.step(subscriptionAggregate, state, 'subscription.activated');
    } else {
      tx.step(subscriptionAggregate, next, 'subscription.auto_renew.success');
    }
    tx.schedule(NEXT, sub.subscriptionId, tx.now);
    scheduleEndNotice(tx, next, sub);
  }

  private async begin(tx: Tx, sub: Subscription, row: PeriodRow): Promise<void> {
    const { usageGraceSeconds } = await subscriptionSettingsOf(tx);
    await this.arrears.begun(tx, sub, { ...row, state: 'paid', remakeAt: 0 }, usageGraceSeconds);
  }

  /** The charge of a period that has begun failed: the subscription is incomplete until it is paid. */
  async refused(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
    const row = await periodRowOf(tx, invoice);
    if (row?.state !== 'open' || row.startAt !== sub.currentPeriodStart || sub.status !== 'active') return;
    tx.step(subscriptionAggregate, suspended(sub, row, tx.now), 'subscription.auto_renew.failure');
  }

  async failed(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
    const row = await periodRowOf(tx, invoice);
    if (row) tx.save(subscriptionPeriods, { ...row, state: 'unpaid', remakeAt: 0 });
    if (hasEnded(sub.status)) return;
    await this.termination.expire(tx, sub);
  }

  /**
   * Schedules the invoice again, a retry interval after the last attempt. What it had carried is unbilled again, and its
   * one-time code waits again. Of a subscription that is over, the period is void, or was lived in unpaid.
   */
  async cancelled(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
    const row = await periodRowOf(tx, invoice);
    // a void period was replaced by another
    const unpaid = row?.state === 'open' ? row : undefined;
    if (hasEnded(sub.status)) {
      const isLived = unpaid?.startAt === sub.currentPeriodStart;
      if (unpaid && isLived) tx.save(subscriptionPeriods, { ...unpaid, state: 'unpaid' });
      else if (unpaid) await voidPeriod(tx, unpaid);
      return;
    }
    const carried = pendingItemsOf(invoice.lines);
    const discount = sub.discount ?? (await reserveAgain(tx, invoice)) ?? null;
    if (carried.length > 0 || discount !== sub.discount) {
      const unbilled = { ...sub, carried: [...sub.carried, ...carried], discount, modifyTime: tx.now };
      tx.step(subscriptionAggregate, unbilled, 'subscription.updated');
    }
    if (!unpaid) return;
    const { retryIntervalSeconds } = chargeTermsOf(sub, await subscriptionSettingsOf(tx));
    const attempt = await lastAttempt(tx, invoice.invoiceId);
    tx.save(subscriptionPeriods, { ...unpaid, remakeAt: (attempt || tx.now) + retryIntervalSeconds });
    tx.schedule(NEXT, sub.subscriptionId, tx.now);
  }

  /**
   * Bills by itself the usage of an invoice that is not made again, and what it carried: its subscription is over, or the
   * deadline comes first.
   */
  async undone(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
    const row = await periodRowOf(tx, invoice);
    const isOver = hasEnded(sub.status);
    if (!row || (!isOver && (row.state !== 'open' || row.remakeAt < row.deadline))) return;
    // lines of a period that will not begin are set off by the last document
    const ofCurrent = row.startAt === sub.currentPeriodStart ? pendingItemsOf(invoice.lines) : [];
    const carried = isOver ? ofCurrent : sub.carried;
    const isBilled = await this.finals.usage(tx, { ...sub, carried }, row.startAt, { goesOn: !isOver });
    if (!isOver && isBilled && carried.length > 0) {
      tx.step(subscriptionAggregate, { ...sub, carried: [], modifyTime: tx.now }, 'subscription.updated');
    }
  }
}

/** The period of an invoice; undefined for one that is being made. */
const periodRowOf = async (tx: Tx, { subscriptionId, invoiceId }: InvoiceState): Promise<PeriodRow | undefined> =>
  tx.part(subscriptionPeriods, { subscriptionId, invoiceId });
