import { machine } from '@recur/kernel';
import { creditNoteOf, voidNoteOf } from '../../pricing/credit-note.js';
import type { Composition } from '../../pricing/price.js';
import type { LineShare } from '../../pricing/refund.js';
import {
  type DocumentData,
  type LineData,
  newDocumentData,
  newLineData,
  type TaxEntry,
  taxEntry,
} from './document-data.js';
import { compositionOf, type Invoice, type InvoiceLine } from './invoice.js';

/**
 * Lifecycle of a credit note; its states are those of invoices. That of a refund waits without a number until the refund
 * succeeds, and is cancelled otherwise; others are issued at once.
 */
const creditNoteLifecycle = machine({
  init: { open: 'processing', book: 'paid' },
  processing: { issue: 'paid', cancel: 'cancelled' },
  paid: {},
  cancelled: {},
});

/** Identity and occasion of a new credit note. */
export interface NoteContext extends Pick<Invoice, 'id' | 'invoiceId' | 'invoiceName'> {
  noteReason: DocumentData['noteReason'];
  /** The refund that it documents, and which it waits for; '' for none. */
  refundId: string;
  now: number;
}

/** The credit note of a refund or of accepted bank charges: shares of the invoice's lines, negative. */
export function shareNote(original: Invoice, shares: readonly LineShare[], context: NoteContext): Invoice {
  const note = creditNoteOf(original.invoiceId, shares);
  const sourceOf = (lineId: string) => original.lines.find(line => line.lineId === lineId);
  const lines = note.lines.map((line, at) => {
    const { sourceLineId, category, ratePpm, amountExcludingTax, tax, amount } = line;
    const source = sourceOf(sourceLineId);
    const kept = { sourceLineId, category, ratePpm, taxReason: source?.taxReason ?? '' };
    return noteLine(context, at, source, {
      unitAmountExcludingTax: amountExcludingTax,
      quantity: 1,
      amountExcludingTax,
      tax,
      amount,
      promoAmount: 0n,
      discountAmount: 0n,
      originAmount: amount,
      ...kept,
    });
  });
  const taxes = note.taxes.map(({ category, ratePpm, net, tax }): TaxEntry => {
    const entry = original.taxes.find(known => known.category === category && known.ratePpm === ratePpm);
    const { jurisdiction = '', source = '', reason = '' } = entry ?? {};
    return { category, ratePpm, net: Number(net), tax: Number(tax), jurisdiction, source, reason };
  });
  const { totalAmountExcludingTax, taxAmount, totalAmount } = note;
  return noteOf(original, context, lines, taxes, {
    totalAmountExcludingTax,
    taxAmount,
    totalAmount,
    originAmount: totalAmount,
    promoAmount: 0n,
    discountAmount: 0n,
  });
}

/** The credit note of a cancelled invoice: every amount of it, negated. */
export function voidNote(original: Invoice, context: NoteContext): Invoice {
  const negated: Composition = voidNoteOf(compositionOf(original));
  const lines = negated.lines.map((line, at) => {
    const source = original.lines[at];
    const { amountExcludingTax, promoAmount, discountAmount, tax, amount, originAmount, rate } = line;
    return noteLine(context, at, source, {
      unitAmountExcludingTax: -(source?.unitAmountExcludingTax ?? 0n),
      quantity: source?.quantity ?? 1,
      amountExcludingTax,
      promoAmount,
      discountAmount,
      tax,
      amount,
      originAmount,
      sourceLineId: source?.lineId ?? '',
      category: rate.category,
      ratePpm: rate.ratePpm,
      taxReason: rate.reason,
    });
  });
  return noteOf(original, context, lines, negated.taxes.map(taxEntry), negated.amounts);
}

type LineOfNote = Omit<InvoiceLine, 'lineId' | 'planId' | 'name' | 'description' | keyof LineData> &
  Pick<LineData, 'sourceLineId' | 'category' | 'ratePpm' | 'taxReason'>;

const noteLine = (
  { invoiceId }: NoteContext,
  at: number,
  source: InvoiceLine | undefined,
  line: LineOfNote,
): InvoiceLine => ({
  ...newLineData,
  lineId: `${invoiceId}_${at + 1}`,
  planId: 0,
  name: source?.name ?? '',
  description: '',
  ...line,
});

function noteOf(
  original: Invoice,
  { id, invoiceId, invoiceName, noteReason, refundId, now }: NoteContext,
  lines: InvoiceLine[],
  taxes: readonly TaxEntry[],
  amounts: Composition['amounts'],
): Invoice {
  const { merchantId, userId, subscriptionId, bizType, createFrom, currency, taxBps, gatewayId } = original;
  const status = creditNoteLifecycle.step('init', refundId ? 'open' : 'book', 'invoice_not_draft', invoiceId);
  const issued = status === 'paid' ? { finishTime: now, paidTime: now } : { finishTime: 0, paidTime: 0 };
  const pdfLink = original.pdfLink.replace(`/${original.invoiceId}`, `/${invoiceId}`);
  return {
    ...newDocumentData,
    ...amounts,
    ...issued,

    id,
    invoiceId,
    merchantId,
    version: 0,
    status,
    number: '',
    pdfLink,
    subscriptionId,
    documentKey: original.documentKey,
    kind: 'credit_note',
    noteReason,
    refundId,
    taxes,
    originalInvoiceId: original.invoiceId,
    userId,
    bizType,
    createFrom,
    invoiceName,
    currency,
    taxBps,
    lines,
    gatewayId,
    paymentId: '',
    link: '',
    daysUntilDue: 0,
    createTime: now,
    modifyTime: now,
    deletedTime: 0,
  };
}

/** The credit note of a refund that succeeded. Its number is given by the caller. */
export function issued<I extends Invoice>(note: I, now: number): I {
  const status = creditNoteLifecycle.step(
    refusedState(note),
    'issue',
    'refund_not_open',
    `Credit note ${note.invoiceId}`,
  );
  return { ...note, status, finishTime: now, paidTime: now, modifyTime: now };
}

/** The credit note of a refund that failed or was cancelled. */
export function withdrawn<I extends Invoice>(note: I, now: number): I {
  const status = creditNoteLifecycle.step(
    refusedState(note),
    'cancel',
    'refund_not_open',
    `Credit note ${note.invoiceId}`,
  );
  return { ...note, status, modifyTime: now };
}

function refusedState({ invoiceId, status }: Invoice) {
  const state = creditNoteLifecycle.states.find(known => known === status);
  if (!state) throw new Error(`credit note ${invoiceId} is ${status}`);
  return state;
}
