import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { InvoiceClosing } from '../../invoices/close.js';
import { resumeCollecting } from '../../invoices/collecting.js';
import { endServicePeriods } from '../../invoices/crediting/creditable-lines.js';
import { releasePeriod } from '../../invoices/issuing/issue.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import type { InvoiceState } from '../../invoices/state.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import { Arrears } from '../arrears.js';
import { boundAfterChange } from '../codes.js';
import {
  freeSecondsFrom,
  hasSameInterval,
  sellsItems,
  sellsQuantities,
  withChange,
  withNewAnchor,
  withNewPeriod,
} from '../domain/apply-change.js';
import { prepaid } from '../domain/changes.js';
import { sellsPlan } from '../domain/periods.js';
import { pricedFrom } from '../domain/repricing.js';
import type { Subscription } from '../domain/subscription.js';
import { meansAfter, type PendingUpdate, pendingUpdates, taxedAfter, updateTermsOf } from '../pending-update.js';
import { addPeriod, endPeriod, type InvoiceOutcome, periodsFrom, voidPeriod } from '../periods.js';
import { withPlannedPrices } from '../prices/walk.js';
import { NEXT, scheduleNext } from '../schedule.js';
import { subscriptionAggregate } from '../views.js';
import { nextLines } from './next-period.js';
import { pendingUpdateAggregate } from './views.js';

/**
 * The ends of changes: a paid one takes effect, an unpaid one lapses, another one supersedes it. The subscription is
 * locked, then the change, then its invoice.
 */
