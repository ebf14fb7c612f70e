import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { releasePeriod } from '../../invoicing/composed/replace.js';
import { endLines } from '../../invoicing/composed/sold-lines.js';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import type { InvoiceState } from '../../invoicing/state.js';
import type { Stretch } from '../../pricing/proration.js';
import { subscriptionAggregate } from '../aggregate.js';
import { restarted, updated } from '../domain/apply-change.js';
import type { Subscription } from '../domain/subscription.js';
import { SubscriptionInvoices } from '../owner.js';
import { addPeriod, endPeriod, periodsFrom, voidPeriod } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { pendingUpdateAggregate } from './aggregate.js';
import { type PendingUpdate, pendingUpdates } from './tables.js';
import { updateTermsOf } from './update-terms.js';

/**
 * The ends of changes: a paid one takes effect, an unpaid one lapses, another one supersedes it. The subscription is
 * locked, then the change, then its invoice.
 */
@Injectable()
export class ChangeEffects {
  constructor(
    private readonly endings: InvoiceEndings,
    private readonly invoiceOwners: InvoiceOwners,
    owner: SubscriptionInvoices,
  ) {
    owner.register(['upgrade', 'downgrade'], {
      paid: async (tx, { sub, invoice }) => {
        const update = await this.updateOf(tx, sub, invoice);
        if (update) await this.takeEffect(tx, sub, update, sourcesOf(invoice));
      },
      failed: (tx, { sub, invoice }) => this.unpaid(tx, sub, invoice),
      // a change that is not paid in time lapses, and its invoice with it
      lapses: async (tx, { sub, invoice }) => (await this.updateOf(tx, sub, invoice)) !== undefined,
      cancelled: (tx, { sub, invoice }) => this.unpaid(tx, sub, invoice),
    });
  }

  /** The change that waits for the payment of an invoice. */
  private async updateOf(tx: Tx, { pendingUpdateId }: Subscription, { invoiceId }: InvoiceState) {
    if (pendingUpdateId === '') return undefined;
    const update = await tx.lockIfAny(pendingUpdateAggregate, pendingUpdateId);
    return update?.invoiceId === invoiceId ? update : undefined;
  }

  private async unpaid(tx: Tx, sub: Subscription, invoice: InvoiceState): Promise<void> {
    const update = await this.updateOf(tx, sub, invoice);
    if (update) await drop(tx, sub, update);
  }

  /** Cancels the unfinished change of a subscription, with its invoice; returns the subscription without it. */
  async cancelPending(tx: Tx, sub: Subscription): Promise<Subscription> {
    if (sub.pendingUpdateId === '') return sub;
    const update = await tx.lockIfAny(pendingUpdateAggregate, sub.pendingUpdateId);
    if (!update) return sub;
    await this.cancel(tx, sub, update);
    return tx.lock(subscriptionAggregate, sub.subscriptionId, 'subscription_not_found');
  }

  /** Cancels the change that waits for the end of the period; returns the subscription without it. */
  async cancelDeferred(tx: Tx, sub: Subscription): Promise<Subscription> {
    if (sub.pendingUpdateId === '') return sub;
    const update = await tx.find(pendingUpdates, { pendingUpdateId: sub.pendingUpdateId });
    return update?.effectImmediate === 0 ? this.cancelPending(tx, sub) : sub;
  }

  /** Cancels a change that is not finished, with its invoice. */
  async cancel(tx: Tx, sub: Subscription, update: PendingUpdate): Promise<void> {
    const { invoiceId } = update;
    const invoice = invoiceId && (await this.invoiceOwners.lock(tx, { invoiceId }, 'invoice_not_found'));
    // cancelling its invoice cancels it
    if (invoice && invoice.status === 'processing') await this.endings.cancel(tx, invoice);
    else await drop(tx, sub, update);
  }

