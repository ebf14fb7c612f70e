import { document, int, integer, money, table, text } from '@recur/platform';
import { type Refund, refundLifecycle } from '../domain/refund.js';

/** The kind of work that makes a refund at its gateway; the key is the refund's id. */
export const REFUND_SEND = 'refund.send';

const states = refundLifecycle.states.map(state => `'${state}'`).join(', ');

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
    refunds_status: `status in (${states})`,
    refunds_amount: 'amount > 0 and to_payments >= 0 and to_main_credit >= 0 and amount = to_payments + to_main_credit',
  },
  indices: {
    refunds_external: { on: ['merchantId', 'externalRefundId'], unique: true, where: `external_refund_id <> ''` },
    // a composed credit note may be paid out through several payments
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
