import type { Tx } from '@recur/platform';
import { releaseReserved } from '../codes.js';
import { activated, ended, hasEnded, moved } from '../domain/subscription.js';
import { tellIfLast } from '../ends.js';
import { type InvoiceOutcome, markPeriod } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionAggregate } from '../views.js';

/** The first invoice is paid: its subscription is active. */
export async function activateOnPayment(tx: Tx, { sub, invoice }: InvoiceOutcome): Promise<void> {
  if (hasEnded(sub.status)) return;
  const active = activated(sub, tx.now);
  await markPeriod(tx, invoice, 'paid');
  tx.step(subscriptionAggregate, active, 'subscription.activated');
  scheduleNext(tx, active, sub);
}

/** The first invoice has ended unpaid, and its subscription ends with it. */
export async function endNeverPaid(tx: Tx, { sub, invoice }: InvoiceOutcome, move: 'fail' | 'cancel'): Promise<void> {
  // an invoice that was replaced by another for the same period ends nothing
  if (sub.latestInvoiceId !== invoice.invoiceId && !hasEnded(sub.status)) return;
  await markPeriod(tx, invoice, 'unpaid');
  if (hasEnded(sub.status)) return;
  const isFailure = move === 'fail';
  const reason = isFailure ? 'The first invoice was not paid in time' : 'The first invoice was cancelled';
  await releaseReserved(tx, sub);
  const over = ended(sub, move, reason, tx.now);
  tx.step(subscriptionAggregate, over, isFailure ? 'subscription.failed' : 'subscription.cancelled');
  await tellIfLast(tx, over, sub);
  scheduleNext(tx, over, sub);
}

/** A subscription that was never paid is processing while the outcome of its first payment is awaited. */
export function markUnderWay(tx: Tx, { sub }: InvoiceOutcome, isUnderWay: boolean): void {
  if (sub.status !== (isUnderWay ? 'pending' : 'processing')) return;
  tx.step(subscriptionAggregate, moved(sub, isUnderWay ? 'process' : 'refuse', tx.now), 'subscription.updated');
}
