import type { User } from '@recur/contracts';
import type { Loader, Reader } from '@recur/platform';
import type { Gateway } from '../gateways/domain/gateway.js';
import { findGateway } from '../gateways/gateway-index.js';
import type { Payment } from './domain/payment.js';
import type { Refund } from './domain/refund.js';
import { payments, refunds } from './payment-tables.js';
import { type InvoiceRow, invoiceLines, invoices, type LineRow } from './tables.js';

/** An invoice with its parts. */
export interface InvoiceState extends InvoiceRow {
  lines: LineRow[];
  gateway: Gateway | undefined;
  /** The current payment. */
  payment: Payment | undefined;
  /** The invoice that a credit note refers to, without its parts, and the refund that it documents. */
  original?: InvoiceState | undefined;
  refund?: Refund | undefined;
  /** Only for answers, not for events: the user changes independently of the invoice. */
  user?: User | undefined;
}

/** Loads the parts of an invoice. In a transaction the payment is locked too, after the invoice. */
export async function withParts(loader: Loader, row: InvoiceRow): Promise<InvoiceState> {
  const { invoiceId, gatewayId, paymentId } = row;
  const [lines, gateway, payment, original, refund] = await Promise.all([
    loader.all(invoiceLines, { invoiceId }, 'order by line_no'),
    findGateway(loader, gatewayId),
    paymentId ? loader.part(payments, { paymentId }) : undefined,
    row.originalInvoiceId ? loader.find(invoices, { invoiceId: row.originalInvoiceId }) : undefined,
    row.refundId ? loader.find(refunds, { refundId: row.refundId }) : undefined,
  ]);
  const state = { ...row, lines, gateway, payment };
  return row.kind === 'invoice' ? state : { ...state, original: original && bare(original), refund };
}

/** An invoice without its parts. */
export const bare = (row: InvoiceRow): InvoiceState => ({ ...row, lines: [], gateway: undefined, payment: undefined });

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
