import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { InvoiceState } from './state.js';

/**
 * Occasions on which a user is told about a document: it was issued (and is to be paid), paid, or credited; a charge failed
 * or must be confirmed by the user; its term is about to end.
 */
export type Occasion = 'issued' | 'paid' | 'credited' | 'paymentFailed' | 'needsAction' | 'lastNotice';

/** Facts of a notice, where they are not those of the invoice. */
export interface NoticeFacts {
  /** Where to pay, or to confirm a payment. */
  link?: string;
}

/** Writes a notice in the transaction of what it tells. */
export type Notifier = (tx: Tx, occasion: Occasion, document: InvoiceState, facts: NoticeFacts) => Promise<void>;

/** Notices to users about their documents. The wing that writes e-mails registers itself when the service starts. */
@Injectable()
export class Notices {
  private notifier: Notifier = async () => {};

  register(notifier: Notifier): void {
    this.notifier = notifier;
  }

  tell(tx: Tx, occasion: Occasion, document: InvoiceState, facts: NoticeFacts = {}): Promise<void> {
    return this.notifier(tx, occasion, document, facts);
  }
}
