import type { Invoice, PaymentDetail } from '@recur/contracts';
import { hydrate, type Reader, type Table } from '@recur/platform';
import type { Payment } from './domain/payment.js';
import {
  type Gateway,
  gateways,
  type InvoiceRow,
  invoiceLines,
  invoices,
  type LineRow,
  payments,
  users,
} from './tables.js';
import { gatewayView, invoiceView, paymentView } from './views.js';

// Invoices and payments as they are looked at, one or a page of them: what belongs to them is read once for all.

/** Invoices with their lines, gateways, payments and users. */
export async function invoicesOf(reader: Reader, rows: readonly InvoiceRow[]): Promise<Invoice[]> {
  const [lines, gatewaysById, paymentsById, usersById] = await Promise.all([
    linesOf(reader, rows),
    allGateways(reader),
    among(
      reader,
      payments,
      'paymentId',
      rows.map(row => row.paymentId),
    ),
    among(
      reader,
      users,
      'id',
      rows.map(row => row.userId),
    ),
  ]);
  return rows.map(row => {
    const payment = paymentsById.get(row.paymentId);
    return invoiceView({ ...row, lines: lines.get(row.invoiceId) ?? [] }, gatewaysById.get(row.gatewayId), {
      payment: payment ? paymentView(payment) : null,
      userAccount: usersById.get(row.userId)?.data ?? null,
    });
  });
}

/** Payments with their invoices, gateways and users. */
export async function paymentDetailsOf(reader: Reader, rows: readonly Payment[]): Promise<PaymentDetail[]> {
  const [lines, gatewaysById, invoicesById, usersById] = await Promise.all([
    linesOf(reader, rows),
    allGateways(reader),
    among(
      reader,
      invoices,
      'invoiceId',
      rows.map(row => row.invoiceId),
    ),
    among(
      reader,
      users,
      'id',
      rows.map(row => row.userId),
    ),
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
const allGateways = async (reader: Reader): Promise<Map<number, Gateway>> =>
  new Map((await reader.all(gateways, {})).map(gateway => [gateway.gatewayId, gateway]));

/** The lines of invoices, in their order, by invoice. */
async function linesOf(
  reader: Reader,
  of: readonly Pick<InvoiceRow, 'invoiceId'>[],
): Promise<ReadonlyMap<string, LineRow[]>> {
  const ids = of.map(({ invoiceId }) => invoiceId);
  const found = await reader.query(text(invoiceLines, 'invoice_id', 'order by invoice_id, line_no'), [
    reader.merchantId,
    ids,
  ]);
  const byInvoice = new Map<string, LineRow[]>(ids.map(id => [id, []]));
  for (const row of found) byInvoice.get(String(row.invoice_id))?.push(hydrate(invoiceLines, row));
  return byInvoice;
}

/** The rows in which a property has one of the values, by that. */
async function among<T, K extends keyof T & string>(
  reader: Reader,
  from: Table<T>,
  property: K,
  values: readonly T[K][],
): Promise<ReadonlyMap<T[K], T>> {
  const column = from.columns.find(one => one.property === property)?.column ?? property;
  const rows = await reader.query(text(from, column), [reader.merchantId, [...new Set(values)]]);
  return new Map(rows.map(row => hydrate(from, row)).map(row => [row[property], row]));
}

const text = <T>({ table, columns }: Table<T>, column: string, order = '') =>
  `select ${columns.map(each => each.column).join(', ')} from ${table} where merchant_id = $1 and ${column} = any($2) ${order}`;
