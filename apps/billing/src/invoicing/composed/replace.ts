import type { Tx } from '@recur/platform';

/**
 * Frees the period of an open invoice that this transaction cancels: the unique index has to see it before the invoice
 * that replaces it. The caller has locked it.
 */
export async function releasePeriod(tx: Tx, invoiceId: string): Promise<void> {
  await tx.run(`update invoices set status = 'cancelled' where merchant_id = $1 and invoice_id = $2`, [
    tx.merchantId,
    invoiceId,
  ]);
}
