import { Rejected } from '@recur/kernel';
import { creditLine, type LineShare, type RefundLedger, type RefundLine } from '../../pricing/refund.js';
import { netOf } from './facts.js';
import type { Invoice, InvoiceLine } from './invoice.js';
import type { Payment } from './payment.js';

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

/** Amounts that a credit line of a later document gives back of a line: positive amounts. */
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
