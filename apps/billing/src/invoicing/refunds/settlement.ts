import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { Refund } from '../domain/refund.js';
import { Notices } from '../finish/notices.js';
import { InvoiceOwners } from '../owners.js';
import type { InvoiceState } from '../state.js';
import type { RefundRequest, RefundWithDocuments } from './book.js';
import { makeRefund } from './make.js';
import { type RefundOutcome, settledRefund } from './settle.js';

/** Makes and settles refunds, and tells those whom it concerns: the invoice's owner, and the user. */
@Injectable()
export class RefundSettlement {
  constructor(
    private readonly owners: InvoiceOwners,
    private readonly notices: Notices,
  ) {}

  /** Locks an invoice after what its owner locks before it, to end what it bills. Throws Rejected `invoice_not_found`. */
  lock(tx: Tx, invoiceId: string): Promise<InvoiceState> {
    return this.owners.lock(tx, { invoiceId, kind: 'invoice', deletedTime: 0 }, 'invoice_not_found');
  }

  /** Makes a refund of a locked invoice. `endsOwner`: what the invoice bills is to end. Throws what `makeRefund` does. */
  async make(tx: Tx, invoice: InvoiceState, request: RefundRequest, endsOwner = false): Promise<Refund> {
    const { refund, note } = await makeRefund(tx, invoice, request);
    if (endsOwner) await this.owners.tell('ended', tx, invoice);
    if (note) await this.notices.tell(tx, 'credited', note);
    return refund;
  }

  /** Settles a refund. Throws what `settledRefund` does. */
  async settle(tx: Tx, locked: RefundWithDocuments, outcome: RefundOutcome, log?: string): Promise<Refund> {
    const { refund, note } = await settledRefund(tx, locked, outcome, log);
    if (note) await this.notices.tell(tx, 'credited', note);
    return refund;
  }
}