@Injectable()
export class PlanChanges {
  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
    private readonly arrears: Arrears,
  ) {}

  /** The invoice of a change is paid: the change takes effect. */
  async paid(tx: Tx, end: InvoiceOutcome): Promise<void> {
    const update = await this.updateOf(tx, end);
    if (update) await this.apply(tx, end.sub, update, creditedLineIds(end.invoice));
  }

  /** The invoice of a change has ended unpaid, and the change with it. */
  async unpaid(tx: Tx, end: InvoiceOutcome): Promise<void> {
    const update = await this.updateOf(tx, end);
    if (update) await discard(tx, end.sub, update);
  }

  /** True if a change waits for the payment of the invoice. */
  async isAwaiting(tx: Tx, end: InvoiceOutcome): Promise<boolean> {
    return (await this.updateOf(tx, end)) !== undefined;
  }

  /** The change that waits for the payment of an invoice. */
  private async updateOf(tx: Tx, { sub, invoice }: InvoiceOutcome) {
    if (sub.pendingUpdateId === '') return undefined;
    const update = await tx.lockIfAny(pendingUpdateAggregate, sub.pendingUpdateId);
    return update?.invoiceId === invoice.invoiceId ? update : undefined;
  }

  /** Cancels the unfinished change of a subscription, with its invoice; returns the subscription without it. */
  async cancelPendingUpdate(tx: Tx, sub: Subscription): Promise<Subscription> {
    if (sub.pendingUpdateId === '') return sub;
    const update = await tx.lockIfAny(pendingUpdateAggregate, sub.pendingUpdateId);
    if (!update) return sub;
    await this.cancel(tx, sub, update);
    return tx.lock(subscriptionAggregate, sub.subscriptionId, 'subscription_not_found');
  }

  /**
   * Cancels the unfinished change of a subscription for another one to take its place. Throws Rejected
   * `subscription_wrong_state` where the next period is paid as the change sells it.
   */
  async supersede(tx: Tx, sub: Subscription): Promise<Subscription> {
    const update = await unfinishedOf(tx, sub);
    if (update && (await isPrepaid(tx, sub, update))) throw prepaid(sub.subscriptionId);
    return this.cancelPendingUpdate(tx, sub);
  }

  /**
   * Cancels the change that waits for the end of the period, unless the next period is paid as the change sells it; returns
   * the subscription.
   */
  async cancelDeferred(tx: Tx, sub: Subscription): Promise<Subscription> {
    const update = await unfinishedOf(tx, sub);
    if (update?.effect !== 'periodEnd' || (await isPrepaid(tx, sub, update))) return sub;
    return this.cancelPendingUpdate(tx, sub);
  }

  /** Cancels a change that is not finished, with its invoice. */
  async cancel(tx: Tx, sub: Subscription, update: PendingUpdate): Promise<void> {
    const { invoiceId } = update;
    const invoice = invoiceId && (await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found'));
    // cancelling its invoice cancels it
    if (invoice && invoice.status === 'processing') await this.closing.cancel(tx, invoice);
    else await discard(tx, sub, update);
    if (update.effect === 'periodEnd') await this.withdrawOther(tx, sub);
  }

  /** Withdraws the open invoice of the next period where it does not sell what the subscription sells. */
  private async withdrawOther(tx: Tx, sub: Subscription): Promise<void> {
    const [next] = await periodsFrom(tx, sub.subscriptionId, sub.currentPeriodEnd);
    if (next?.state !== 'open' || !sellsPlan(next)) return;
    const { lines, isTaken } = await nextLines(tx, next);
    if (isTaken || sellsItems(pricedFrom(sub, next.startAt), lines)) return;
    await this.voidUpcomingInvoice(tx, sub);
    tx.schedule(NEXT, sub.subscriptionId, tx.now);
  }

  /**
   * Carries out a change: the subscription sells what it was changed to, lines that are credited end, and the next
   * period's open invoice is cancelled and made again by the cycle, unless the caller replaces it. `sources` are the lines
   * that the change credits.
   */
  async apply(
    tx: Tx,
    sub: Subscription,
    update: PendingUpdate,
    sources: readonly string[],
    { log, keepsNext = false }: { log?: string; keepsNext?: boolean } = {},
  ): Promise<{ sub: Subscription; update: PendingUpdate }> {
    const { newPeriod, discount, manualPayment } = updateTermsOf(update);
    const at = update.prorationDate;
    await endServicePeriods(tx, sources, at);
    const left = keepsNext ? sub : await this.voidUpcomingInvoice(tx, sub);
    const free = newPeriod ? await restartPeriods(tx, sub, newPeriod, update.invoiceId) : 0;
    if (newPeriod && newPeriod.start < sub.currentPeriodEnd) {
      const { start, end } = newPeriod;
      await this.arrears.moveEnd(tx, sub, start, { next: { soldUntil: end, end: end + free } });
    }
    const after = withChange(left, update);
    const changed = newPeriod
      ? withNewPeriod(after, newPeriod, free)
      : keepsNext
        ? after
        : await anchored(tx, left, after);
    const sold: Subscription = {
      ...changed,
      discount: await boundAfterChange(tx, left, discount, changed),
      pendingUpdateId: '',
      modifyTime: tx.now,
      ...taxedAfter(sub, update),
      ...meansAfter(sub, update),
      manualPayment: manualPayment || sub.manualPayment,
      latestInvoiceId: update.invoiceId || sub.latestInvoiceId,
    };
    // the change was priced when it was submitted
    const priced = await withPlannedPrices(tx, sold);
    const finished = finishUpdate(tx, update);
    tx.step(subscriptionAggregate, priced, 'subscription.updated', { log });
    scheduleNext(tx, priced, sub);
    return { sub: priced, update: finished };
  }

  /**
   * Cancels the open invoice of the next period, and voids that period: the cycle makes both again. Returns the
   * subscription with what comes back to it: the lines that the invoice had carried, and its one-time code.
   */
  async voidUpcomingInvoice(tx: Tx, sub: Subscription): Promise<Subscription> {
    const { subscriptionId, currentPeriodEnd } = sub;
    const before = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    for (const row of await periodsFrom(tx, subscriptionId, currentPeriodEnd)) {
      if (row.state !== 'open' || row.invoiceId === '') continue;
      const { invoiceId } = row;
      const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
      await voidPeriod(tx, row);
      if (invoice.status !== 'processing') continue;
      await releasePeriod(tx, invoice);
      await this.closing.cancel(tx, invoice);
    }
    const { carried, discount } = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    return {
      ...sub,
      carried: [...sub.carried, ...carried.slice(before.carried.length)],
      discount: discount === before.discount ? sub.discount : discount,
    };
  }
}

