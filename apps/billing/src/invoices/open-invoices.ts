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

/** The name of an invoice while it is a draft; undefined once it is not. */
export async function draftNameOf(reader: Reader, invoiceId: string): Promise<string | undefined> {
  const [row] = await reader.query(
    `select invoice_name from invoices
     where merchant_id = $1 and invoice_id = $2 and status = 'pending' and deleted_time = 0`,
    [reader.merchantId, invoiceId],
  );
  return row && String(row.invoice_name);
}

/** True while the money of an open invoice of a subscription may be taken: a charge or capture awaits its outcome. */
export async function isAwaited(reader: Reader, subscriptionId: string): Promise<boolean> {
  const rows = await reader.query(
    `select 1 from invoices i join payments p on p.merchant_id = i.merchant_id and p.payment_id = i.payment_id
     where i.merchant_id = $1 and i.subscription_id <> '' and i.subscription_id = $2 and i.kind = 'invoice'
       and i.status = 'processing' and p.status = 'created'
       and (p.outcome in ('sending', 'unknown') or p.capture_id <> '') limit 1`,
    [reader.merchantId, subscriptionId],
  );
  return rows.length > 0;
}
