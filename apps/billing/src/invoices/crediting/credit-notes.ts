import { sendStatus } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { needsVoidNote } from '../../pricing/credit-note.js';
import type { LineShare } from '../../pricing/refund.js';
import { issued, type NoteContext, shareNote, voidNote, withdrawn } from '../domain/credit-note.js';
import type { Invoice } from '../domain/invoice.js';
import { aboutSubscription } from '../domain/items.js';
import type { Refund } from '../domain/refund.js';
import { nextNumber } from '../numbers.js';
import { type Parties, partiesOf } from '../parties.js';
import { invoiceSettingsOf, sendStatusOf } from '../settings.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines, invoices } from '../tables.js';
import { invoiceAggregate } from '../views.js';

// Credit notes are made in the transaction of what they document. They are saved after their invoice, and numbered last.

/** The void note of an invoice that was cancelled; none for one without a number or an amount. No money moves. */
export async function issueVoidNote(tx: Tx, invoice: InvoiceState): Promise<InvoiceState | undefined> {
  if (!needsVoidNote(invoice)) return undefined;
  const [context, parties] = await Promise.all([
    contextOf(tx, { noteReason: 'void', invoiceName: `Cancellation of ${invoice.number}` }),
    partiesOf(tx, invoice),
  ]);
  return bookNote(tx, invoice, voidNote(invoice, context), parties);
}

/** The credit note of bank charges that were accepted. */
export async function issueBankCharges(
  tx: Tx,
  invoice: InvoiceState,
  shares: readonly LineShare[],
): Promise<InvoiceState> {
  const [context, parties] = await Promise.all([
    contextOf(tx, { noteReason: 'bank_charges', invoiceName: 'Bank charges' }),
    partiesOf(tx, invoice),
  ]);
  return bookNote(tx, invoice, shareNote(invoice, shares, context), parties);
}

/** The credit note of a new refund: it waits for it, without a number. */
export async function openRefundNote(
  tx: Tx,
  invoice: InvoiceState,
  shares: readonly LineShare[],
  refund: Refund,
): Promise<InvoiceState> {
  const { refundId, creditNoteId: invoiceId } = refund;
  const name = { noteReason: 'refund', invoiceName: `Refund of ${invoice.number}` } as const;
  const context = { ...(await contextOf(tx, name)), invoiceId, refundId };
  const note = noteState(invoice, shareNote(invoice, shares, context), {
    seller: invoice.seller,
    buyer: invoice.buyer,
  });
  save(tx, { ...note, refund });
  return note;
}

/** Numbers the credit note of a refund that succeeded. */
export async function issueRefundNote(tx: Tx, note: InvoiceState, refund: Refund): Promise<InvoiceState> {
  const { merchant, seller, buyer } = await partiesOf(tx, note);
  const settings = await invoiceSettingsOf(tx);
  const numbered = await nextNumber(tx, 'credit_note', merchant);
  const sendStatus = sendStatusOf(settings, numbered.number);
  const finished = { ...issued(note, tx.now), ...numbered, sendStatus, seller, buyer, refund };
  tx.step(invoiceAggregate, finished, 'invoice.paid');
  return finished;
}

/** Cancels the credit note of a refund that failed or was cancelled. */
export function withdrawRefundNote(tx: Tx, note: InvoiceState, refund: Refund): void {
  tx.step(invoiceAggregate, { ...withdrawn(note, tx.now), refund }, 'invoice.cancelled');
}

async function contextOf(tx: Tx, named: Pick<NoteContext, 'noteReason' | 'invoiceName'>): Promise<NoteContext> {
  return { ...named, id: await tx.nextId(invoices), invoiceId: tx.newId('in_'), refundId: '', now: tx.now };
}

async function bookNote(
  tx: Tx,
  original: InvoiceState,
  note: Invoice,
  { merchant, seller, buyer }: Parties,
): Promise<InvoiceState> {
  // no e-mail tells of it
  const { unnecessary } = sendStatus;
  const numbered = { ...note, ...(await nextNumber(tx, 'credit_note', merchant)), sendStatus: unnecessary };
  const state = noteState(original, numbered, { seller, buyer });
  save(tx, state);
  return state;
}

/** The lines carry no plans: those are on the invoice that the note refers to. */
function noteState(
  original: InvoiceState,
  note: Invoice,
  parties: Pick<InvoiceState, 'seller' | 'buyer'>,
): InvoiceState {
  const { merchantId, invoiceId } = note;
  const lines = note.lines.map((line, at) => ({ ...line, merchantId, invoiceId, lineNo: at + 1, plan: null }));
  const of = { ...aboutSubscription(original), gateway: original.gateway, payment: undefined, original };
  return { ...note, ...parties, lines, discount: null, ...of };
}

function save(tx: Tx, note: InvoiceState): void {
  for (const line of note.lines) tx.save(invoiceLines, line);
  tx.step(invoiceAggregate, note, 'invoice.created');
}
