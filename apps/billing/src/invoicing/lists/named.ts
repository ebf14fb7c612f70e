import type { Invoice } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { refunds } from '../refunds/tables.js';
import { payments } from '../tables.js';
import { invoicesById } from './details.js';

/** Ids of the invoices and credit notes with a number ($2), or with the digits of one ($3), newest first. */
const numberedText = `select invoice_id from invoices where merchant_id = $1 and number <> '' and number = $2
  union all select invoice_id from invoices where merchant_id = $1 and kind in ('invoice', 'credit_note')
    and counter > 0 and counter = $3 limit 20`;

/** The finished invoices and credit notes with this number or digits of one, or the document with this id. */
export async function invoicesNamed(reader: Reader, key: string): Promise<Invoice[]> {
  const ids = key.startsWith('in_') ? [key] : await numbered(reader, key);
  const found = await invoicesById(reader, ids);
  return [...found.values()].sort((one, other) => other.createTime - one.createTime || other.id - one.id);
}

async function numbered(reader: Reader, key: string): Promise<string[]> {
  // numbers end in their digits; 18 of these are within a bigint
  if (!/\d$/.test(key)) return [];
  const counter = /^\d{1,18}$/.test(key) ? key : null;
  return (await reader.query(numberedText, [reader.merchantId, key, counter])).map(row => String(row.invoice_id));
}

/** Kind, invoice and user of the payment or refund with this id; undefined where there is none. */
export async function moneyNamed(reader: Reader, key: string) {
  if (key.startsWith('pay_')) return shown('payment', await reader.find(payments, { paymentId: key }));
  if (key.startsWith('re_')) return shown('refund', await reader.find(refunds, { refundId: key }));
  return undefined;
}

const shown = <T extends string>(type: T, row: { invoiceId: string; userId: number } | undefined) =>
  row && { type, invoiceId: row.invoiceId, userId: row.userId };
