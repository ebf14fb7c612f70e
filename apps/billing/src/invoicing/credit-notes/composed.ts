import { creditTransactionType, type Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import { originalInvoice } from '../../pricing/credit-note.js';
import { invoiceAggregate } from '../aggregates.js';
import { bookCredits, invoiceOfLine } from '../compose/credits.js';
import { composedNote } from '../domain/credit-note.js';
import { nextNumber } from '../finish/numbers.js';
import { partiesOf } from '../finish/parties.js';
import { payOut, sourceOf } from '../refunds/pay-out.js';
import { bare, type InvoiceState } from '../state.js';
import { invoiceLines, invoices } from '../tables.js';

/** The link to its PDF, whether the draft was saved, whether its money goes back through payments, and the log's entry. */
interface ComposedOptions {
  pdfLink: string;
  isSaved: boolean;
  refund: boolean;
  log?: string | undefined;
}

/**
 * Issues a composition with a negative total as a credit note: its credit lines are booked on the lines that they give
 * back, and what it comes to goes to the main account; with `refund`, back through the payments of the invoices that it
 * credits as far as they go. The draft is new, or was saved with other lines.
 */
export async function issueComposed(
  tx: Tx,
  draft: InvoiceState,
  { pdfLink, isSaved, refund, log }: ComposedOptions,
): Promise<{ note: InvoiceState; view: Invoice }> {
  const { userId, currency, invoiceId, totalAmount } = draft;
  const originalInvoiceId = originalOf(draft);
  const original = originalInvoiceId ? await tx.find(invoices, { invoiceId: originalInvoiceId }) : undefined;
  const sources = (await bookCredits(tx, draft)).map(sourceOf);
  const amount = refund ? await payOut(tx, draft, sources) : -totalAmount;
  await credits.addMain(tx, {
    ...{ userId, currency, invoiceId, amount, type: creditTransactionType.refund },
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
