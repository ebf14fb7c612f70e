import type { Reader, Tx } from '@recur/platform';
import { type CollectionTerms, lastNoticeTime, newCollection } from '../domain/dunning.js';
import type { Invoice } from '../domain/invoice.js';
import type { Payment } from '../domain/payment.js';
import { collections, invoices } from '../tables.js';

// Work that charges open invoices, and the places at which it begins. The invoice is locked.

/** Kinds of work; the key is the invoice's id for attempts, else the payment's. */
export const chargeWork = {
  ...{ attempt: 'payment.attempt', reconcile: 'payment.reconcile', capture: 'payment.capture' },
} as const;

/** The kind of work that tells the user about a charge; its key is the mail's kind and the invoice's id. */
export const COLLECTION_MAIL = 'invoice.mail';

/** Schedules the automatic attempts of an invoice that was finished, and the last notice. */
export function startCollecting(tx: Tx, invoice: Invoice, terms: CollectionTerms): void {
  const collection = newCollection(invoice, terms, tx.now);
  tx.save(collections, collection);
  if (collection.nextTime > 0) tx.schedule(chargeWork.attempt, invoice.invoiceId, collection.nextTime);
  announceDeadline(tx, invoice.invoiceId, invoice.deadline, terms.periodStart);
}

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

/** Occasions on which the user is told about the collection of an invoice. */
export type CollectionMail = 'payment_failed' | 'needs_action' | 'last_notice';

/** Tells the user about an open invoice at the given time. */
export const tellUser = (tx: Tx, kind: CollectionMail, invoiceId: string, at: number): void =>
  tx.schedule(COLLECTION_MAIL, `${kind} ${invoiceId}`, at);

/** The occasion and invoice of an item of that work. */
export function mailOfKey(key: string): { kind: CollectionMail; invoiceId: string } {
  const [kind = '', invoiceId = ''] = key.split(' ');
  return { kind: kind as CollectionMail, invoiceId };
}

/** Schedules the last notice before the deadline, where there is time for one. */
export function announceDeadline(tx: Tx, invoiceId: string, deadline: number, periodStart = 0): void {
  const at = lastNoticeTime(deadline, periodStart);
  if (at > tx.now && at < deadline) tellUser(tx, 'last_notice', invoiceId, at);
}

/** The unix second at which an open invoice expires; 0 for none. */
export const deadlineOf = async (reader: Reader, invoiceId: string): Promise<number> =>
  (await reader.find(invoices, { invoiceId }))?.deadline ?? 0;
