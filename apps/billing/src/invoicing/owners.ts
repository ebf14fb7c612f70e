import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { InvoiceState } from './state.js';

/** Effects of the owner of invoices of one bizType when they end. It runs in the same transaction, under their locks. */
export interface InvoiceOwner {
  paid(tx: Tx, invoice: InvoiceState): Promise<void>;
  failed(tx: Tx, invoice: InvoiceState): Promise<void>;
  cancelled(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** The whole payment was taken back by the bank; what the invoice bills ends, unless the merchant keeps it. */
  reversed?(tx: Tx, invoice: InvoiceState, facts: { keep: boolean }): Promise<void>;
  /** The merchant asked, with a refund, to end what the invoice bills. */
  ended?(tx: Tx, invoice: InvoiceState): Promise<void>;
}

/** Ends that owners are told without further facts. */
type PlainEnd = Exclude<keyof InvoiceOwner, 'reversed'>;

/** The owners of invoices, by bizType. Owners register when the service starts. */
@Injectable()
export class InvoiceOwners {
  private readonly owners = new Map<number, InvoiceOwner>();

  register(bizType: number, owner: InvoiceOwner): void {
    if (this.owners.has(bizType)) throw new Error(`invoices of bizType ${bizType} have an owner`);
    this.owners.set(bizType, owner);
  }

  async tell(end: PlainEnd, tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.owners.get(invoice.bizType)?.[end]?.(tx, invoice);
  }

  async tellReversed(tx: Tx, invoice: InvoiceState, facts: { keep: boolean }): Promise<void> {
    await this.owners.get(invoice.bizType)?.reversed?.(tx, invoice, facts);
  }
}
