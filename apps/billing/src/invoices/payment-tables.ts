import { document, flag, int, integer, money, oneOf, optionalDocument, table, text } from '@recur/platform';
import type { Collection } from './domain/dunning.js';
import { type Checkout, chargeOutcomes, type Payment, paymentLifecycle } from './domain/payment.js';
import { type Refund, refundLifecycle } from './domain/refund.js';

export const payments = table<Payment>('payments', {
  key: ['merchantId', 'paymentId'],
  columns: {
    merchantId: integer(),
    paymentId: text(),
    id: { ...integer(), default: 0 },
    version: int(),
    status: text(),
    invoiceId: text(),
    subscriptionId: { ...text(), default: '' },
    userId: integer(),
    gatewayId: integer(),
    currency: text(),
    totalAmount: money(),
    paymentAmount: money(),
    refundedAmount: { ...money(), default: 0 },
    dispute: { ...text<Payment['dispute']>(), default: '' },
    gatewayPaymentId: text(),
    externalPaymentId: { ...text(), default: '' },
    countryCode: { ...text(), default: '' },
    checkout: optionalDocument<Checkout>(),
    reason: text(),
    link: text(),
    automatic: { ...flag(), default: false },
    methodId: { ...text(), default: '' },
    methodName: { ...text(), default: '' },
    manualCapture: { ...flag(), default: false },
    captureId: { ...text(), default: '' },
    attempt: { ...int(), default: 0 },
    outcome: { ...text<Payment['outcome']>(), default: '' },
    sentTime: { ...integer(), default: 0 },
    inquiries: { ...int(), default: 0 },
    announcedTime: { ...integer(), default: 0 },
    createTime: integer(),
    modifyTime: integer(),
    paidTime: integer(),
    cancelTime: integer(),
  },
  checks: {
    payments_status: oneOf('status', paymentLifecycle.states),
    payments_refunded: 'refunded_amount between 0 and payment_amount',
    payments_outcome: oneOf('outcome', chargeOutcomes),
    payments_dispute: `dispute in ('', 'open', 'won', 'lost')`,
  },
  indices: {
    // guards against paying an invoice twice, independently of the code
    payments_one_live: { on: ['merchantId', 'invoiceId'], unique: true, where: `status in ('created', 'success')` },
    payments_external: {
      on: ['merchantId', 'externalPaymentId'],
      unique: true,
      where: `external_payment_id <> ''`,
    },
    payments_reference: { on: ['merchantId', 'gatewayId', 'gatewayPaymentId'], where: `gateway_payment_id <> ''` },
    payments_invoice: { on: ['merchantId', 'invoiceId'] },
    payments_newest: { on: ['merchantId', 'createTime', 'paymentId'] },
    payments_user: { on: ['merchantId', 'userId', 'createTime', 'paymentId'] },
    payments_in_status: { on: ['merchantId', 'status', 'createTime', 'paymentId'] },
    payments_currency: { on: ['merchantId', 'currency', 'createTime', 'paymentId'] },
    payments_gateway: { on: ['merchantId', 'gatewayId', 'createTime', 'paymentId'] },
    payments_country: {
      on: ['merchantId', 'countryCode', 'createTime', 'paymentId'],
      where: `country_code <> ''`,
    },
    payments_unreleased: { on: ['merchantId', 'userId'], where: `outcome <> '' and status in ('cancelled', 'failed')` },
  },
});

/** How open invoices are charged, where their gateway charges by itself. */
export const collections = table<Collection>('collections', {
  key: ['merchantId', 'invoiceId'],
  columns: {
    merchantId: integer(),
    invoiceId: text(),
    automatic: flag(),
    tryNow: flag(),
    tryMethodId: { ...text(), default: '' },
    attempts: int(),
    failures: int(),
    nextTime: integer(),
    lastTime: integer(),
    lastMethodId: { ...text(), default: '' },
    awaitsMethod: { ...flag(), default: false },
    retryIntervalSeconds: integer(),
    maxRetries: int(),
    incompleteExpireSeconds: integer(),
  },
});

/** The kind of work that makes a refund at its gateway; the key is the refund's id. */
export const REFUND_SEND = 'refund.send';

export const refunds = table<Refund>('refunds', {
  key: ['merchantId', 'refundId'],
  columns: {
    merchantId: integer(),
    refundId: text(),
    id: { ...integer(), default: 0 },
    version: int(),
    status: text<Refund['status']>(),
    type: int(),
    invoiceId: text(),
    subscriptionId: { ...text(), default: '' },
    creditNoteId: text(),
    paymentId: text(),
    userId: integer(),
    gatewayId: integer(),
    currency: text(),
    amount: money(),
    taxAmount: money(),
    toPayments: money(),
    toMainCredit: money(),
    promoCredits: money(),
    externalRefundId: text(),
    gatewayRefundId: text(),
    countryCode: text(),
    reason: text(),
    explanation: text(),
    metadata: document<Record<string, unknown>>(),
    createTime: integer(),
    modifyTime: integer(),
    refundTime: integer(),
    sentTime: { ...integer(), default: 0 },
    inquiries: { ...int(), default: 0 },
  },
  checks: {
    refunds_status: oneOf('status', refundLifecycle.states),
    refunds_amount: 'amount > 0 and to_payments >= 0 and to_main_credit >= 0 and amount = to_payments + to_main_credit',
  },
  indices: {
    refunds_external: { on: ['merchantId', 'externalRefundId'], unique: true, where: `external_refund_id <> ''` },
    // the credit note of a change may be paid out through several payments
    refunds_note: { on: ['merchantId', 'creditNoteId'] },
    refunds_newest: { on: ['merchantId', 'createTime', 'id'] },
    refunds_user: { on: ['merchantId', 'userId', 'createTime', 'id'] },
    refunds_invoice: { on: ['merchantId', 'invoiceId'] },
    refunds_payment: { on: ['merchantId', 'paymentId', 'createTime', 'refundId'] },
  },
});

/** Money that arrived for a payment beyond what was due. It went to the main account of the user. */
export interface PaymentSurplus {
  merchantId: number;
  paymentId: string;
  /** The gateway's reference; a repeated report of the same money has the same one. */
  gatewayPaymentId: string;
  invoiceId: string;
  amount: bigint;
  createTime: number;
}

export const paymentSurpluses = table<PaymentSurplus>('payment_surpluses', {
  key: ['merchantId', 'paymentId', 'gatewayPaymentId'],
  columns: {
    merchantId: integer(),
    paymentId: text(),
    gatewayPaymentId: text(),
    invoiceId: text(),
    amount: money(),
    createTime: integer(),
  },
  checks: { payment_surpluses_amount: 'amount > 0' },
  indices: { payment_surpluses_invoice: { on: ['merchantId', 'invoiceId'] } },
});
