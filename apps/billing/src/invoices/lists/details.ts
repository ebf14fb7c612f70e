import type { CodeTable, Invoice, PaymentDetail, PortalCollecting } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Condition, Reader } from '@recur/platform';
import { usersById } from '../../customers/users.js';
import { gatewaysById } from '../../gateways/gateway-index.js';
import { gatewayView } from '../../gateways/views.js';
import type { Payment } from '../domain/payment.js';
import { collections, payments, refunds } from '../payment-tables.js';
import { bare, type InvoiceState, linesByInvoice } from '../state.js';
import { type InvoiceRow, invoices } from '../tables.js';
import { invoiceView, paymentView } from '../views.js';

// Views of invoices and payments with their related objects. Related rows are read once for a whole page.

/** Invoices with their lines, gateways, payments and users; credit notes with their invoices and refunds too. */
export async function invoicesOf(reader: Reader, rows: readonly InvoiceRow[]): Promise<Invoice[]> {
  const invoiceIds = rows.map(row => row.invoiceId);
  const paymentIds = rows.map(row => row.paymentId).filter(id => id !== '');
  const userIds = rows.map(row => row.userId);
  const originalIds = rows.map(row => row.originalInvoiceId).filter(id => id !== '');
  const refundIds = rows.map(row => row.refundId).filter(id => id !== '');
  const [lines, gateways, paymentsById, users, originals, refundsById] = await Promise.all([
    linesByInvoice(reader, invoiceIds),
    gatewaysById(reader),
    reader.among(payments, 'paymentId', paymentIds).then(found => byProperty('paymentId', found)),
    usersById(reader, userIds),
    reader.among(invoices, 'invoiceId', originalIds).then(found => byProperty('invoiceId', found)),
    reader.among(refunds, 'refundId', refundIds).then(found => byProperty('refundId', found)),
  ]);
  return rows.map(row => {
    const original = originals.get(row.originalInvoiceId);
    return invoiceView({
      ...row,
      lines: lines.get(row.invoiceId) ?? [],
      gateway: gateways.get(row.gatewayId),
      payment: paymentsById.get(row.paymentId),
      original: original && bare(original),
      refund: refundsById.get(row.refundId),
      user: users.get(row.userId),
    });
  });
}

/** An invoice and its credit notes, the newest first. Throws Rejected `invoice_not_found`. */
export async function invoiceWithNotes(reader: Reader, invoiceId: string) {
  const row = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
  const notes = await reader.all(invoices, { originalInvoiceId: invoiceId }, 'order by create_time desc, id desc');
  const [invoice, ...creditNotes] = await invoicesOf(reader, [row, ...notes]);
  return { creditNotes, invoice: invoice as Invoice };
}

/** Invoices by id, as the API shows them; '' and ids without an invoice are left out. */
export async function invoicesById(reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, Invoice>> {
  const rows = await reader.among(
    invoices,
    'invoiceId',
    ids.filter(id => id !== ''),
  );
  return byProperty('invoiceId', await invoicesOf(reader, rows));
}

/**
 * An invoice or credit note that was finished; `row` is without what the API shows of it. Throws Rejected
 * `invoice_not_found` or `invoice_is_draft`.
 */
export async function finishedDocument(
  reader: Reader,
  invoiceId: string,
): Promise<{ row: InvoiceRow; invoice: Invoice }> {
  const row = await reader.get(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
  // the credit note of a refund is finished when the refund succeeds
  if (row.status === 'pending' || (row.kind === 'credit_note' && row.number === '')) {
    throw new Rejected('invoice_is_draft');
  }
  const [invoice] = await invoicesOf(reader, [row]);
  return { row, invoice: invoice as Invoice };
}

/** Payments with their invoices, gateways and users. */
export async function paymentDetailsOf(reader: Reader, rows: readonly Payment[]): Promise<PaymentDetail[]> {
  const invoiceIds = rows.map(row => row.invoiceId);
  const userIds = rows.map(row => row.userId);
  const [lines, gateways, invoicesById, users] = await Promise.all([
    linesByInvoice(reader, invoiceIds),
    gatewaysById(reader),
    reader.among(invoices, 'invoiceId', invoiceIds).then(found => byProperty('invoiceId', found)),
    usersById(reader, userIds),
  ]);
  const invoiceOf = ({ invoiceId }: Payment) => {
    const row = invoicesById.get(invoiceId);
    if (!row) return undefined;
    const parts = { lines: lines.get(invoiceId) ?? [], gateway: gateways.get(row.gatewayId), payment: undefined };
    return invoiceView({ ...row, ...parts });
  };
  return rows.map(row => {
    const gateway = gateways.get(row.gatewayId);
    return {
      payment: paymentView(row),
      gateway: gateway ? gatewayView(gateway) : null,
      invoice: invoiceOf(row) ?? null,
      user: users.get(row.userId) ?? null,
    };
  });
}

const byProperty = <T, K extends keyof T>(property: K, rows: readonly T[]): ReadonlyMap<T[K], T> =>
  new Map(rows.map(row => [row[property], row]));

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
  if (key.startsWith('pay_')) return namedInvoice('payment', await reader.find(payments, { paymentId: key }));
  if (key.startsWith('re_')) return namedInvoice('refund', await reader.find(refunds, { refundId: key }));
  return undefined;
}

const namedInvoice = <T extends string>(type: T, row: { invoiceId: string; userId: number } | undefined) =>
  row && { type, invoiceId: row.invoiceId, userId: row.userId };

/** Names of the codes; unknown codes are dropped, so a filter by them matches nothing. */
export const namesOfCodes = (table: CodeTable, codes: readonly number[] | undefined): string[] | undefined =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] ?? Number.NaN));

/** How an open invoice is collected, as its user sees it; null for one that is not open. */
export async function collectingOf(reader: Reader, invoice: InvoiceState): Promise<PortalCollecting | null> {
  const { invoiceId, status, deadline, payment } = invoice;
  if (status !== 'processing') return null;
  const collection = await reader.find(collections, { invoiceId });
  const { automatic = false, nextTime = 0, attempts = 0, failures = 0 } = collection ?? {};
  const awaitsUser = payment?.status === 'created' && payment.outcome === 'action';
  return {
    deadline,
    automatic,
    nextAttemptTime: nextTime,
    attempts,
    failures,
    actionUrl: awaitsUser ? payment.link : '',
    announcedTime: payment?.announcedTime ?? 0,
  };
}

/** Matches an id, a number or its digits, or the beginning of a name; each of them has an index. */
export function matching(key: string | undefined): Condition {
  if (key === undefined) return ['', undefined];
  if (/^in_[0-9a-z]{26}$/.test(key)) return ['invoice_id = ?', key];
  // 18 digits are within a bigint
  if (/^\d{1,18}$/.test(key)) return ['counter > 0 and counter = ?::bigint', key];
  if (/\d{6}$/.test(key)) return [`number <> '' and number = ?`, key];
  return [`invoice_name <> '' and invoice_name >= ?::text and invoice_name < ?::text || chr(1114111)`, key];
}
