import { bizType, type createFrom } from '@recur/contracts';
import { isCreditNote, originalInvoice } from '../../pricing/credit-note.js';
import { newDocumentData, newLineData, taxEntry } from '../domain/document-data.js';
import type { InvoiceInput, InvoiceItem } from '../domain/items.js';
import type { InvoiceState } from '../state.js';
import type { LineRow } from '../tables.js';
import type { CalculatedInvoice } from './calculate.js';

/** Identity of a document that is calculated. */
export interface DocumentContext {
  merchantId: number;
  /** 0 and '' in a preview. */
  id: number;
  invoiceId: string;
  createFrom: (typeof createFrom)[keyof typeof createFrom];
  now: number;
}

/** The document of a calculated invoice: a draft of an invoice, or of a credit note where its total is negative. */
export function invoiceStateOf(calculated: CalculatedInvoice, context: DocumentContext): InvoiceState {
  const { input, composition, gateway, promo } = calculated;
  const { amounts, taxes, promoCredits, taxPercentage } = composition;
  const { id, invoiceId, merchantId, createFrom, now } = context;
  const isNote = isCreditNote(amounts);
  const { subscriptionId, reason: billReason, period, snapshot, anchor, trialEnd, prorationDate = 0 } = input;
  const { vatNumber, countryCode } = input;
  // field by field: an object that is spread and added to has a hidden class of its own
  return {
    id,
    invoiceId,
    merchantId,
    version: 0,
    status: 'pending',
    number: '',
    userId: input.userId,
    bizType: bizTypeOf(input),
    createFrom,
    invoiceName: input.name,
    currency: input.currency,
    taxBps: taxPercentage,
    taxes: taxes.map(taxEntry),
    lines: input.items.map((item, at) => newLine(calculated, item, at, context)),
    originAmount: amounts.originAmount,
    discountAmount: amounts.discountAmount,
    promoAmount: amounts.promoAmount,
    taxAmount: amounts.taxAmount,
    totalAmountExcludingTax: amounts.totalAmountExcludingTax,
    totalAmount: amounts.totalAmount,

    gatewayId: gateway?.gatewayId ?? 0,
    gateway,
    paymentId: '',
    payment: undefined,
    link: '',
    pdfLink: '',
    documentKey: '',
    daysUntilDue: 0,
    createTime: now,
    modifyTime: now,
    finishTime: 0,
    paidTime: 0,
    deletedTime: 0,
    kind: isNote ? 'credit_note' : 'invoice',
    noteReason: isNote ? 'composed' : '',
    counter: newDocumentData.counter,
    originalInvoiceId: isNote ? originalOf(input.items) : '',
    refundId: newDocumentData.refundId,
    promoApplied: promo !== undefined,
    promoCap: promo?.cap ?? 0n,
    promoCredits,
    promoRate: promoCredits > 0n ? (promo?.exchangeRate ?? 0n) : 0n,
    promoRefunded: newDocumentData.promoRefunded,
    promoCredited: newDocumentData.promoCredited,
    partialCreditPaid: newDocumentData.partialCreditPaid,
    refundedAmount: newDocumentData.refundedAmount,
    refundedToPayments: newDocumentData.refundedToPayments,
    surplus: newDocumentData.surplus,
    deadline: newDocumentData.deadline,
    sendStatus: newDocumentData.sendStatus,
    seller: null,
    buyer: null,
    discount: null,
    subscriptionId,
    billReason,
    periodKind: period.kind,
    periodSeq: period.seq ?? (period.kind === '' ? 0 : 1),
    periodStart: period.start,
    periodEnd: period.end,
    billed: { planSnapshot: snapshot, billingCycleAnchor: anchor, trialEnd, prorationDate, vatNumber, countryCode },
  };
}

/** An add-on that is sold once is an invoice of its own kind, of a subscription all the same. */
const bizTypeOf = ({ reason }: InvoiceInput) => bizType[reason === 'onetime' ? 'onetime' : 'subscription'];

/** The invoice of the largest credit. */
const originalOf = (items: readonly InvoiceItem[]): string =>
  originalInvoice(
    items.flatMap(({ source, unitAmount }) => (source ? [{ invoiceId: source.invoiceId, amount: unitAmount }] : [])),
  );

function newLine({ composition }: CalculatedInvoice, item: InvoiceItem, at: number, context: DocumentContext): LineRow {
  const line = composition.lines[at];
  if (!line) throw new Error(`line ${at} was not priced`);
  const { merchantId, invoiceId } = context;
  const { key, planId, plan, name, description, unitAmount, quantity, period, derivation, source } = item;
  const { amountExcludingTax, promoAmount, discountAmount, tax, amount, originAmount, rate } = line;
  return {
    merchantId,
    invoiceId,
    lineNo: at + 1,
    lineId: `${invoiceId}_${at + 1}`,
    planId,
    plan,
    name,
    description,
    unitAmountExcludingTax: unitAmount,
    quantity,
    amountExcludingTax,
    promoAmount,
    discountAmount,
    tax,
    amount,
    originAmount,
    formula: derivation?.formula ?? '',
    inputs: derivation?.inputs ?? null,
    sourceLineId: source?.lineId ?? '',
    ratePpm: rate.ratePpm,
    category: rate.category,
    taxReason: rate.reason,

    itemKey: key,
    startAt: period?.start ?? 0,
    endAt: period?.end ?? 0,
    printedStart: newLineData.printedStart,
    printedEnd: newLineData.printedEnd,
    metricCharge: item.metricCharge ?? null,
    creditedNet: newLineData.creditedNet,
    creditedTax: newLineData.creditedTax,
    refundedNet: newLineData.refundedNet,
    refundedTax: newLineData.refundedTax,
    waivedNet: newLineData.waivedNet,
    waivedTax: newLineData.waivedTax,
  };
}
