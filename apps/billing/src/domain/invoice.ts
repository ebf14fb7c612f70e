import { type ErrorSlug, invalid, machine, Rejected, type StateOf } from '@recur/kernel';
import { type InvoiceAmounts, type LineAmounts, type LineItem, price } from './price.js';

/**
 * An invoice is `init` until it is drafted and is never stored so. While `pending` it is a draft; `processing` is open,
 * awaiting payment, and numbered. Only the end of its payment term takes an open one to `failed`: a failed charge leaves
 * it open, payable again. What is paid stays so unless the payment itself is reversed.
 * A draft that is deleted keeps its state. `collect` puts a payment on an open invoice, `clear` takes it off.
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
type InvoiceMove = (typeof invoiceLifecycle.moves)[number];

/** Money in minor units of `currency`; times in unix seconds, 0 where it has not happened. */
export interface Invoice extends InvoiceAmounts {
  /** Integer id, unique in billing; `invoiceId` (`in_…`) is what the API identifies it by. */
  id: number;
  invoiceId: string;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  status: InvoiceStatus;
  /** Gapless per merchant, given when it is finished; '' while a draft. */
  number: string;
  userId: number;
  /** Code of what it is for, and the word for what made it: fixed at creation. */
  bizType: number;
  createFrom: string;
  invoiceName: string;
  currency: string;
  /** Basis points: 825 is 8.25 %. */
  taxBps: number;
  lines: InvoiceLine[];
  /** 0 while none is chosen. */
  gatewayId: number;
  /** The current payment; '' where it has none. */
  paymentId: string;
  /** Where the user pays it; '' where there is nothing to pay. */
  link: string;
  /** Payment term, counted from finishTime. */
  daysUntilDue: number;
  createTime: number;
  modifyTime: number;
  finishTime: number;
  paidTime: number;
  deletedTime: number;
}

export interface InvoiceLine extends DraftLine, LineAmounts {
  /** Unique: the invoice's id and the line's position, from 1. */
  lineId: string;
}

/** A line before it is priced. */
export interface DraftLine extends LineItem {
  /** 0 where it sells no plan. */
  planId: number;
  name: string;
  description: string;
}

type Chosen = 'id' | 'userId' | 'bizType' | 'createFrom' | 'invoiceName' | 'currency' | 'taxBps';
export interface Draft extends Pick<Invoice, Chosen> {
  lines: readonly DraftLine[];
  /** What promo credit and discounts take off; capped by the caller at what the lines sum up to. */
  promoAmount?: bigint;
  discountAmount?: bigint;
}

/** Where and when a draft is made. */
export interface Drafting extends Pick<Invoice, 'invoiceId' | 'merchantId' | 'gatewayId'> {
  /** Unix seconds. */
  now: number;
}

/** A new invoice, priced; throws what `price` does. */
export function draft(given: Draft, { invoiceId, merchantId, gatewayId, now }: Drafting): Invoice {
  const { lines, amounts } = price(given.lines, given.taxBps, given.promoAmount, given.discountAmount);
  // here and below field by field: engines make such an object many times faster than one assembled by spreads
  return {
    id: given.id,
    invoiceId,
    merchantId,
    version: 0,
    status: invoiceLifecycle.step('init', 'draft', 'invoice_not_draft', `Invoice ${invoiceId}`),
    number: '',
    userId: given.userId,
    bizType: given.bizType,
    createFrom: given.createFrom,
    invoiceName: given.invoiceName,
    currency: given.currency,
    taxBps: given.taxBps,
    promoAmount: amounts.promoAmount,
    discountAmount: amounts.discountAmount,
    taxAmount: amounts.taxAmount,
    totalAmountExcludingTax: amounts.totalAmountExcludingTax,
    totalAmount: amounts.totalAmount,
    originAmount: amounts.originAmount,
    lines: priced(invoiceId, given.lines, lines),
    gatewayId,
    paymentId: '',
    link: '',
    daysUntilDue: 0,
    createTime: now,
    modifyTime: now,
    finishTime: 0,
    paidTime: 0,
    deletedTime: 0,
  };
}

/** A draft as it is to be, priced anew. Throws Rejected `invoice_not_draft`, and what `price` does. */
export function edit(
  invoice: Invoice,
  given: Pick<Invoice, 'invoiceName' | 'currency' | 'taxBps' | 'gatewayId'> & { lines: readonly DraftLine[] },
  now: number,
): Invoice {
  const status = step(invoice, 'edit', 'invoice_not_draft');
  const { lines, amounts } = price(given.lines, given.taxBps);
  return {
    ...invoice,
    ...given,
    ...amounts,
    status,
    lines: priced(invoice.invoiceId, given.lines, lines),
    modifyTime: now,
  };
}

const priced = (invoiceId: string, lines: readonly DraftLine[], amounts: readonly LineAmounts[]): InvoiceLine[] =>
  lines.map((line, i) => pricedLine(`${invoiceId}_${i + 1}`, line, amounts[i] as LineAmounts));

