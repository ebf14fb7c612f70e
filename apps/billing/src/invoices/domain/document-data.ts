import type { InvoiceLineMetricCharge } from '@recur/contracts';
import type { TaxCategory, TaxGroup } from '../../pricing/tax.js';

/** An invoice bills; a credit note takes back. They have separate series of numbers. */
export type DocumentKind = 'invoice' | 'credit_note';

/**
 * Occasion of a credit note: a refund; bank charges that were accepted; the cancellation of a numbered invoice; or a
 * composition with a negative total. '' for an invoice.
 */
export type NoteReason = '' | 'refund' | 'bank_charges' | 'void' | 'composed';

/** Net and tax of the lines that share category and rate, as stored and shown: amounts in minor units. */
export interface TaxEntry {
  category: TaxCategory;
  ratePpm: number;
  net: number;
  tax: number;
  jurisdiction: string;
  source: string;
  reason: string;
}

export const taxEntry = ({ category, ratePpm, net, tax, jurisdiction, source, reason }: TaxGroup): TaxEntry => ({
  category,
  ratePpm,
  net: Number(net),
  tax: Number(tax),
  jurisdiction,
  source,
  reason,
});

/** Facts of an invoice or credit note beyond its amounts. Money in minor units of its currency, promo in credits. */
export interface DocumentData {
  kind: DocumentKind;
  noteReason: NoteReason;
  /** Position in the series of its kind; 0 for no number. */
  counter: number;
  /** The invoice that a credit note refers to; '' for none. */
  originalInvoiceId: string;
  /** The refund that a credit note documents; '' for none. */
  refundId: string;
  taxes: readonly TaxEntry[];
  /** True if promo credit was asked for; the cap is in credits, 0 for none. */
  promoApplied: boolean;
  promoCap: bigint;
  /** Credits spent, at `promoRate` hundredths of a major unit each; their value is promoAmount. */
  promoCredits: bigint;
  promoRate: bigint;
  /** Credits that refunds, and credit lines of later documents, gave back. */
  promoRefunded: bigint;
  promoCredited: bigint;
  /** Main credit spent. */
  partialCreditPaid: bigint;
  /** Refunds that are open or succeeded, and the part of them that goes to payments. */
  refundedAmount: bigint;
  refundedToPayments: bigint;
  /** Money that arrived beyond what was due. */
  surplus: bigint;
  /** Unix second at which an open invoice expires; 0 for a draft. */
  deadline: number;
  /** Sending of its document to the user by e-mail: `sendStatus` of contracts. */
  sendStatus: number;
}

/** Facts of a line beyond its amounts: how it came about, and what was credited of it. */
export interface LineData {
  /** '' for unit amount × quantity. */
  formula: string;
  inputs: Readonly<Record<string, number | string>> | null;
  /** Line of an earlier invoice that a credit line credits; '' for none. */
  sourceLineId: string;
  /** Item that the line sells: `plan`, `addon:<id>`, `usage:<metricId>`; '' outside of subscriptions. */
  itemKey: string;
  /** The period that it sells, in unix seconds; 0 for none. A change that credits it ends it early, and free time moves it. */
  startAt: number;
  endAt: number;
  /** The period that it sold when it was printed, where that is another; else 0. */
  printedStart: number;
  printedEnd: number;
  /** The usage that a metered line bills. */
  metricCharge: InvoiceLineMetricCharge | null;
  ratePpm: number;
  category: TaxCategory;
  taxReason: string;
  /** Given back by credit lines of later documents, by refunds, and as accepted bank charges. */
  creditedNet: bigint;
  creditedTax: bigint;
  refundedNet: bigint;
  refundedTax: bigint;
  waivedNet: bigint;
  waivedTax: bigint;
}

/** Facts of a new invoice. */
export const newDocumentData: DocumentData = {
  kind: 'invoice',
  noteReason: '',
  counter: 0,
  originalInvoiceId: '',
  refundId: '',
  taxes: [],
  promoApplied: false,
  promoCap: 0n,
  promoCredits: 0n,
  promoRate: 0n,
  promoRefunded: 0n,
  promoCredited: 0n,
  partialCreditPaid: 0n,
  refundedAmount: 0n,
  refundedToPayments: 0n,
  surplus: 0n,
  deadline: 0,
  sendStatus: 0,
};

/** Facts of a new line, before its tax rate is known. */
export const newLineData: LineData = {
  formula: '',
  inputs: null,
  sourceLineId: '',
  itemKey: '',
  printedStart: 0,
  printedEnd: 0,
  startAt: 0,
  endAt: 0,
  metricCharge: null,
  ratePpm: 0,
  category: 'Z',
  taxReason: '',
  creditedNet: 0n,
  creditedTax: 0n,
  refundedNet: 0n,
  refundedTax: 0n,
  waivedNet: 0n,
  waivedTax: 0n,
};

/** Net of a line: after discount and promo credit, before tax. */
export const netOf = ({ amount, tax }: { amount: bigint; tax: bigint }): bigint => amount - tax;
