import type { Reader, Tx } from '@recur/platform';
import type { ServicePeriod } from '../../pricing/proration.js';
import { netOf } from '../domain/document-data.js';
import { statedRate } from '../domain/invoice.js';
import { type CreditableLine, creditedPromo } from '../domain/items.js';
import { withCredited } from '../domain/refund.js';
import { printedOf } from '../line-views.js';
import type { InvoiceState } from '../state.js';
import { type InvoiceRow, invoiceLines, invoices, type LineRow } from '../tables.js';
import { invoiceAggregate } from '../views.js';

const creditableWhere = `select distinct i.invoice_id from invoices i
  join invoice_lines l on l.merchant_id = i.merchant_id and l.invoice_id = i.invoice_id
  where i.merchant_id = $1 and i.subscription_id <> '' and i.subscription_id = $2 and i.status = 'paid'
    and i.note_reason in ('', 'composed') and l.source_line_id = '' and l.end_at > $3 and l.end_at > l.start_at
  order by 1`;

/**
 * Lines of a subscription that sell time after `from`, in the order of their documents' ids. In a transaction the
 * documents and their lines are locked.
 */
export async function creditableLines(reader: Reader, subscriptionId: string, from: number): Promise<CreditableLine[]> {
  const found = await reader.query(creditableWhere, [reader.merchantId, subscriptionId, from]);
  const sold: CreditableLine[] = [];
  for (const { invoice_id } of found) {
    const invoiceId = String(invoice_id);
    const invoice = await reader.part(invoices, { invoiceId });
    const lines = await reader.parts(invoiceLines, { invoiceId }, lineOrder);
    if (invoice?.status === 'paid') sold.push(...creditableIn(invoice, lines, from));
  }
  return sold;
}

const lineOrder = 'order by line_no';

/** Lines of a paid document that sell time after `from`. */
export const creditableIn = (invoice: InvoiceRow, lines: readonly LineRow[], from: number): CreditableLine[] =>
  lines.filter(line => isCreditable(line, from)).map(line => creditableLine(invoice, line));

const isCreditable = ({ itemKey, sourceLineId, startAt, endAt, amountExcludingTax }: LineRow, from: number): boolean =>
  sourceLineId === '' && endAt > Math.max(from, startAt) && isOfTime(itemKey) && amountExcludingTax >= 0n;

const isOfTime = (itemKey: string): boolean => /^(carried:)?(plan$|addon:)/.test(itemKey);

/** The item that a line sells; one that was carried from an earlier document sells it like any other. */
const creditKey = (itemKey: string): string => itemKey.replace(/^carried:/, '');

function creditableLine(invoice: InvoiceRow, line: LineRow): CreditableLine {
  const { lineId, invoiceId, itemKey, planId, plan, name, inputs } = line;
  const { promoCredits: credits, promoRefunded: refunded, promoAmount: total } = invoice;
  return {
    lineId,
    invoiceId,
    key: creditKey(itemKey),
    planId,
    plan,
    name,
    unitAmount: inputs?.unitAmount === undefined ? line.unitAmountExcludingTax : BigInt(inputs.unitAmount),
    quantity: inputs?.quantity === undefined ? line.quantity : Number(inputs.quantity),
    period: { start: line.startAt, end: line.endAt },
    net: netOf(line),
    creditedNet: line.creditedNet + line.refundedNet + line.waivedNet,
    discount: line.discountAmount,
    promo: { credits, refunded, share: line.promoAmount, total },
    rate: statedRate(invoice, line),
  };
}

/** An invoice that credit lines credit, locked with its lines as this transaction has them. */
export async function lockSource(tx: Tx, invoiceId: string): Promise<InvoiceState> {
  const source = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
  return { ...source, lines: await tx.parts(invoiceLines, { invoiceId }, lineOrder) };
}

/** The invoice of a line, whose id begins with that of its invoice. */
const invoiceIdOf = (lineId: string): string => lineId.slice(0, lineId.lastIndexOf('_'));

/** The lines that the credit lines of a document credit, by invoice, in the order of the invoices' ids. */
function creditedSources({ lines }: Pick<InvoiceState, 'lines'>): [invoiceId: string, credits: LineRow[]][] {
  const byInvoice = new Map<string, LineRow[]>();
  for (const line of lines) {
    if (line.sourceLineId === '') continue;
    const invoiceId = invoiceIdOf(line.sourceLineId);
    byInvoice.set(invoiceId, [...(byInvoice.get(invoiceId) ?? []), line]);
  }
  return [...byInvoice].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Ends lines that credit lines credit: they are never a source again. */
export async function endServicePeriods(tx: Tx, lineIds: readonly string[], at: number): Promise<void> {
  const ended = new Set(lineIds);
  for (const invoiceId of [...new Set(lineIds.map(invoiceIdOf))].sort()) {
    await tx.part(invoices, { invoiceId });
    for (const line of await tx.parts(invoiceLines, { invoiceId }, lineOrder)) {
      if (ended.has(line.lineId))
        tx.save(invoiceLines, lockSellingText(line, { start: line.startAt, end: Math.max(at, line.startAt) }));
    }
  }
}

/** Moves the time that lines of a document sell, with the period that it is the invoice of. */
export async function moveServicePeriods(
  tx: Tx,
  invoiceId: string,
  from: ServicePeriod,
  to: ServicePeriod,
): Promise<void> {
  const { lines } = await lockSource(tx, invoiceId);
  for (const line of lines) {
    if (line.startAt !== from.start || line.endAt !== from.end || !isCreditable(line, line.startAt)) continue;
    tx.save(invoiceLines, lockSellingText(line, to));
  }
}

/** A line that sells another time from now on; it stays as it is printed. */
function lockSellingText(line: LineRow, { start: startAt, end: endAt }: ServicePeriod): LineRow {
  const { start: printedStart, end: printedEnd } = printedOf(line);
  return { ...line, startAt, endAt, printedStart, printedEnd };
}

/** Takes back what the credit lines of an invoice that ended unpaid had credited of earlier ones. */
export async function reverseCredits(tx: Tx, ended: InvoiceState): Promise<void> {
  for (const [invoiceId, credits] of creditedSources(ended)) {
    const source = await lockSource(tx, invoiceId);
    const shares = credits.map(line => ({
      lineId: line.sourceLineId,
      net: netOf(line),
      tax: line.tax,
      promoCredits: -creditedPromo(line),
    }));
    await saveCreditedAmounts(tx, withCredited(source, source.payment, shares));
  }
}

/** Saves what was credited of an invoice, on it and on its lines. */
export async function saveCreditedAmounts(tx: Tx, invoice: InvoiceState): Promise<void> {
  await saveCreditedLines(tx, invoice);
  tx.step(invoiceAggregate, { ...invoice, modifyTime: tx.now }, 'invoice.updated');
}

/** Locks and saves the lines of a locked invoice. */
export async function saveCreditedLines(tx: Tx, { invoiceId, lines }: InvoiceState): Promise<void> {
  await tx.parts(invoiceLines, { invoiceId }, 'order by line_no');
  for (const line of lines) tx.save(invoiceLines, line);
}
