import type { Tx } from '@recur/platform';
import type { InvoiceState } from './state.js';

/**
 * Occasions on which a user is told about a document: it was issued (and is to be paid), paid, or credited; a charge failed
 * or must be confirmed by the user; its term is about to end.
 */
export type NotificationKind = 'issued' | 'paid' | 'credited' | 'paymentFailed' | 'needsAction' | 'lastNotice';

/** Parts of a notice, where they are not those of the invoice. */
export interface NotificationParts {
  /** Where to pay, or to confirm a payment. */
  link?: string;
}

/** Notices to users about their documents, which the wing that writes e-mails implements. */
export abstract class CustomerNotifications {
  /** Writes a notice in the transaction of what it tells. */
  abstract notify(tx: Tx, occasion: NotificationKind, document: InvoiceState, parts?: NotificationParts): Promise<void>;
}