const pricedLine = (lineId: string, line: DraftLine, amounts: LineAmounts): InvoiceLine => ({
  lineId,
  planId: line.planId,
  name: line.name,
  description: line.description,
  unitAmountExcludingTax: line.unitAmountExcludingTax,
  quantity: line.quantity,
  amountExcludingTax: amounts.amountExcludingTax,
  promoAmount: amounts.promoAmount,
  discountAmount: amounts.discountAmount,
  tax: amounts.tax,
  amount: amounts.amount,
  originAmount: amounts.originAmount,
});

/** What a draft is given when it is finished. */
export interface Finish extends Pick<Invoice, 'number' | 'gatewayId' | 'link' | 'daysUntilDue'> {
  now: number;
}

/**
 * Opens a draft for payment under its number. Where nothing is to be paid it is paid at once: it then needs no gateway
 * and has no link, and no payment is to be opened for it.
 * Throws Rejected `invoice_not_draft`; `invalid_parameters` for /gatewayId where a gateway is needed and is 0.
 */
export function finish(invoice: Invoice, { number, gatewayId, link, daysUntilDue, now }: Finish): Invoice {
  const status = step(invoice, 'finish', 'invoice_not_draft');
  const finished: Invoice = { ...invoice, status, number, gatewayId, daysUntilDue, finishTime: now, modifyTime: now };
  if (invoice.totalAmount === 0n) {
    return { ...finished, status: step(invoice, 'settle', 'invoice_not_draft'), paidTime: now };
  }
  if (gatewayId === 0) throw invalid('/gatewayId', 'An invoice needs a gateway to be finished: set one up, or name it');
  return { ...finished, link };
}

/** An open invoice's money is there. Throws Rejected `invoice_not_open`. */
export function markPaid(invoice: Invoice, now: number): Invoice {
  return { ...invoice, status: step(invoice, 'pay', 'invoice_not_open'), paidTime: now, modifyTime: now };
}

/** Calls an open invoice off. Throws Rejected `invoice_not_open`. */
export function cancel(invoice: Invoice, now: number): Invoice {
  return { ...invoice, status: step(invoice, 'cancel', 'invoice_not_open'), modifyTime: now };
}

/**
 * Puts a payment on an open invoice, as its current one: on its gateway, to be paid at its link. One that has a
 * current payment is the caller's mistake (Error). Throws Rejected `invoice_not_open`.
 */
export function collect(
  invoice: Invoice,
  { paymentId, gatewayId, link }: Pick<Invoice, 'paymentId' | 'gatewayId' | 'link'>,
  now: number,
): Invoice {
  const status = step(invoice, 'collect', 'invoice_not_open');
  if (invoice.paymentId !== '') throw new Error(`invoice ${invoice.invoiceId} has payment ${invoice.paymentId}`);
  return { ...invoice, status, paymentId, gatewayId, link, modifyTime: now };
}

/** Takes the current payment off an open invoice, which stays payable. Throws Rejected `invoice_not_open`. */
export function clear(invoice: Invoice, now: number): Invoice {
  const status = step(invoice, 'clear', 'invoice_not_open');
  return { ...invoice, status, paymentId: '', link: '', modifyTime: now };
}

/** A payment that was under way when the term ended may still arrive. */
const GRACE_SECONDS = 1_200;

/** The unix second from which an open invoice has expired. */
export const expiryTime = ({ finishTime, daysUntilDue }: Pick<Invoice, 'finishTime' | 'daysUntilDue'>): number =>
  finishTime + daysUntilDue * 86_400 + GRACE_SECONDS;

/** An open invoice was not paid in time; to ask before that is the caller's mistake (Error). Throws Rejected `invoice_not_open`. */
export function expire(invoice: Invoice, now: number): Invoice {
  const status = step(invoice, 'expire', 'invoice_not_open');
  if (now < expiryTime(invoice))
    throw new Error(`invoice ${invoice.invoiceId} is payable until ${expiryTime(invoice)}`);
  return { ...invoice, status, modifyTime: now };
}

/** Deletes a draft; what is deleted makes no move any more. Throws Rejected `invoice_not_draft`. */
export function remove(invoice: Invoice, now: number): Invoice {
  return { ...invoice, status: step(invoice, 'delete', 'invoice_not_draft'), deletedTime: now, modifyTime: now };
}

/** Throws Rejected `invoice_not_draft` unless the invoice may be edited. */
export function checkDraft(invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>): void {
  step(invoice, 'edit', 'invoice_not_draft');
}

/** Throws Rejected `invoice_not_open` unless the invoice awaits its payment. */
export function checkOpen(invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>): void {
  step(invoice, 'pay', 'invoice_not_open');
}

/** The status after the move; a deleted invoice makes none. */
function step(
  invoice: Pick<Invoice, 'invoiceId' | 'status' | 'deletedTime'>,
  move: InvoiceMove,
  slug: ErrorSlug,
): InvoiceStatus {
  const subject = `Invoice ${invoice.invoiceId}`;
  if (invoice.deletedTime !== 0) throw new Rejected(slug, `${subject} is deleted: cannot ${move} it`);
  return invoiceLifecycle.step(invoice.status, move, slug, subject);
}
