import { type ErrorSlug, invalid, machine, Rejected, type StateOf } from '@recur/kernel';
import type { Composition, InvoiceAmounts, LineAmounts, LineItem } from '../../pricing/price.js';
import { termDeadline } from './deadlines.js';
import { type DocumentData, type LineData, netOf } from './document-data.js';

/** Money in minor units of `currency`; times in unix seconds, 0 for what has not happened. */
export interface Invoice extends InvoiceAmounts, DocumentData {
  /** Integer id, unique in billing. The API identifies invoices by `invoiceId` (`in_…`). */
  id: number;
  invoiceId: string;
  merchantId: number;
  /** Incremented by the write path, once per event. */
  version: number;
  status: InvoiceStatus;
  /** Prefix and counter, assigned at finish; '' for a draft. */
  number: string;
  userId: number;
  /** '' for an invoice of no subscription. */
  subscriptionId: string;
  /** bizType is the purpose (a code), createFrom the origin (a word); both are fixed at creation. */
  bizType: number;
  createFrom: string;
  invoiceName: string;
  currency: string;
  /** Basis points: 825 is 8.25 %. */
  taxBps: number;
  lines: InvoiceLine[];
  /** 0 for none. */
  gatewayId: number;
  /** The current payment; '' for none. */
  paymentId: string;
  /** Payment page for the user; '' when there is nothing to pay. */
  link: string;
  /** Address of the PDF, and the key under which links to it are signed; '' for a draft. */
  pdfLink: string;
  documentKey: string;
  /** Payment term in days, counted from finishTime. */
  daysUntilDue: number;
  createTime: number;
  modifyTime: number;
  finishTime: number;
  paidTime: number;
  deletedTime: number;
}

export interface InvoiceLine extends DraftLine, LineAmounts, LineData {
  /** `<invoiceId>_<position>`, positions from 1. */
  lineId: string;
}

/** A line before pricing. */
export interface DraftLine extends LineItem {
  /** 0 for a line that sells no plan. */
  planId: number;
  name: string;
  description: string;
}

/** Values that a draft gets when it is finished. */
export interface Finish
  extends Pick<Invoice, 'number' | 'gatewayId' | 'link' | 'pdfLink' | 'documentKey' | 'daysUntilDue'> {
  now: number;
}

/** Amount of the payment: the total, less main credit spent. */
export const amountDue = ({
  totalAmount,
  partialCreditPaid,
}: Pick<Invoice, 'totalAmount' | 'partialCreditPaid'>): bigint => totalAmount - partialCreditPaid;

/**
 * Opens a draft for payment under its number. An invoice with nothing due is paid at once, without gateway, link or payment.
 * Throws Rejected `invoice_not_draft`; `invalid_parameters` for /gatewayId if a gateway is needed and is 0.
 */
export function finishInvoice<I extends Invoice>(
  invoice: I,
  { number, gatewayId, link, pdfLink, documentKey, daysUntilDue, now }: Finish,
): I {
  const status = nextInvoiceStatus(invoice, 'finish', 'invoice_not_draft');
  const finished: I = {
    ...invoice,
    status,
    number,
    gatewayId,
    pdfLink,
    documentKey,
    daysUntilDue,
    finishTime: now,
    modifyTime: now,
  };
  if (amountDue(invoice) === 0n) {
    return { ...finished, status: nextInvoiceStatus(invoice, 'settle', 'invoice_not_draft'), paidTime: now };
  }
  if (gatewayId === 0) throw invalid('/gatewayId', 'An invoice needs a gateway to be finished: set one up, or name it');
  return { ...finished, link };
}

/** Marks an open invoice as paid. Throws Rejected `invoice_not_open`. */
export function markPaid<I extends Invoice>(invoice: I, now: number): I {
  return { ...invoice, status: nextInvoiceStatus(invoice, 'pay', 'invoice_not_open'), paidTime: now, modifyTime: now };
}

/** Marks a paid invoice as reversed: its whole payment was taken back by the bank. Throws Rejected `invoice_not_refundable`. */
export function markReversed<I extends Invoice>(invoice: I, now: number): I {
  return { ...invoice, status: nextInvoiceStatus(invoice, 'reverse', 'invoice_not_refundable'), modifyTime: now };
}

/** Marks an open invoice as cancelled. Throws Rejected `invoice_not_open`. */
export function markInvoiceCancelled<I extends Invoice>(invoice: I, now: number): I {
  return { ...invoice, status: nextInvoiceStatus(invoice, 'cancel', 'invoice_not_open'), modifyTime: now };
}

/**
 * Makes a payment the current one of an open invoice, which takes over its gateway and link. Throws Error if the
 * invoice still has a current payment, Rejected `invoice_not_open` if it is not open.
 */
export function attachPayment<I extends Invoice>(
  invoice: I,
  { paymentId, gatewayId, link }: Pick<Invoice, 'paymentId' | 'gatewayId' | 'link'>,
  now: number,
): I {
  const status = nextInvoiceStatus(invoice, 'collect', 'invoice_not_open');
  if (invoice.paymentId !== '') throw new Error(`invoice ${invoice.invoiceId} has payment ${invoice.paymentId}`);
  return { ...invoice, status, paymentId, gatewayId, link, modifyTime: now };
}

