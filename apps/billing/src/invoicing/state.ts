import type { User } from '@recur/contracts';
import type { Loader, Reader } from '@recur/platform';
import type { Gateway } from '../gateways/domain/gateway.js';
import { findGateway } from '../gateways/lookup.js';
import type * as domain from './domain/invoice.js';
import type { Payment } from './domain/payment.js';
import { type InvoiceRow, invoiceLines, type LineRow, payments } from './tables.js';

/** An invoice with its parts. */
export interface InvoiceState extends Omit<domain.Invoice, 'lines'> {
  lines: LineRow[];
  gateway: Gateway | undefined;
  /** The current payment. */
  payment: Payment | undefined;
  /** Only for answers, not for events: the user changes independently of the invoice. */
  user?: User;
}

/** Loads the parts of an invoice. In a transaction the payment is locked too, after the invoice. */
export async function withParts(loader: Loader, row: InvoiceRow): Promise<InvoiceState> {
  const { invoiceId, gatewayId, paymentId } = row;
  const [lines, gateway, payment] = await Promise.all([
    loader.all(invoiceLines, { invoiceId }, 'order by line_no'),
    findGateway(loader, gatewayId),
    paymentId ? loader.part(payments, { paymentId }) : undefined,
  ]);
  return { ...row, lines, gateway, payment };
}

/** Lines of many invoices, by invoice, in their order. */
export async function linesByInvoice(
  reader: Reader,
  invoiceIds: readonly string[],
): Promise<ReadonlyMap<string, LineRow[]>> {
  const lines = await reader.among(invoiceLines, 'invoiceId', invoiceIds);
  const byInvoice = new Map<string, LineRow[]>(invoiceIds.map(id => [id, []]));
  for (const line of lines.toSorted((a, b) => a.lineNo - b.lineNo)) byInvoice.get(line.invoiceId)?.push(line);
  return byInvoice;
}