  /**
   * Carries out a change: the subscription sells what it was changed to, lines that are credited end, and the next
   * period's open invoice is cancelled and made again by the cycle, unless the caller replaces it. `sources` are the lines
   * that the change credits.
   */
  async takeEffect(
    tx: Tx,
    sub: Subscription,
    update: PendingUpdate,
    sources: readonly string[],
    { log, keepsNext = false }: { log?: string; keepsNext?: boolean } = {},
  ): Promise<{ sub: Subscription; update: PendingUpdate }> {
    const { newPeriod, discount, gatewayId, manualPayment, taxPercentage } = updateTermsOf(update);
    const at = update.prorationDate;
    await endLines(tx, sources, at);
    if (!keepsNext) await this.withdrawNext(tx, sub);
    if (newPeriod) await restartPeriods(tx, sub, newPeriod, update.invoiceId);
    const changed = newPeriod ? restarted(updated(sub, update), newPeriod) : updated(sub, update);
    const after: Subscription = {
      ...changed,
      ...{ discount, taxPercentage, pendingUpdateId: '', modifyTime: tx.now },
      gatewayId: gatewayId || sub.gatewayId,
      manualPayment: manualPayment || sub.manualPayment,
      latestInvoiceId: update.invoiceId || sub.latestInvoiceId,
    };
    const finished = finish(tx, update);
    tx.step(subscriptionAggregate, after, 'subscription.updated', { log });
    scheduleNext(tx, after);
    return { sub: after, update: finished };
  }

  /** Cancels the open invoice of the next period, and voids that period: the cycle makes both again. */
  async withdrawNext(tx: Tx, { subscriptionId, currentPeriodEnd }: Subscription): Promise<void> {
    for (const row of await periodsFrom(tx, subscriptionId, currentPeriodEnd)) {
      if (row.state !== 'open' || row.invoiceId === '') continue;
      const { invoiceId } = row;
      const invoice = await this.invoiceOwners.lock(tx, { invoiceId }, 'invoice_not_found');
      await voidPeriod(tx, row);
      if (invoice.status !== 'processing') continue;
      await releasePeriod(tx, invoiceId);
      await this.endings.cancel(tx, invoice);
    }
  }
}

/** The present period ends with the change, later ones are void, and a full one begins. */
async function restartPeriods(tx: Tx, sub: Subscription, { start, end }: Stretch, invoiceId: string): Promise<void> {
  const { subscriptionId, userId } = sub;
  for (const row of await periodsFrom(tx, subscriptionId, start)) {
    if (row.startAt < start) endPeriod(tx, row, start);
    else await voidPeriod(tx, row);
  }
  await addPeriod(tx, { subscriptionId, userId, kind: 'cycle', startAt: start, endAt: end, invoiceId, state: 'paid' });
}

/** Records that a change took effect. */
export function finish(tx: Tx, update: PendingUpdate): PendingUpdate {
  const finished = { ...update, status: 'finished', paid: true, modifyTime: tx.now } as const;
  tx.step(pendingUpdateAggregate, finished, 'subscription.pending_update.success');
  return finished;
}

const sourcesOf = ({ lines }: InvoiceState): string[] =>
  lines.flatMap(({ sourceLineId }) => (sourceLineId === '' ? [] : [sourceLineId]));

/** Cancels a change whose invoice, if it has one, has ended. */
async function drop(tx: Tx, sub: Subscription, update: PendingUpdate): Promise<void> {
  // at once: the unique index has to see it before the change that supersedes it
  await tx.run(
    `update subscription_pending_updates set status = 'cancelled' where merchant_id = $1 and pending_update_id = $2`,
    [tx.merchantId, update.pendingUpdateId],
  );
  const cancelled = { ...update, status: 'cancelled', modifyTime: tx.now } as const;
  tx.step(pendingUpdateAggregate, cancelled, 'subscription.pending_update.cancelled');
  tx.step(subscriptionAggregate, { ...sub, pendingUpdateId: '', modifyTime: tx.now }, 'subscription.updated');
}