/** Detaches the current payment from an open invoice, which stays payable. Throws Rejected `invoice_not_open`. */
export function detachPayment<I extends Invoice>(invoice: I, now: number): I {
  const status = nextInvoiceStatus(invoice, 'clear', 'invoice_not_open');
  return { ...invoice, status, paymentId: '', link: '', modifyTime: now };
}

/** Fails an open invoice after its term. Throws Error before that, Rejected `invoice_not_open` if it is not open. */
export function markExpired<I extends Invoice>(invoice: I, now: number): I {
  const status = nextInvoiceStatus(invoice, 'expire', 'invoice_not_open');
  const deadline = invoice.deadline || termDeadline(invoice);
  if (now < deadline) throw new Error(`invoice ${invoice.invoiceId} is payable until ${deadline}`);
  return { ...invoice, status, modifyTime: now };
}

/** Deletes a draft; a deleted draft allows no further move. Throws Rejected `invoice_not_draft`. */
export function deleteDraft<I extends Invoice>(invoice: I, now: number): I {
  return {
    ...invoice,
    status: nextInvoiceStatus(invoice, 'delete', 'invoice_not_draft'),
    deletedTime: now,
    modifyTime: now,
  };
}

/** Throws Rejected `invoice_not_draft` unless the invoice may be edited. */
export function assertDraft(invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>): void {
  nextInvoiceStatus(invoice, 'edit', 'invoice_not_draft');
}

/** Throws Rejected `invoice_not_draft` unless the invoice may be finished. */
export function assertFinishable(invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>): void {
  nextInvoiceStatus(invoice, 'finish', 'invoice_not_draft');
}

/** Throws Rejected `invoice_not_open` unless the invoice is awaiting payment. */
export function assertOpen(invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>): void {
  nextInvoiceStatus(invoice, 'pay', 'invoice_not_open');
}

/** The status after the move; a deleted invoice allows none. */
function nextInvoiceStatus(
  invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>,
  move: InvoiceMove,
  slug: ErrorSlug,
): InvoiceStatus {
  const subject = `Invoice ${invoice.invoiceId}`;
  if (invoice.deletedTime !== 0) throw new Rejected(slug, `${subject} is deleted: cannot ${move} it`);
  return invoiceLifecycle.step(invoice.status, move, slug, subject);
}

/**
 * Lifecycle of an invoice. `init` is the state before the first draft and is never stored. `pending` is a draft;
 * `processing` is open: numbered and awaiting payment. An open invoice becomes `failed` only when its payment term
 * ends; a failed charge leaves it open and payable again. A paid invoice stays paid unless its payment is reversed.
 * A deleted draft keeps its state. `collect` attaches a payment to an open invoice, `clear` detaches it.
 *
 * Invariants: the lines add up to the invoice to the last minor unit; the total is never negative; the number is given
 * once, when the draft is finished; an open invoice has at most one live payment.
 */
export const invoiceLifecycle = machine({
  init: { draft: 'pending' },
  pending: { edit: 'pending', delete: 'pending', finish: 'processing', settle: 'paid' },
  processing: { collect: 'processing', clear: 'processing', pay: 'paid', expire: 'failed', cancel: 'cancelled' },
  paid: { reverse: 'reversed' },
  failed: {},
  cancelled: {},
  reversed: {},
});
export type InvoiceStatus = StateOf<typeof invoiceLifecycle>;
export type InvoiceMove = (typeof invoiceLifecycle.moves)[number];

/** A stored document as it was calculated. */
export function compositionOf(invoice: Invoice): Composition {
  const { promoAmount, discountAmount, taxAmount, totalAmountExcludingTax, totalAmount, originAmount } = invoice;
  return {
    lines: invoice.lines.map(line => ({
      amountExcludingTax: line.amountExcludingTax,
      promoAmount: line.promoAmount,
      discountAmount: line.discountAmount,
      tax: line.tax,
      amount: line.amount,
      originAmount: line.originAmount,
      net: netOf(line),
      rate: statedRate(invoice, line),
    })),
    taxes: invoice.taxes.map(group => ({ ...group, net: BigInt(group.net), tax: BigInt(group.tax), components: [] })),
    amounts: { promoAmount, discountAmount, taxAmount, totalAmountExcludingTax, totalAmount, originAmount },
    promoCredits: invoice.promoCredits,
    taxPercentage: invoice.taxBps,
  };
}

export function statedRate({ taxes }: Pick<Invoice, 'taxes'>, { category, ratePpm, taxReason: reason }: InvoiceLine) {
  const group = taxes.find(entry => entry.category === category && entry.ratePpm === ratePpm);
  return { category, ratePpm, jurisdiction: group?.jurisdiction ?? '', source: group?.source ?? '', reason };
}
