import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import { shownPlan } from '../customers/catalog.js';
import { emptyMerchant } from '../customers/merchants.js';
import { gatewayView } from '../gateways/views.js';
import type { Explanation } from '../pricing/explain.js';
import { percentageOf } from '../pricing/tax.js';
import { documentLink } from './document-links.js';
import { daysUntil, termDeadline } from './domain/deadlines.js';
import { amountDue } from './domain/invoice.js';
import type { Checkout, Payment } from './domain/payment.js';
import type { Refund } from './domain/refund.js';
import { linePeriodOf, shownOfSubscription } from './line-views.js';
import { payments, refunds } from './payment-tables.js';
import { type InvoiceState, withParts } from './state.js';
import { type InvoiceRow, invoices, type LineRow } from './tables.js';

const emptyInvoice = contract.emptyOf(contract.Invoice);
const emptyLine = contract.emptyOf(contract.InvoiceLine);
const emptyPayment = contract.emptyOf(contract.Payment);

/** Unix seconds as an ISO 8601 time in UTC. */
export const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** An invoice as the API shows it, with its gateway, current payment, and user if the state has one. */
export function invoiceView(invoice: InvoiceState): contract.Invoice {
  const { gateway, payment, user = null, original, refund } = invoice;
  const { currency } = invoice;
  return {
    ...emptyInvoice,
    id: invoice.id,
    invoiceId: invoice.invoiceId,
    merchantId: invoice.merchantId,
    merchant: invoice.seller ?? { ...emptyMerchant, id: invoice.merchantId },
    userSnapshot: invoice.buyer,
    countryCode: invoice.buyer?.countryCode ?? '',
    vatNumber: invoice.buyer?.vATNumber ?? '',
    status: contract.invoiceStatus[invoice.status],
    sendStatus: invoice.sendStatus,
    number: invoice.number,
    userId: invoice.userId,
    bizType: invoice.bizType,
    createFrom: invoice.createFrom,
    invoiceName: invoice.invoiceName,
    currency,
    taxes: invoice.taxes.map(entry => ({ ...entry })),
    discount: invoice.discount,
    discountCode: invoice.discount?.code ?? '',
    ...payoutsOf(invoice),
    ...shownOfSubscription(invoice),
    originalPaymentInvoice: original ? invoiceView({ ...original, lines: [] }) : null,
    refundId: invoice.refundId,
    refund: refund ? refundView(refund) : null,
    taxPercentage: invoice.taxBps,
    taxAmount: Number(invoice.taxAmount),
    discountAmount: Number(invoice.discountAmount),
    promoCreditDiscountAmount: Number(invoice.promoAmount),
    originAmount: Number(invoice.originAmount),
    totalAmount: Number(invoice.totalAmount),
    amountDue: Number(amountDue(invoice)),
    partialCreditPaidAmount: Number(invoice.partialCreditPaid),
    surplusAmount: Number(invoice.surplus),
    totalAmountExcludingTax: Number(invoice.totalAmountExcludingTax),
    gatewayId: invoice.gatewayId,
    gateway: gateway ? gatewayView(gateway) : null,
    paymentId: invoice.paymentId,
    link: invoice.link,
    paymentLink: invoice.link,
    gatewayInvoicePdf: documentLink(invoice),
    sendPdf: documentLink(invoice),
    ...dueDateOf(invoice),
    createTime: invoice.createTime,
    PaymentMethodId: payment ? methodIdOf(payment) : '',
    autoCharge: payment?.automatic ?? false,
    finishTime: invoice.finishTime,
    paidTime: invoice.paidTime,
    isDeleted: invoice.deletedTime,
    gmtCreate: isoTime(invoice.createTime),
    gmtModify: isoTime(invoice.modifyTime),
    lines: invoice.lines.map(line => lineView(line, currency)),
    payment: payment ? paymentView(payment) : null,
    userAccount: user,
  };
}

/** The due date, and the days to it from the finish. A term that was moved since is rounded up to days. */
export function dueDateOf(
  invoice: Pick<InvoiceState, 'finishTime' | 'daysUntilDue' | 'kind' | 'deadline'>,
): Pick<contract.Invoice, 'deadline' | 'dayUtilDue'> {
  const { finishTime, daysUntilDue, kind } = invoice;
  if (finishTime === 0 || kind !== 'invoice') return { deadline: 0, dayUtilDue: daysUntilDue };
  const deadline = invoice.deadline || termDeadline(invoice);
  const isMoved = deadline !== termDeadline(invoice);
  return { deadline, dayUtilDue: isMoved ? daysUntil(deadline, finishTime) : daysUntilDue };
}

export const explanationView = ({ lines, totals }: Explanation): contract.PortalExplanation => ({
  lines: lines.map(line => ({ ...line, inputs: { ...line.inputs }, amount: Number(line.amount) })),
  totals: totals.map(({ text, amount }) => ({ text, amount: Number(amount) })),
});

/** Credit that the invoice spent. */
const payoutsOf = ({ partialCreditPaid, promoAmount, promoCredits, promoRate }: InvoiceState) => ({
  creditPayout: partialCreditPaid === 0n ? null : payout(partialCreditPaid, partialCreditPaid, 100n),
  promoCreditPayout: promoCredits === 0n ? null : payout(promoCredits, promoAmount, promoRate),
});
const payout = (credit: bigint, money: bigint, rate: bigint): contract.CreditPayout => ({
  creditAmount: Number(credit),
  currencyAmount: Number(money),
  exchangeRate: Number(rate),
});

