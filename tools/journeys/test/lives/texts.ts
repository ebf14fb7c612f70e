import { type Invoice, type InvoiceLine, invoiceStatus } from '@recur/contracts';
import { netOf, USAGE } from '../../model/money.js';
import type { Note } from '../../model/refunds.js';
import type { Expected } from '../../model/sales.js';
import type { Sold } from './sold.js';

/*
 * Documents as text, from the model and over HTTP: the first line is its state and total, then come its lines.
 */

const states = new Map<number, Expected['state']>([
  [invoiceStatus.processing, 'open'],
  [invoiceStatus.paid, 'paid'],
  [invoiceStatus.failed, 'failed'],
  [invoiceStatus.cancelled, 'cancelled'],
]);

export const shown = (at: number): string => new Date(at * 1000).toISOString().slice(0, 19);

const head = (state: string, total: bigint | number, spent: bigint | number): string =>
  `${state} ${total}${state === 'open' || state === 'paid' ? `, ${spent} of it by credit` : ''}`;

export const expectedText = ({ state, total, spent, lines }: Expected): string[] => [
  head(state, total, spent),
  ...lines.map(line => {
    const { item, start, end, gross, discount, tax, rate } = line;
    return `${item} ${shown(start)} to ${shown(end)}: ${gross} − ${discount}, net ${netOf(line)} + ${tax} at ${rate.ppm}`;
  }),
];

export const noteText = ({ reason, of, lines }: Note): string[] => [
  `${reason} of ${of}, paid ${-lines.reduce((sum, { net, tax }) => sum + net + tax, 0n)}`,
  ...lines.map(({ net, tax, ppm }) => `${-net} + ${-tax} at ${ppm}`),
];

/** A numbered invoice that is cancelled is undone by a document of its own. */
export const voidText = (total: bigint | number): string[] => [`void ${-total}`];

/** A document of a subscription over HTTP. */
export function documentText(document: Invoice, sold: Sold): string[] {
  const { totalAmount, partialCreditPaidAmount, lines, originalPaymentInvoice: original, refundId } = document;
  if (original?.status === invoiceStatus.cancelled) return voidText(-totalAmount);
  const state = states.get(document.status) ?? `${document.status}`;
  const isBankCharges = document.invoiceName === 'Bank charges';
  if (original && (refundId !== '' || isBankCharges)) {
    return [
      `${isBankCharges ? 'bank charges' : 'refund'} of ${original.totalAmount}, ${state} ${totalAmount}`,
      ...lines.map(({ amount, tax, taxRatePpm }) => `${amount - tax} + ${tax} at ${taxRatePpm}`),
    ];
  }
  return [head(state, totalAmount, partialCreditPaidAmount), ...lines.map(line => lineText(line, sold))];
}

function lineText(line: InvoiceLine, sold: Sold): string {
  const { periodStart, periodEnd, amountExcludingTax, discountAmount, amount, tax, taxRatePpm } = line;
  return `${itemOf(line, sold)} ${shown(periodStart)} to ${shown(periodEnd)}: ${amountExcludingTax} − ${discountAmount}, net ${amount - tax} + ${tax} at ${taxRatePpm}`;
}

function itemOf({ metricCharge, plan }: InvoiceLine, { addons }: Sold): number {
  if (metricCharge) return USAGE;
  const addon = addons.indexOf(plan?.id ?? 0);
  return addon < 0 ? 0 : addon + 1;
}
