import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { settingsOf as documentSettingsOf } from '../../invoicing/finish/settings.js';
import { lastAttempt } from '../../invoicing/payments/collect.js';
import type { InvoiceState } from '../../invoicing/state.js';
import { subscriptionAggregate } from '../aggregate.js';
import { carriedLinesOf } from '../domain/carried.js';
import { periodOf } from '../domain/cycle.js';
import { hasEnded } from '../domain/lifecycle.js';
import type { PeriodRow } from '../domain/periods.js';
import { advanced, moved } from '../domain/subscription.js';
import { SubscriptionEndings } from '../endings/ending.js';
import { deferredOf } from '../next-bill.js';
import { type InvoiceEnd, SubscriptionInvoices } from '../owner.js';
import { NEXT } from '../schedule.js';
import { chargeTermsOf, settingsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { PeriodEnd } from './period-end.js';

/** Ends of the invoices of later periods: paid, the period begins at its time; unpaid, the subscription ends. */
@Injectable()
export class CycleEnds {
  constructor(
    owner: SubscriptionInvoices,
    private readonly periodEnd: PeriodEnd,
    private readonly endings: SubscriptionEndings,
  ) {
    owner.register(['cycle', 'trialStep'], {
      paid: (tx, end) => this.paid(tx, end),
      failed: (tx, end) => this.failed(tx, end),
      cancelled: (tx, end) => this.cancelled(tx, end),
      reversed: (tx, end) => this.reversed(tx, end),
    });
  }

  private async paid(tx: Tx, { sub, invoice }: InvoiceEnd): Promise<void> {
    const row = await rowOf(tx, invoice);
    if (row?.state !== 'open') return;
    tx.save(subscriptionPeriods, { ...row, state: 'paid', remakeAt: 0 });
    if (hasEnded(sub.status)) return;
    // a deferred change comes first: the cycle carries it out
    const begins = row.startAt <= tx.now && row.startAt === sub.currentPeriodEnd && !(await deferredOf(tx, sub));
    const next = begins ? { ...advanced(sub, periodOf(sub, row)), modifyTime: tx.now } : sub;
    if (begins && sub.status === 'incomplete') {
      const active = { ...moved(next, 'activate', tx.now), dunningTime: 0, firstPaidTime: sub.firstPaidTime || tx.now };
      tx.step(subscriptionAggregate, active, 'subscription.auto_renew.success');
      const again = await tx.lock(subscriptionAggregate, sub.subscriptionId, 'subscription_not_found');
      tx.step(subscriptionAggregate, again, 'subscription.activated');
    } else {
      tx.step(subscriptionAggregate, next, 'subscription.auto_renew.success');
    }
    tx.schedule(NEXT, sub.subscriptionId, tx.now);
  }

  private async failed(tx: Tx, { sub, invoice }: InvoiceEnd): Promise<void> {
    const row = await rowOf(tx, invoice);
    if (row) tx.save(subscriptionPeriods, { ...row, state: 'unpaid', remakeAt: 0 });
    if (hasEnded(sub.status)) return;
    await this.periodEnd.expire(tx, sub);
  }

  /** Schedules the invoice again, a retry interval after the last attempt; what it had carried is unbilled again. */
  private async cancelled(tx: Tx, { sub, invoice }: InvoiceEnd): Promise<void> {
    if (hasEnded(sub.status)) return;
    const carried = carriedLinesOf(invoice.lines);
    if (carried.length > 0) {
      const unbilled = { ...sub, carried: [...sub.carried, ...carried], modifyTime: tx.now };
      tx.step(subscriptionAggregate, unbilled, 'subscription.updated');
    }
    const row = await rowOf(tx, invoice);
    // a void period was replaced by another
    if (row?.state !== 'open') return;
    const { retryIntervalSeconds } = chargeTermsOf(sub, await settingsOf(tx));
    const attempt = await lastAttempt(tx, invoice.invoiceId);
    tx.save(subscriptionPeriods, { ...row, remakeAt: (attempt || tx.now) + retryIntervalSeconds });
    tx.schedule(NEXT, sub.subscriptionId, tx.now);
  }

  /** A chargeback of the whole ends the subscription, unless the config keeps it. */
  private async reversed(tx: Tx, { sub }: InvoiceEnd): Promise<void> {
    if (hasEnded(sub.status) || (await documentSettingsOf(tx)).keepAfterDispute) return;
    await this.endings.end(tx, sub, { move: 'cancel', reason: 'Its payment was charged back' });
  }
}

/** The period of an invoice; undefined for one that is being made. */
const rowOf = async (tx: Tx, { subscriptionId, invoiceId }: InvoiceState): Promise<PeriodRow | undefined> =>
  tx.part(subscriptionPeriods, { subscriptionId, invoiceId });
