import type { Tx } from '@recur/platform';
import { paymentAggregate } from '../aggregates.js';
import type { Payment } from '../domain/payment.js';
import type { InvoiceOwners } from '../owners.js';
import type { InvoiceState } from '../state.js';
import { payments } from '../tables.js';

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
