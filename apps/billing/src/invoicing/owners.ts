import { Injectable } from '@nestjs/common';
import type { ErrorSlug } from '@recur/kernel';
import type { Tx, Where } from '@recur/platform';
import { invoiceAggregate } from './aggregates.js';
import type { InvoiceState } from './state.js';
import { type InvoiceRow, invoices } from './tables.js';

/** Effects of the owner of invoices of one bizType when they end. It runs in the same transaction, under their locks. */
export interface InvoiceOwner {
  /** Locks what belongs to the owner and comes before its invoices in the order of locks. */
  lock?(tx: Tx, invoice: InvoiceRow): Promise<void>;
  paid(tx: Tx, invoice: InvoiceState): Promise<void>;
  failed(tx: Tx, invoice: InvoiceState): Promise<void>;
  cancelled(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** The whole payment was taken back by the bank. */
  reversed?(tx: Tx, invoice: InvoiceState): Promise<void>;
}

/** The owners of invoices, by bizType. Owners register when the service starts. */
@Injectable()
export class InvoiceOwners {
  private readonly owners = new Map<number, InvoiceOwner>();

  register(bizType: number, owner: InvoiceOwner): void {
    if (this.owners.has(bizType)) throw new Error(`invoices of bizType ${bizType} have an owner`);
    this.owners.set(bizType, owner);
  }

  /** Locks an invoice that may end, after what its owner locks before it. Throws Rejected(slug). */
  async lock(tx: Tx, where: Where<InvoiceRow>, slug: ErrorSlug): Promise<InvoiceState> {
    // an invoice never changes its owner, so this may be read before the locks
    const found = await tx.find(invoices, where);
    if (found) await this.owners.get(found.bizType)?.lock?.(tx, found);
    return tx.lock(invoiceAggregate, where, slug);
  }

  async tell(end: 'paid' | 'failed' | 'cancelled' | 'reversed', tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.owners.get(invoice.bizType)?.[end]?.(tx, invoice);
  }
}
