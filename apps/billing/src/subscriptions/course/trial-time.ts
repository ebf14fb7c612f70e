import { Controller } from '@nestjs/common';
import { addTrialTime, type In } from '@recur/contracts';
import { boundary, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { InvoiceClosing } from '../../invoices/close.js';
import { creditableLines, moveServicePeriods } from '../../invoices/crediting/creditable-lines.js';
import type { CreditableLine } from '../../invoices/domain/items.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import { Arrears } from '../arrears.js';
import { PlanChanges } from '../change/plan-changes.js';
import { intervalSold } from '../domain/change-items.js';
import { sameInterval } from '../domain/changes.js';
import { intervalOf } from '../domain/items.js';
import { movedPendingItems } from '../domain/pending-items.js';
import type { Period, PeriodRow } from '../domain/periods.js';
import { hasEnded, moved, planOf, type Subscription } from '../domain/subscription.js';
import { appendedTrialEnd } from '../domain/trials.js';
import { pendingUpdates } from '../pending-update.js';
import { addPeriod, periodsFrom, voidPeriod } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';

/** subscription/add_new_trial_start. */
@Controller()
export class TrialTime {
  constructor(
    private readonly db: Db,
    private readonly changes: PlanChanges,
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
    private readonly arrears: Arrears,
  ) {}

  @Handle(addTrialTime)
  add({ subscriptionId, appendTrialEndHour }: In<typeof addTrialTime>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const isUnpaid = before.status === 'incomplete' || before.status === 'processing';
      const rows = await periodsFrom(tx, subscriptionId, before.currentPeriodStart);
      const current = rows.find(({ startAt }) => startAt === before.currentPeriodStart);
      const unpaid = isUnpaid && current?.state === 'open' ? current : undefined;
      const { sub: appended, free } = extended(before, appendTrialEndHour, tx.now, unpaid);
      const paidNext = free && rows.find(row => row.startAt === before.currentPeriodEnd && row.state === 'paid');
      // free time that follows a trial of several steps is part of the new period
      const isMoved = paidNext !== undefined && paidNext.kind !== 'free';
      const sold = isMoved ? await creditableLines(tx, subscriptionId, paidNext.startAt) : [];
      const { next, sub } = isMoved ? movedAfter(appended, paidNext, sold) : { next: undefined, sub: appended };
      const log = `AddNewTrialEnd: ${before.trialEnd} -> ${sub.trialEnd}`;
      const after = isUnpaid ? { ...moved(sub, 'activate', tx.now), unpaidUntil: 0, dunningTime: 0 } : sub;
      const carried =
        paidNext && next ? movedPendingItems(sub.carried, timeOfPeriod(paidNext), timeOfPeriod(next)) : sub.carried;
      const saved = { ...after, carried, ...(unpaid && unpaid.invoiceId !== '' && { latestInvoiceId: '' }) };
      const { state } = tx.step(subscriptionAggregate, saved, 'subscription.updated', { log });
      if (isUnpaid) {
        const activated = { ...state, firstPaidTime: state.firstPaidTime || tx.now };
        tx.step(subscriptionAggregate, activated, 'subscription.activated');
      }
      if (unpaid) {
        const endAt = free?.end ?? unpaid.endAt;
        tx.save(subscriptionPeriods, { ...unpaid, kind: 'free', state: 'paid', invoiceId: '', endAt });
        await this.cancelled(tx, unpaid);
        if (free) await this.arrears.moveEnd(tx, before, endAt);
      } else if (free) {
        if (paidNext && next) await move(tx, paidNext, next, sold);
        else if (paidNext) await voidPeriod(tx, paidNext);
        else await this.changes.voidUpcomingInvoice(tx, before);
        const { kind, start: startAt, end: endAt } = free;
        const { userId } = sub;
        await addPeriod(tx, { subscriptionId, userId, kind, startAt, endAt, invoiceId: '', state: 'paid' });
        await this.arrears.moveEnd(tx, before, endAt);
      }
      await moveDeferred(tx, sub);
      scheduleNext(tx, after, before);
      return {};
    });
  }

  private async cancelled(tx: Tx, { invoiceId }: PeriodRow): Promise<void> {
    if (invoiceId === '') return;
    const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
    if (invoice.status === 'processing') await this.closing.cancel(tx, invoice);
  }
}