function lineView(line: LineRow, currency: string): contract.InvoiceLine {
  return {
    ...emptyLine,
    lineId: line.lineId,
    sourceLineId: line.sourceLineId,
    name: line.name,
    description: line.description,
    currency,
    quantity: line.quantity,
    unitAmountExcludingTax: Number(line.unitAmountExcludingTax),
    originUnitAmountExcludeTax: Number(line.unitAmountExcludingTax),
    amountExcludingTax: Number(line.amountExcludingTax),
    discountAmount: Number(line.discountAmount),
    tax: Number(line.tax),
    taxPercentage: percentageOf(line.ratePpm),
    taxRatePpm: line.ratePpm,
    amount: Number(line.amount),
    originAmount: Number(line.originAmount),
    plan: shownPlan(line.plan),
    metricCharge: line.metricCharge,
    ...linePeriodOf(line),
  };
}

/** The method that a payment was last charged with, else the one that was chosen for it. */
const methodIdOf = ({ methodId, checkout }: Payment): string => methodId || (checkout?.paymentMethodId ?? '');

export function paymentView(payment: Payment): contract.Payment {
  const { merchantId, paymentId, invoiceId, subscriptionId, userId, gatewayId, currency, gatewayPaymentId } = payment;
  const { externalPaymentId, countryCode, checkout, link } = payment;
  const failed = payment.status === 'failed' ? payment.reason : '';
  return {
    ...emptyPayment,
    ...(checkout && checkoutView(checkout)),
    externalPaymentId,
    countryCode,
    merchantId,
    paymentId,
    invoiceId,
    subscriptionId,
    userId,
    gatewayId,
    currency,
    gatewayPaymentId,
    paymentMethodId: methodIdOf(payment),
    paymentMethodName: payment.methodName,
    link,
    status: contract.paymentStatus[payment.status],
    totalAmount: Number(payment.totalAmount),
    balanceAmount: Number(payment.totalAmount - payment.paymentAmount),
    paymentAmount: Number(payment.paymentAmount),
    refundAmount: Number(payment.refundedAmount),
    billingReason: payment.reason,
    failureReason: failed,
    lastError: failed,
    autoCharge: payment.automatic,
    automatic: Number(payment.automatic),
    authorizeStatus: authorizeStatusOf(payment),
    createTime: payment.createTime,
    paidTime: payment.paidTime,
    cancelTime: payment.cancelTime,
  };
}

const authorizeStatusOf = ({ captureId, outcome }: Payment) => {
  const { waiting, authorised, captureRequested } = contract.authorizeStatus;
  return captureId !== '' ? captureRequested : outcome === 'authorised' ? authorised : waiting;
};

const checkoutView = ({ gatewayPaymentType, gasPayer, returnUrl, metadata }: Checkout) => ({
  gatewayPaymentType,
  gasPayer,
  returnUrl,
  metadata,
});

type InvoiceEvent = Extract<contract.EventName, `invoice.${string}`>;
type PaymentEvent = Exclude<Extract<contract.EventName, `payment.${string}`>, 'payment.report.mismatch'>;

/** An invoice with its lines, gateway and current payment. Locked before the payment. */
export const invoiceAggregate: AggregateOf<InvoiceEvent, InvoiceRow, InvoiceState, contract.Invoice> = aggregate({
  name: 'invoice',
  title: 'Invoice',
  events: contract.events,
  table: invoices,
  key: 'invoiceId',
  load: withParts,
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: invoiceView,
});

export const paymentAggregate: AggregateOf<PaymentEvent, Payment, Payment, contract.Payment> = aggregate({
  name: 'payment',
  title: 'Payment',
  events: contract.events,
  table: payments,
  key: 'paymentId',
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: paymentView,
});

const emptyRefund = contract.emptyOf(contract.Refund);

export function refundView(refund: Refund): contract.Refund {
  const { merchantId, refundId, invoiceId, subscriptionId, paymentId, userId, gatewayId, currency, type } = refund;
  const { externalRefundId, gatewayRefundId, countryCode, metadata, createTime, refundTime } = refund;
  return {
    ...emptyRefund,
    merchantId,
    refundId,
    invoiceId,
    subscriptionId,
    paymentId,
    userId,
    gatewayId,
    currency,
    type,
    externalRefundId,
    gatewayRefundId,
    countryCode,
    metadata,
    createTime,
    refundTime,
    status: contract.refundStatus[refund.status],
    refundAmount: Number(refund.amount),
    refundComment: refund.reason,
    refundCommentExplain: refund.explanation,
  };
}

type RefundEvent = Extract<contract.EventName, `refund.${string}`>;

/** A refund of an invoice. Locked after the invoice and its credit note. */
export const refundAggregate: AggregateOf<RefundEvent, Refund, Refund, contract.Refund> = aggregate({
  name: 'refund',
  title: 'Refund',
  events: contract.events,
  table: refunds,
  key: 'refundId',
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: refundView,
});
