import type { Tx } from '@recur/platform';
import { findGateway } from '../gateways/lookup.js';
import { withLines } from './lines.js';
import { type InvoiceRow, payments } from './tables.js';

/** Loads the parts of a locked invoice: its lines, its gateway, and its current payment, which is locked too. */
export async function loadInvoiceParts(tx: Tx, row: InvoiceRow) {
  const { gatewayId, paymentId } = row;
  const [payment, invoice, gateway] = await Promise.all([
    paymentId ? tx.lockIfAny(payments, { paymentId }) : undefined,
    withLines(tx, row),
    findGateway(tx, gatewayId),
  ]);
  return { payment, invoice, gateway };
}