/** Moves a paid period, and the time that its lines sell. */
async function move(tx: Tx, from: PeriodRow, to: PeriodRow, sold: readonly CreditableLine[]): Promise<void> {
  for (const invoiceId of new Set(sold.map(line => line.invoiceId))) {
    await moveServicePeriods(tx, invoiceId, timeOfPeriod(from), timeOfPeriod(to));
  }
  tx.save(subscriptionPeriods, to);
}

const timeOfPeriod = ({ startAt: start, endAt: end }: PeriodRow): ServicePeriod => ({ start, end });

/** A change that waits for the end of the period waits for the new one. */
async function moveDeferred(tx: Tx, { pendingUpdateId, currentPeriodEnd }: Subscription): Promise<void> {
  const update = pendingUpdateId ? await tx.lockIfAny(pendingUpdates, { pendingUpdateId }) : undefined;
  if (update?.status === 'pending' && update.effect === 'periodEnd') {
    tx.save(pendingUpdates, { ...update, effectTime: currentPeriodEnd });
  }
}

/** A subscription with appended trial time. */
export interface Extension {
  sub: Subscription;
  /**
   * The free period after its current period, or in its place where that is not paid; undefined where it follows the steps
   * of a trial that are left.
   */
  free: Period | undefined;
}

/**
 * Appends hours of free time after what is paid: periods are counted again from its end. In a trial of several steps it
 * follows the last one. `unpaid` is the current period where it is not paid: its time until now, and the hours, are free.
 * Throws Rejected `subscription_not_extendable`.
 */
export function extended(sub: Subscription, hours: number, now: number, unpaid?: PeriodRow): Extension {
  if (hasEnded(sub.status) || sub.status === 'init') {
    throw new Rejected(
      'subscription_not_extendable',
      `Subscription ${sub.subscriptionId} is ${sub.status}: cannot extend it by trial time`,
    );
  }
  const start = unpaid && !hasStepsLeft(sub) ? unpaid.startAt : sub.currentPeriodEnd;
  const trialEnd = appendedTrialEnd({ ...sub, currentPeriodEnd: start, now }, hours);
  const after = { ...sub, trialEnd, anchor: trialEnd, periodNo: 0, modifyTime: now };
  if (hasStepsLeft(sub)) return { sub: after, free: undefined };
  const free: Period = { kind: 'free', start, end: trialEnd };
  return { sub: { ...after, currentPeriodEnd: trialEnd }, free };
}

const hasStepsLeft = ({ multiTrial }: Subscription): boolean =>
  multiTrial !== null && !multiTrial.finished && multiTrial.currentIndex + 1 < multiTrial.steps.length;

/**
 * A paid next period after the free period in front of it, whose lines are `sold`: it keeps its length, a full one by the
 * calendar. Full periods are counted from its end where it is none of those that the subscription has; else from its start.
 */
export function movedAfter(
  sub: Subscription,
  row: PeriodRow,
  sold: readonly CreditableLine[],
): { next: PeriodRow; sub: Subscription } {
  const startAt = sub.currentPeriodEnd;
  const interval = intervalSold(sub, sold);
  const isFull = row.kind === 'cycle';
  const endAt = isFull ? boundary(startAt, 1, interval, sub.timeZone) : startAt + row.endAt - row.startAt;
  const isOwn = isFull && sameInterval(interval, intervalOf(planOf(sub)));
  return { next: { ...row, startAt, endAt }, sub: isOwn ? sub : { ...sub, anchor: endAt } };
}
