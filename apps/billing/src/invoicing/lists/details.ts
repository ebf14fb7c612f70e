import type { Invoice, PaymentDetail } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { usersById } from '../../customers/users.js';
import { gatewaysById } from '../../gateways/lookup.js';
import { gatewayView } from '../../gateways/views.js';
import type { Payment } from '../domain/payment.js';
import { refunds } from '../refunds/tables.js';
import { bare, linesByInvoice } from '../state.js';
import { type InvoiceRow, invoices, payments } from '../tables.js';
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
    reader.among(payments, 'paymentId', paymentIds).then(found => by('paymentId', found)),
    usersById(reader, userIds),
    reader.among(invoices, 'invoiceId', originalIds).then(found => by('invoiceId', found)),
    reader.among(refunds, 'refundId', refundIds).then(found => by('refundId', found)),
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
  return by('invoiceId', await invoicesOf(reader, rows));
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
    reader.among(invoices, 'invoiceId', invoiceIds).then(found => by('invoiceId', found)),
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

const by = <T, K extends keyof T>(property: K, rows: readonly T[]): ReadonlyMap<T[K], T> =>
  new Map(rows.map(row => [row[property], row]));
