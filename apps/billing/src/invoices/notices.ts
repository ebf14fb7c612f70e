import type { Tx } from '@recur/platform';
import type { InvoiceState } from './state.js';

/**
 * Occasions on which a user is told about a document: it was issued (and is to be paid), paid, or credited; a charge failed
 * or must be confirmed by the user; its term is about to end.
 */
export type Occasion = 'issued' | 'paid' | 'credited' | 'paymentFailed' | 'needsAction' | 'lastNotice';

/** Parts of a notice, where they are not those of the invoice. */
export interface NoticeParts {
  /** Where to pay, or to confirm a payment. */
  link?: string;
}

/** Notices to users about their documents, which the wing that writes e-mails implements. */
export abstract class CustomerNotices {
  /** Writes a notice in the transaction of what it tells. */
  abstract notify(tx: Tx, occasion: Occasion, document: InvoiceState, parts?: NoticeParts): Promise<void>;
}
