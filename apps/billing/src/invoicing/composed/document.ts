import { bizType, type createFrom } from '@recur/contracts';
import { isCreditNote, originalInvoice } from '../../pricing/credit-note.js';
import { newFacts, newLineFacts, taxEntry } from '../domain/facts.js';
import type { InvoiceState } from '../state.js';
import type { LineRow } from '../tables.js';
import type { Composed } from './compose.js';
import type { Bill, BillItem } from './domain/bill.js';

/** Identity of a document that is composed. */
export interface DocumentContext {
  merchantId: number;
  /** 0 and '' in a preview. */
  id: number;
  invoiceId: string;
  createFrom: (typeof createFrom)[keyof typeof createFrom];
  now: number;
}

/** The document of a composed bill: a draft of an invoice, or of a credit note where its total is negative. */
export function documentOf(composed: Composed, context: DocumentContext): InvoiceState {
  const { bill, composition, gateway, promo } = composed;
  const { amounts, taxes, promoCredits, taxPercentage } = composition;
  const { id, invoiceId, merchantId, createFrom, now } = context;
  const isNote = isCreditNote(amounts);
  return {
    ...newFacts,
    ...amounts,
    id,
    invoiceId,
    merchantId,
    version: 0,
    status: 'pending',
    number: '',
    userId: bill.userId,
    bizType: bizTypeOf(bill),
    createFrom,
    invoiceName: bill.name,
    currency: bill.currency,
    taxBps: taxPercentage,
    taxes: taxes.map(taxEntry),
    lines: bill.items.map((item, at) => lineOf(composed, item, at, context)),

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
    ...(isNote && { originalInvoiceId: originalOf(bill.items) }),
    promoApplied: promo !== undefined,
    promoCap: promo?.cap ?? 0n,
    promoCredits,
    promoRate: promoCredits > 0n ? (promo?.exchangeRate ?? 0n) : 0n,
    seller: null,
    buyer: null,
    discount: null,
    ...factsOf(composed),
  };
}

/** An add-on that is sold once is an invoice of its own kind, of a subscription all the same. */
const bizTypeOf = ({ reason }: Bill) => bizType[reason === 'onetime' ? 'onetime' : 'subscription'];

function factsOf({ bill }: Composed) {
  const { subscriptionId, reason: billReason, period, snapshot, anchor, trialEnd, prorationDate = 0 } = bill;
  const { vatNumber, countryCode } = bill;
  return {
    subscriptionId,
    billReason,
    periodKind: period.kind,
    periodSeq: period.seq ?? (period.kind === '' ? 0 : 1),
    periodStart: period.start,
    periodEnd: period.end,
    billed: { planSnapshot: snapshot, billingCycleAnchor: anchor, trialEnd, prorationDate, vatNumber, countryCode },
  };
}

/** The invoice of the largest credit. */
const originalOf = (items: readonly BillItem[]): string =>
  originalInvoice(
    items.flatMap(({ source, unitAmount }) => (source ? [{ invoiceId: source.invoiceId, amount: unitAmount }] : [])),
  );

function lineOf({ composition }: Composed, item: BillItem, at: number, context: DocumentContext): LineRow {
  const line = composition.lines[at];
  if (!line) throw new Error(`line ${at} was not composed`);
  const { merchantId, invoiceId } = context;
  const { key, planId, plan, name, description, unitAmount, quantity, stretch, derivation, source } = item;
  const { amountExcludingTax, promoAmount, discountAmount, tax, amount, originAmount, rate } = line;
  return {
    ...newLineFacts,
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
    startAt: stretch?.start ?? 0,
    endAt: stretch?.end ?? 0,
    metricCharge: item.metricCharge ?? null,
  };
}
