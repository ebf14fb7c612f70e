import type { Invoice, PaymentDetail } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import type { Payment } from './domain/payment.js';
import { gateways, type InvoiceRow, invoiceLines, invoices, type LineRow, payments, users } from './tables.js';
import { gatewayView, invoiceView, paymentView } from './views.js';

// Invoices and payments as they are looked at, one or a page of them: what belongs to them is read once for all.

/** Invoices with their lines, gateways, payments and users. */
export async function invoicesOf(reader: Reader, rows: readonly InvoiceRow[]): Promise<Invoice[]> {
  const paymentIds = rows.map(row => row.paymentId).filter(id => id !== '');
  const userIds = rows.map(row => row.userId);
  const [lines, gatewaysById, paymentsById, usersById] = await Promise.all([
    linesOf(reader, rows),
    allGateways(reader),
    reader.among(payments, 'paymentId', paymentIds).then(found => by('paymentId', found)),
    reader.among(users, 'id', userIds).then(found => by('id', found)),
  ]);
  return rows.map(row => {
    const invoice = { ...row, lines: lines.get(row.invoiceId) ?? [] };
    const [gateway, payment] = [gatewaysById.get(row.gatewayId), paymentsById.get(row.paymentId)];
    return invoiceView(invoice, gateway, payment, usersById.get(row.userId)?.data);
  });
}

/** Payments with their invoices, gateways and users. */
export async function paymentDetailsOf(reader: Reader, rows: readonly Payment[]): Promise<PaymentDetail[]> {
  const invoiceIds = rows.map(row => row.invoiceId);
  const userIds = rows.map(row => row.userId);
  const [lines, gatewaysById, invoicesById, usersById] = await Promise.all([
    linesOf(reader, rows),
    allGateways(reader),
    reader.among(invoices, 'invoiceId', invoiceIds).then(found => by('invoiceId', found)),
    reader.among(users, 'id', userIds).then(found => by('id', found)),
  ]);
  const invoiceOf = ({ invoiceId }: Payment) => {
    const row = invoicesById.get(invoiceId);
    return row && invoiceView({ ...row, lines: lines.get(invoiceId) ?? [] }, gatewaysById.get(row.gatewayId));
  };
  return rows.map(row => {
    const gateway = gatewaysById.get(row.gatewayId);
    return {
      payment: paymentView(row),
      gateway: gateway ? gatewayView(gateway) : null,
      invoice: invoiceOf(row) ?? null,
      user: usersById.get(row.userId)?.data ?? null,
    };
  });
}

/** A merchant's gateways are few. */
const allGateways = async (reader: Reader) => by('gatewayId', await reader.all(gateways, {}));

/** The lines of invoices, in their order, by invoice. */
async function linesOf(
  reader: Reader,
  of: readonly Pick<InvoiceRow, 'invoiceId'>[],
): Promise<ReadonlyMap<string, LineRow[]>> {
  const ids = of.map(({ invoiceId }) => invoiceId);
  const lines = await reader.among(invoiceLines, 'invoiceId', ids);
  const byInvoice = new Map<string, LineRow[]>(ids.map(id => [id, []]));
  for (const line of lines.toSorted((a, b) => a.lineNo - b.lineNo)) byInvoice.get(line.invoiceId)?.push(line);
  return byInvoice;
}

const by = <T, K extends keyof T>(property: K, rows: readonly T[]): ReadonlyMap<T[K], T> =>
  new Map(rows.map(row => [row[property], row]));
