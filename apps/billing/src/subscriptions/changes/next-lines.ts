import type { Tx } from '@recur/platform';
import { invoiceAggregate } from '../../invoicing/aggregates.js';
import type { SoldLine } from '../../invoicing/composed/domain/sold-line.js';
import { soldIn, soldLines } from '../../invoicing/composed/sold-lines.js';
import { isUndecided } from '../../invoicing/domain/charge.js';
import type { PeriodRow } from '../domain/periods.js';

/** Lines of the next period, and whether they are paid or about to be. */
export interface NextLines {
  lines: readonly SoldLine[];
  isTaken: boolean;
}

/** The lines that bill a next period: those of its open invoice; once that is paid, with what changes made of them. */
export async function nextLines(tx: Tx, { subscriptionId, invoiceId, startAt, state }: PeriodRow): Promise<NextLines> {
  if (state === 'paid') return { lines: await soldLines(tx, subscriptionId, startAt), isTaken: true };
  const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
  return { lines: soldIn(invoice, invoice.lines, startAt), isTaken: isUndecided(invoice.payment) };
}
