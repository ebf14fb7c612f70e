import { machine, Rejected, type StateOf } from '@recur/kernel';
import { creditLine, type LineShare, type RefundLedger, type RefundLine } from '../../pricing/refund.js';
import { netOf } from './document-data.js';
import type { Invoice, InvoiceLine } from './invoice.js';
import type { Payment } from './payment.js';

/**
 * Lifecycle of a refund. `created` waits for the gateway, or for the mark of a transfer made by hand; its credit note is
 * numbered at `success` and cancelled otherwise. `reversed` is a refund that the bank sent back.
 */
export const refundLifecycle = machine({
  created: { succeed: 'success', fail: 'failed', cancel: 'cancelled' },
  success: { reverse: 'reversed' },
  failed: {},
  cancelled: {},
  reversed: {},
});
export type RefundStatus = StateOf<typeof refundLifecycle>;
export type RefundMove = (typeof refundLifecycle.moves)[number];

/** A refund of an invoice. Money in minor units of `currency`; times in unix seconds, 0 for not yet. */
export interface Refund {
  /** `re_…` */
  refundId: string;
  /** Integer id, from the sequence of payments. */
  id: number;
  merchantId: number;
  version: number;
  status: RefundStatus;
  type: number;
  invoiceId: string;
  /** Subscription of its invoice; '' for none. */
  subscriptionId: string;
  creditNoteId: string;
  /** '' for an invoice that was paid from credit alone. */
  paymentId: string;
  userId: number;
  gatewayId: number;
  currency: string;
  amount: bigint;
  taxAmount: bigint;
  /** Parts that go through the payment, and back to the main account. */
  toPayments: bigint;
  toMainCredit: bigint;
  /** Promo credits that it returns when it succeeds. */
  promoCredits: bigint;
  /** The merchant's own reference, unique among its refunds; '' for none. */
  externalRefundId: string;
  gatewayRefundId: string;
  countryCode: string;
  reason: string;
  /** Reason given for the outcome. */
  explanation: string;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
  refundTime: number;
  /** Unix second, on the machine's clock, at which it was sent to the gateway; 0 for one that was not. */
  sentTime: number;
  /** How often the gateway was asked for the outcome. */
  inquiries: number;
}

/** The refund after a move. Throws Rejected `refund_not_open`. */
export function movedRefund(refund: Refund, move: RefundMove, explanation: string, now: number): Refund {
  const status = refundLifecycle.step(refund.status, move, 'refund_not_open', `Refund ${refund.refundId}`);
  const refundTime = move === 'succeed' ? now : refund.refundTime;
  return { ...refund, status, explanation: explanation || refund.explanation, refundTime, modifyTime: now };
}

/** Throws Rejected `refund_not_open` unless exactly one refund is open. */
export function theOpenOne(refunds: readonly Refund[], invoiceId: string): Refund {
  const open = refunds.filter(({ status }) => status === 'created');
  const [refund] = open;
  if (refund && open.length === 1) return refund;
  const count = open.length === 0 ? 'no open refund' : `${open.length} open refunds: name its credit note`;
  throw new Rejected('refund_not_open', `Invoice ${invoiceId} has ${count}`);
}

/** Throws Rejected `refund_not_open` for one that its gateway is making. */
export function assertUnsent({ refundId, status, sentTime }: Refund): void {
  if (status !== 'created' || sentTime === 0) return;
  throw new Rejected('refund_not_open', `Refund ${refundId} has been sent to its gateway: cannot cancel it`);
}

// Between an invoice and the ledger with which pricing computes refunds.

/** Throws Rejected `invoice_not_refundable`, then `payment_disputed`. */
export function assertRefundable(invoice: Invoice, payment: Payment | undefined): void {
  const { invoiceId, status } = invoice;
  if (invoice.kind !== 'invoice' || status !== 'paid') {
    throw new Rejected('invoice_not_refundable', `Invoice ${invoiceId} is ${status}: cannot refund it`);
  }
  if (payment?.dispute === 'open') {
    throw new Rejected('payment_disputed', `Payment ${payment.paymentId} is disputed: cannot refund it`);
  }
}

/** The invoice as refunds see it. `payment` is its current payment. */
export function ledgerOf(invoice: Invoice, payment: Payment | undefined): RefundLedger {
  return {
    invoiceId: invoice.invoiceId,
    lines: invoice.lines.map(refundLineOf),
    paid: payment?.status === 'success' ? payment.paymentAmount : 0n,
    creditSpent: invoice.partialCreditPaid,
    refundedToPayments: invoice.refundedToPayments,
    promo: {
      spent: invoice.promoCredits,
      credited: invoice.promoCredited,
      refunded: invoice.promoRefunded,
    },
  };
}

const refundLineOf = (line: InvoiceLine): RefundLine => ({
  lineId: line.lineId,
  category: line.category,
  ratePpm: line.ratePpm,
  net: netOf(line) - line.waivedNet,
  tax: line.tax - line.waivedTax,
  credited: { net: line.creditedNet, tax: line.creditedTax },
  refunded: { net: line.refundedNet, tax: line.refundedTax },
});

/** The invoice after a refund was booked in its ledger, or taken back. */
export function withLedger<I extends Invoice>(invoice: I, ledger: RefundLedger, refundedAmount: bigint): I {
  const lines = invoice.lines.map((line, i) => {
    const { credited, refunded } = ledger.lines[i] as RefundLine;
    const [creditedNet, creditedTax] = [credited.net, credited.tax];
    return { ...line, creditedNet, creditedTax, refundedNet: refunded.net, refundedTax: refunded.tax };
  });
  const { refundedToPayments, promo } = ledger;
  const [promoCredited, promoRefunded] = [promo.credited, promo.refunded];
  return { ...invoice, lines, refundedAmount, refundedToPayments, promoCredited, promoRefunded };
}

/** The invoice after bank charges were accepted on it. */
export function withWaived<I extends Invoice>(invoice: I, shares: readonly LineShare[]): I {
  const lines = invoice.lines.map((line, i) => ({
    ...line,
    waivedNet: line.waivedNet + (shares[i]?.net ?? 0n),
    waivedTax: line.waivedTax + (shares[i]?.tax ?? 0n),
  }));
  return { ...invoice, lines };
}

/** Amounts that a credit line of a later document credits of a line: positive amounts. */
export interface CreditedShare {
  lineId: string;
  net: bigint;
  tax: bigint;
  promoCredits: bigint;
}

/** The invoice after later documents gave back parts of its lines. */
export function withCredited<I extends Invoice>(
  invoice: I,
  payment: Payment | undefined,
  shares: readonly CreditedShare[],
): I {
  const ledger = shares.reduce(
    (booked, { lineId, net, tax, promoCredits }) => creditLine(booked, lineId, { net, tax }, promoCredits),
    ledgerOf(invoice, payment),
  );
  return withLedger(invoice, ledger, invoice.refundedAmount);
}
