import type { Reader, Tx } from '@recur/platform';
import { reminderTime } from './domain/deadlines.js';
import { type Collection, type CollectionTerms, newCollection } from './domain/dunning.js';
import type { Invoice } from './domain/invoice.js';
import type { Payment } from './domain/payment.js';
import { collections } from './payment-tables.js';

// Work that charges open invoices, and the places at which it begins. The invoice is locked.

/** Kinds of work; the key is the invoice's id for attempts, else the payment's. */
export const chargeWork = {
  attempt: 'payment.attempt',
  reconcile: 'payment.reconcile',
  capture: 'payment.capture',
} as const;

/** The kind of work that tells the user of a deadline that is near; the key is the invoice's id. */
export const PAYMENT_REMINDER = 'invoice.last_notice';

/** Schedules the automatic attempts of an invoice that was finished, and the last notice. Returns how it is collected. */
export function startCollecting(tx: Tx, invoice: Invoice, terms: CollectionTerms): Collection {
  const collection = newCollection(invoice, terms, tx.now);
  tx.save(collections, collection);
  if (collection.nextTime > 0) tx.schedule(chargeWork.attempt, invoice.invoiceId, collection.nextTime);
  announceDeadline(tx, invoice.invoiceId, invoice.deadline, terms.periodStart);
  return collection;
}

/** Goes on with the automatic attempts of an open invoice that was held; those that were due are made at once. */
export const resumeCollecting = (tx: Tx, invoiceId: string): void => tx.schedule(chargeWork.attempt, invoiceId, tx.now);

/** Unix second of the last attempt to charge an invoice; 0 if there was none. */
export const lastAttempt = async (reader: Reader, invoiceId: string): Promise<number> =>
  (await reader.find(collections, { invoiceId }))?.lastTime ?? 0;

/** Schedules an attempt at once, beside those of the schedule. */
export async function tryNow(tx: Tx, invoice: Invoice): Promise<void> {
  const { invoiceId } = invoice;
  const known = await tx.lockIfAny(collections, { invoiceId });
  const collection = known ?? { ...newCollection(invoice, {}, tx.now), nextTime: 0 };
  tx.save(collections, { ...collection, tryNow: true });
  tx.schedule(chargeWork.attempt, invoiceId, tx.now);
}

const sendingSeconds = 60;

/** Ends the charge of a payment that is no longer open, if one may be under way at its gateway. */
export function releaseCharge(tx: Tx, { paymentId, outcome }: Payment): void {
  if (outcome === '') return;
  tx.schedule(chargeWork.reconcile, paymentId, outcome === 'sending' ? tx.now + sendingSeconds : tx.now);
}

/** Schedules the last notice before the deadline, where there is time for one. */
export function announceDeadline(tx: Tx, invoiceId: string, deadline: number, periodStart = 0): void {
  const at = reminderTime(deadline, periodStart);
  if (at > tx.now && at < deadline) tx.schedule(PAYMENT_REMINDER, invoiceId, at);
}
