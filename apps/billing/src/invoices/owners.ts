import { Injectable } from '@nestjs/common';
import type { ErrorSlug } from '@recur/kernel';
import type { Reader, Tx, Where } from '@recur/platform';
import type { Payment } from './domain/payment.js';
import { payments } from './payment-tables.js';
import type { InvoiceState } from './state.js';
import { type InvoiceRow, invoices } from './tables.js';
import { invoiceAggregate, paymentAggregate } from './views.js';

/** Effects of the owner of invoices of one bizType when they end. It runs in the same transaction, under their locks. */
export interface InvoiceOwner {
  /** Locks what belongs to the owner and comes before its invoices in the order of locks. */
  lock?(tx: Tx, invoice: InvoiceRow): Promise<void>;
  /** Finishes a draft that the owner composed, before its time. */
  finish?(tx: Tx, invoice: InvoiceState): Promise<void>;
  paid(tx: Tx, invoice: InvoiceState): Promise<void>;
  failed(tx: Tx, invoice: InvoiceState): Promise<void>;
  cancelled(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** After `cancelled`: credit, discounts and lines that it had used have come back. */
  undone?(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** True if an invoice that is unpaid at its deadline is cancelled with what it bills, instead of failing. */
  lapses?(tx: Tx, invoice: InvoiceState): Promise<boolean>;
  /** A charge failed; the invoice stays open. */
  refused?(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** The outcome of its payment is awaited, or no longer: it is unknown or authorised, or the user sent a transfer. */
  underWay?(tx: Tx, invoice: InvoiceState, isUnderWay: boolean): Promise<void>;
  /** The payment method that is charged for it, before those of the user; '' for none. */
  methodOf?(reader: Reader, invoice: InvoiceRow): Promise<string>;
  /** True while it is not charged: what it bills is to end before it begins, or to be replaced. */
  holds?(tx: Tx, invoice: InvoiceRow, attempt: { isAsked: boolean }): Promise<boolean>;
  /** True while its end would void what another payment under way pays for. */
  awaits?(tx: Tx, invoice: InvoiceRow): Promise<boolean>;
  /** The whole payment was taken back by the bank; what the invoice bills ends, unless the merchant keeps it. */
  reversed?(tx: Tx, invoice: InvoiceState, facts: { keep: boolean }): Promise<void>;
  /** The merchant asked, with a refund, to end what the invoice bills. */
  ended?(tx: Tx, invoice: InvoiceState): Promise<void>;
}

/** Moves that owners are told without further facts. */
type PlainEnd = 'finish' | 'paid' | 'failed' | 'refused' | 'cancelled' | 'undone' | 'ended';

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

  /** Locks what the owners of invoices lock before them, in the order of its ids. */
  async lockOwners(tx: Tx, invoiceIds: readonly string[]): Promise<void> {
    const found = await tx.among(invoices, 'invoiceId', invoiceIds);
    const owned = found.filter(({ subscriptionId }) => subscriptionId !== '');
    for (const invoice of owned.sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1))) {
      await this.owners.get(invoice.bizType)?.lock?.(tx, invoice);
    }
  }

  async tell(end: PlainEnd, tx: Tx, invoice: InvoiceState): Promise<void> {
    await this.owners.get(invoice.bizType)?.[end]?.(tx, invoice);
  }

  async lapses(tx: Tx, invoice: InvoiceState): Promise<boolean> {
    return (await this.owners.get(invoice.bizType)?.lapses?.(tx, invoice)) ?? false;
  }

  async tellUnderWay(tx: Tx, invoice: InvoiceState, isUnderWay: boolean): Promise<void> {
    await this.owners.get(invoice.bizType)?.underWay?.(tx, invoice, isUnderWay);
  }

  async methodOf(reader: Reader, invoice: InvoiceRow): Promise<string> {
    return (await this.owners.get(invoice.bizType)?.methodOf?.(reader, invoice)) ?? '';
  }

  /** `isAsked`: somebody asked for the attempt; else it is made as scheduled, or because a method was saved. */
  async holds(tx: Tx, invoice: InvoiceRow, attempt: { isAsked: boolean }): Promise<boolean> {
    return (await this.owners.get(invoice.bizType)?.holds?.(tx, invoice, attempt)) ?? false;
  }

  async awaits(tx: Tx, invoice: InvoiceRow): Promise<boolean> {
    return (await this.owners.get(invoice.bizType)?.awaits?.(tx, invoice)) ?? false;
  }

  async tellReversed(tx: Tx, invoice: InvoiceState, facts: { keep: boolean }): Promise<void> {
    await this.owners.get(invoice.bizType)?.reversed?.(tx, invoice, facts);
  }
}

/** A payment, the invoice's current one or an earlier one, locked after its invoice; undefined for an unknown one. */
export async function lockCharge(
  tx: Tx,
  owners: InvoiceOwners,
  paymentId: string,
): Promise<{ invoice: InvoiceState; payment: Payment } | undefined> {
  // a payment never changes its invoice, so this may be read before the locks
  const known = await tx.find(payments, { paymentId });
  const invoice = known && (await owners.lock(tx, { invoiceId: known.invoiceId }, 'invoice_not_found'));
  if (!invoice) return undefined;
  if (invoice.payment?.paymentId === paymentId) return { invoice, payment: invoice.payment };
  const payment = await tx.lockIfAny(paymentAggregate, paymentId);
  return payment && { invoice, payment };
}

/**
 * Locks invoices and their payments in the order of all transactions, before they are claimed or settled one by one: what
 * their owners lock comes first, so that whoever holds it knows that nothing is sent meanwhile.
 */
export async function lockInOrder(tx: Tx, owners: InvoiceOwners, invoiceIds: readonly string[]): Promise<void> {
  await owners.lockOwners(tx, invoiceIds);
  // a single one is locked as it is read
  if (invoiceIds.length < 2) return;
  const values = [tx.merchantId, invoiceIds];
  await tx.query(
    'select 1 from invoices where merchant_id = $1 and invoice_id = any($2) order by invoice_id for update',
    values,
  );
  await tx.query(
    'select 1 from payments where merchant_id = $1 and invoice_id = any($2) order by payment_id for update',
    values,
  );
}
