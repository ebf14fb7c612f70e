import type { Reader } from '@recur/platform';

/** Ids of the open invoices of a subscription, in the order of locks. */
export async function openInvoicesOf(reader: Reader, subscriptionId: string): Promise<string[]> {
  const rows = await reader.query(
    `select invoice_id from invoices where merchant_id = $1 and subscription_id <> '' and subscription_id = $2
       and kind = 'invoice' and status = 'processing' order by invoice_id`,
    [reader.merchantId, subscriptionId],
  );
  return rows.map(row => String(row.invoice_id));
}

/** The live invoice of a period of a subscription that begins at `from` or later: a draft or an open one; the earliest. */
export async function nextInvoiceOf(reader: Reader, subscriptionId: string, from: number): Promise<string | undefined> {
  const [row] = await reader.query(
    `select invoice_id from invoices where merchant_id = $1 and subscription_id <> '' and subscription_id = $2
       and kind = 'invoice' and period_kind <> '' and period_start >= $3 and status in ('pending', 'processing')
       and deleted_time = 0
     order by period_start, id limit 1`,
    [reader.merchantId, subscriptionId, from],
  );
  return row && String(row.invoice_id);
}
