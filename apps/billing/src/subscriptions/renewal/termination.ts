import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { InvoiceClosing } from '../../invoices/close.js';
import { openInvoicesOf } from '../../invoices/open-invoices.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import { Arrears, sellsUsage } from '../arrears.js';
import { PlanChanges } from '../change/plan-changes.js';
import { releaseReserved } from '../codes.js';
import { lastUsageEnd } from '../domain/items-to-bill.js';
import { pendingItemsOf } from '../domain/pending-items.js';
import { isLivePeriod, type PeriodRow } from '../domain/periods.js';
import type { RenewalState } from '../domain/renewal.js';
import { ended, type Subscription } from '../domain/subscription.js';
import { tellIfLast } from '../ends.js';
import { voidPeriod } from '../periods.js';
import { loadRenewalBatch } from '../renewal-batch.js';
import { FINISH, scheduleNext } from '../schedule.js';
import { subscriptionSettingsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';
import { FinalInvoices, type FinalTerms } from './final-invoice.js';
import { RenewalInvoices } from './invoices.js';

/** The end of a subscription: at once, at the end of its period, at a deadline. */
export interface Termination extends Partial<FinalTerms> {
  move: 'cancel' | 'expire' | 'fail';
  reason: string;
  log?: string;
  /** True where it ends with its period: the last usage is billed when it is complete. */
  usageLater?: boolean;
}

/** Ends subscriptions. The subscription is locked. */
@Injectable()
export class SubscriptionTermination {
  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
    private readonly changes: PlanChanges,
    private readonly documents: FinalInvoices,
    private readonly invoices: RenewalInvoices,
    private readonly arrears: Arrears,
  ) {}

  /**
   * Ends a subscription with its period; the invoice of the next one, if there is one, is cancelled, or credited where it is
   * paid. Its last usage is billed when it is complete.
   */
  async endWithPeriod(tx: Tx, { sub, upcoming }: RenewalState): Promise<RenewalState> {
    if (upcoming) await voidPeriod(tx, upcoming);
    const reason = sub.cancelReason || 'Cancelled at the end of the period';
    const at = Math.min(tx.now, sub.currentPeriodEnd);
    return this.end(tx, sub, { move: 'cancel', reason, usageLater: true, at });
  }

  /** Ends a subscription by a deadline: expired, or failed where it never paid. */
  expire(tx: Tx, sub: Subscription): Promise<RenewalState> {
    const move = sub.firstPaidTime === 0 ? 'fail' : 'expire';
    return this.end(tx, sub, { move, reason: 'The invoice of its period was not paid in time' });
  }

  /**
   * Ends it now: cancels its unfinished change and its open invoices, and makes its last document, by which a next period
   * that is paid is credited in any case. Throws Rejected `subscription_wrong_state`.
   */
  async end(
    tx: Tx,
    live: Subscription,
    { move, reason, log, usageLater = false, ...terms }: Termination,
  ): Promise<RenewalState> {
    const { sub, invoiceId: finishedId } = await this.finishDraft(tx, live, terms.prorate ?? false);
    await releaseReserved(tx, sub);
    const before = await this.changes.cancelPendingUpdate(tx, sub);
    const over = { ...ended(before, move, reason, tx.now), carried: [] };
    if (move === 'cancel') tx.step(subscriptionAggregate, over, 'subscription.cancelled');
    else tx.step(subscriptionAggregate, over, move === 'expire' ? 'subscription.expired' : 'subscription.failed');
    await tellIfLast(tx, over, before);
    scheduleNext(tx, over, before);
    const carried = [...before.carried];
    // the handlers of their ends find that it is over
    for (const invoiceId of await openInvoicesOf(tx, sub.subscriptionId)) {
      if (invoiceId === finishedId) continue;
      const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
      // usage that is billed by itself is owed
      if (invoice.status !== 'processing' || invoice.billReason === 'usage') continue;
      if (invoice.periodStart >= before.currentPeriodEnd) carried.push(...pendingItemsOf(invoice.lines));
      await this.closing.cancel(tx, invoice);
    }
    const { invoiceNow = false } = terms;
    const usage = usageLater ? {} : await this.usageOf(tx, before);
    await this.documents.issue(tx, { ...before, carried }, { prorate: false, invoiceNow, ...usage, ...terms });
    const { subscriptionId, userId, planId } = over;
    if (log) tx.log(`Subscription(${subscriptionId})`, log, { subscriptionId, userId, planId });
    const current = await this.waitForUsage(tx, before, usageLater || invoiceNow);
    return { sub: over, current, upcoming: undefined };
  }

  /**
   * Finishes the draft that waits for usage: the usage of the period before is billed in any case, and the fees of the
   * current period in full, or with `prorate` up to now.
   */
  private async finishDraft(
    tx: Tx,
    sub: Subscription,
    prorate: boolean,
  ): Promise<{ sub: Subscription; invoiceId: string }> {
    if (!sellsUsage(sub.planSnapshot)) return { sub, invoiceId: '' };
    const batch = await loadRenewalBatch(tx, [sub.subscriptionId]);
    const state = batch.states.get(sub.subscriptionId);
    const row = state?.current;
    if (!state || !row || row.state !== 'open' || row.finishAt === 0) return { sub, invoiceId: '' };
    const used = { kind: 'stub', start: row.startAt, end: Math.max(tx.now, row.startAt + 1) } as const;
    const billed = await this.invoices.finishDraft(
      tx,
      batch,
      state,
      row,
      prorate && row.kind !== 'trial' ? used : undefined,
    );
    return { sub: billed.sub, invoiceId: billed.current?.invoiceId ?? '' };
  }

  /** The usage of the current period up to now, for the last document, which bills or drops it. */
  private async usageOf(tx: Tx, sub: Subscription): Promise<Pick<FinalTerms, 'usage' | 'usedUntil'>> {
    const usedUntil = lastUsageEnd(sub, tx.now);
    await this.arrears.lock(tx, sub, usedUntil);
    return { usage: await this.arrears.items(tx, sub, usedUntil), usedUntil };
  }

  /** Usage that is billed is waited for until the grace is over. Returns the current period. */
  private async waitForUsage(tx: Tx, sub: Subscription, isBilled: boolean): Promise<PeriodRow | undefined> {
    const { subscriptionId, currentPeriodStart: startAt, currentPeriodEnd } = sub;
    const row = (await tx.parts(subscriptionPeriods, { subscriptionId, startAt })).find(isLivePeriod);
    const waits = isBilled && (await this.arrears.isCounted(tx, sub));
    const { usageGraceSeconds } = waits ? await subscriptionSettingsOf(tx) : { usageGraceSeconds: 0 };
    const finishAt = waits ? Math.min(tx.now, currentPeriodEnd) + usageGraceSeconds : 0;
    if (!row || row.finishAt === finishAt) return row;
    const waiting = { ...row, finishAt };
    tx.save(subscriptionPeriods, waiting);
    if (waits) tx.schedule(FINISH, subscriptionId, finishAt);
    return waiting;
  }
}
