import { creditTransactionType, type Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import { originalInvoice } from '../../pricing/credit-note.js';
import { invoiceAggregate } from '../aggregates.js';
import { bookCredits, invoiceOfLine } from '../compose/credits.js';
import { composedNote } from '../domain/credit-note.js';
import { nextNumber } from '../finish/numbers.js';
import { partiesOf } from '../finish/parties.js';
import { bare, type InvoiceState } from '../state.js';
import { invoiceLines, invoices } from '../tables.js';

/**
 * Issues a composition with a negative total as a credit note: its credit lines are booked on the lines that they give
 * back, and what it comes to goes to the main account. The draft is new, or was saved (`isSaved`) with other lines.
 */
export async function issueComposed(
  tx: Tx,
  draft: InvoiceState,
  { pdfLink, isSaved, log }: { pdfLink: string; isSaved: boolean; log?: string | undefined },
): Promise<{ note: InvoiceState; view: Invoice }> {
  const { userId, currency, invoiceId, totalAmount } = draft;
  const originalInvoiceId = originalOf(draft);
  const original = originalInvoiceId ? await tx.find(invoices, { invoiceId: originalInvoiceId }) : undefined;
  await bookCredits(tx, draft);
  await credits.addMain(tx, {
    ...{ userId, currency, invoiceId, amount: -totalAmount, type: creditTransactionType.refund },
    description: 'Credit note',
  });
  const { merchant, seller, buyer } = await partiesOf(tx, userId);
  const composed = { ...composedNote(draft, originalInvoiceId, tx.now), seller, buyer, pdfLink };
  const note: InvoiceState = {
    ...{ ...composed, ...(await nextNumber(tx, 'credit_note', merchant)) },
    original: original && bare(original),
  };
  for (const line of note.lines) tx.save(invoiceLines, line);
  return { note, view: tx.step(invoiceAggregate, note, isSaved ? 'invoice.paid' : 'invoice.created', { log }) };
}

/** The invoice of the largest credit. */
const originalOf = ({ lines }: InvoiceState): string =>
  originalInvoice(
    lines
      .filter(({ sourceLineId }) => sourceLineId !== '')
      .map(({ sourceLineId, amount }) => ({ invoiceId: invoiceOfLine(sourceLineId), amount })),
  );
