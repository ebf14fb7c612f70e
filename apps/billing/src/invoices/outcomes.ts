import type { ErrorSlug } from '@recur/kernel';
import type { Reader, Tx, Where } from '@recur/platform';
import type { Payment } from './domain/payment.js';
import { payments } from './payment-tables.js';
import type { InvoiceState } from './state.js';
import { type InvoiceRow, invoices } from './tables.js';
import { invoiceAggregate, paymentAggregate } from './views.js';

export type { InvoiceRow };

/**
 * The consequences of an invoice for what it sells, in the same transaction and under its locks. `subscriptions/outcomes.ts`
 * is their table: a wing above this one, whose class stands for this one.
 */
export abstract class InvoiceOutcomes {
  /** Locks what an invoice sells and comes before it in the order of locks. */
  abstract lockSold(tx: Tx, invoice: InvoiceRow): Promise<void>;

  abstract paid(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** Unpaid at its deadline. */
  abstract failed(tx: Tx, invoice: InvoiceState): Promise<void>;
  abstract cancelled(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** After `cancelled`: credit, discounts and lines that it had used have come back. */
  abstract undone(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** A charge failed; the invoice stays open. */
  abstract refused(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** The outcome of its payment is awaited, or no longer: it is unknown or authorised, or the user sent a transfer. */
  abstract underWay(tx: Tx, invoice: InvoiceState, isUnderWay: boolean): Promise<void>;
  /** The bank took the whole payment back. `keep`: the merchant lets what it sells go on. */
  abstract reversed(tx: Tx, invoice: InvoiceState, options: { keep: boolean }): Promise<void>;
  /** The merchant ended, with a refund, what it sells. */
  abstract ended(tx: Tx, invoice: InvoiceState): Promise<void>;
  /** Finishes a draft of a subscription before its time. */
  abstract finish(tx: Tx, draft: InvoiceState): Promise<void>;

  /** True if an invoice that is unpaid at its deadline is cancelled with what it sells, instead of failing. */
  abstract cancelsWhenOverdue(tx: Tx, invoice: InvoiceState): Promise<boolean>;
  /** The payment method that is charged for it, before those of the user; '' for none. */
  abstract methodOf(reader: Reader, invoice: InvoiceRow): Promise<string>;
  /**
   * True while it is not charged: what it sells is to end before it begins, or to be replaced. `isAsked`: somebody asked for
   * the attempt; else it is made as scheduled, or because a method was saved.
   */
  abstract holds(tx: Tx, invoice: InvoiceRow, attempt: { isAsked: boolean }): Promise<boolean>;
  /** True while its end would void what another payment under way pays for. */
  abstract awaits(tx: Tx, invoice: InvoiceRow): Promise<boolean>;

  /** Locks an invoice that may end, after what comes before it. Throws Rejected(slug). */
  async lock(tx: Tx, where: Where<InvoiceRow>, slug: ErrorSlug): Promise<InvoiceState> {
    // an invoice never changes what it sells, so this may be read before the locks
    const found = await tx.find(invoices, where);
    if (found) await this.lockSold(tx, found);
    return tx.lock(invoiceAggregate, where, slug);
  }

  /** A payment, the invoice's current one or an earlier one, locked after its invoice; undefined for an unknown one. */
  async lockCharge(tx: Tx, paymentId: string): Promise<{ invoice: InvoiceState; payment: Payment } | undefined> {
    // a payment never changes its invoice, so this may be read before the locks
    const known = await tx.find(payments, { paymentId });
    const invoice = known && (await this.lock(tx, { invoiceId: known.invoiceId }, 'invoice_not_found'));
    if (!invoice) return undefined;
    if (invoice.payment?.paymentId === paymentId) return { invoice, payment: invoice.payment };
    const payment = await tx.lockIfAny(paymentAggregate, paymentId);
    return payment && { invoice, payment };
  }

  /**
   * Locks invoices and their payments in the order of all transactions, before they are claimed or settled one by one: what
   * they sell comes first, so that whoever holds it knows that nothing is sent meanwhile.
   */
  async lockInOrder(tx: Tx, invoiceIds: readonly string[]): Promise<void> {
    const found = await tx.among(invoices, 'invoiceId', invoiceIds);
    const ofSubscriptions = found.filter(({ subscriptionId }) => subscriptionId !== '');
    for (const invoice of ofSubscriptions.sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1))) {
      await this.lockSold(tx, invoice);
    }
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
}
