import type { Tx } from '@recur/platform';
import { type CollectionTerms, newCollection } from '../domain/dunning.js';
import type { Invoice } from '../domain/invoice.js';
import type { Payment } from '../domain/payment.js';
import { collections } from '../tables.js';

// Work that charges open invoices, and the places at which it begins. The invoice is locked.

/** Kinds of work; the key is the invoice's id for attempts, else the payment's. */
export const chargeWork = {
  ...{ attempt: 'payment.attempt', reconcile: 'payment.reconcile', capture: 'payment.capture' },
} as const;

/** The kind of work that tells the user about a charge; its key is the mail's kind and the invoice's id. */
export const COLLECTION_MAIL = 'invoice.mail';

/** Schedules the automatic attempts of an invoice that was finished. */
export function startCollecting(tx: Tx, invoice: Invoice, terms: CollectionTerms): void {
  const collection = newCollection(invoice, terms, tx.now);
  tx.save(collections, collection);
  if (collection.nextTime > 0) tx.schedule(chargeWork.attempt, invoice.invoiceId, collection.nextTime);
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

/** Tells the user about a charge, once its transaction has committed. */
export const tellUser = (
  tx: Tx,
  kind: 'payment_failed' | 'needs_action' | 'last_notice',
  invoiceId: string,
  at: number,
) => tx.schedule(COLLECTION_MAIL, `${kind} ${invoiceId}`, at);
