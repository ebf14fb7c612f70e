import type { Db } from '@recur/platform';

/**
 * The merchant and invoice behind the token of a payment link, of whichever payment it was the link; undefined for an
 * unknown one. invoice_links belongs to no merchant's rows, since whoever follows a link names none; a trigger fills it.
 */
export async function invoiceOfLink(
  db: Db,
  token: string,
): Promise<{ merchantId: number; invoiceId: string } | undefined> {
  const text = `select merchant_id, invoice_id from invoice_links where token_hash = sha256(convert_to($1::text, 'UTF8'))`;
  const [row] = await db.infra(text, [token]);
  return row && { merchantId: Number(row.merchant_id), invoiceId: String(row.invoice_id) };
}