const unfinishedOf = async (tx: Tx, { pendingUpdateId }: Subscription): Promise<PendingUpdate | undefined> =>
  pendingUpdateId === '' ? undefined : tx.find(pendingUpdates, { pendingUpdateId });

/**
 * True if the next period is paid, or about to be, as a deferred change sells it: the change can only be carried out. A
 * period that was paid before a change without proration sells neither what the subscription does nor what it changes to.
 */
async function isPrepaid(tx: Tx, sub: Subscription, { effect, updateItems }: PendingUpdate): Promise<boolean> {
  const [next] = effect === 'periodEnd' ? await periodsFrom(tx, sub.subscriptionId, sub.currentPeriodEnd) : [];
  if (!next || !sellsPlan(next)) return false;
  const { lines, isTaken } = await nextLines(tx, next);
  return isTaken && !sellsItems(pricedFrom(sub, next.startAt), lines) && sellsQuantities(updateItems, lines);
}

/**
 * The present period ends with the change, later ones are void, and a full one begins, after it the free time that was
 * appended. Returns the seconds of the latter.
 */
async function restartPeriods(
  tx: Tx,
  sub: Subscription,
  { start, end }: ServicePeriod,
  invoiceId: string,
): Promise<number> {
  const { subscriptionId, userId } = sub;
  const rows = await periodsFrom(tx, subscriptionId, start);
  const freeSeconds = freeSecondsFrom(rows, start);
  for (const row of rows) {
    if (row.startAt < start) endPeriod(tx, row, start);
    else await voidPeriod(tx, row);
  }
  const own = { subscriptionId, userId, state: 'paid' } as const;
  const full = { ...own, kind: 'cycle', startAt: start, endAt: end, invoiceId } as const;
  const free = { ...own, kind: 'free', startAt: end, endAt: end + freeSeconds, invoiceId: '' } as const;
  await addPeriod(tx, full, ...(freeSeconds > 0 ? [free] : []));
  return freeSeconds;
}

/** Another interval that begins no new period counts its periods from the end of what is paid. */
const anchored = async (tx: Tx, sub: Subscription, after: Subscription): Promise<Subscription> =>
  hasSameInterval(sub, after)
    ? after
    : withNewAnchor(sub, after, await periodsFrom(tx, sub.subscriptionId, sub.currentPeriodEnd));

/** Records that a change took effect. */
export function finishUpdate(tx: Tx, update: PendingUpdate): PendingUpdate {
  const finished = { ...update, status: 'finished', paid: true, modifyTime: tx.now } as const;
  tx.step(pendingUpdateAggregate, finished, 'subscription.pending_update.success');
  return finished;
}

const creditedLineIds = ({ lines }: InvoiceState): string[] =>
  lines.flatMap(({ sourceLineId }) => (sourceLineId === '' ? [] : [sourceLineId]));

/** The next period's invoice is charged again, which was held while a change might replace it. */
async function releaseNext(tx: Tx, { subscriptionId, currentPeriodEnd }: Subscription): Promise<void> {
  const [next] = await periodsFrom(tx, subscriptionId, currentPeriodEnd);
  if (next?.state === 'open' && next.invoiceId !== '') resumeCollecting(tx, next.invoiceId);
}

/** Cancels a change whose invoice, if it has one, has ended: the lines that it set off are unbilled again. */
async function discard(tx: Tx, sub: Subscription, update: PendingUpdate): Promise<void> {
  const cancelled = { ...update, status: 'cancelled', modifyTime: tx.now } as const;
  // at once: the unique index has to see it before the change that supersedes it
  await tx.saveNow(pendingUpdates, cancelled);
  tx.step(pendingUpdateAggregate, cancelled, 'subscription.pending_update.cancelled');
  if (update.effect === 'now') await releaseNext(tx, sub);
  const carried = [...(updateTermsOf(update).carried ?? []), ...sub.carried];
  tx.step(subscriptionAggregate, { ...sub, carried, pendingUpdateId: '', modifyTime: tx.now }, 'subscription.updated');
}
