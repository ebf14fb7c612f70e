import { machine, type StateOf } from '@recur/kernel';
import { amountDue, type Invoice } from './invoice.js';

/** Lifecycle of a payment. A gateway may report success for a charge that it first declined; `cancelled` is final. */
export const paymentLifecycle = machine({
  created: { succeed: 'success', fail: 'failed', cancel: 'cancelled' },
  success: {},
  failed: { succeed: 'success' },
  cancelled: {},
});
export type PaymentStatus = StateOf<typeof paymentLifecycle>;
type PaymentMove = (typeof paymentLifecycle.moves)[number];

/** The merchant's wishes for the hosted page and the gateway. */
export interface Checkout {
  gatewayPaymentType: string;
  paymentUIMode: string;
  /** Payer of the network fee: merchant or user; '' for not given. */
  gasPayer: string;
  /** Targets for a user who completes or leaves the page; '' for none. */
  returnUrl: string;
  cancelUrl: string;
  metadata: Record<string, unknown>;
  /** The saved method that its user chose for this invoice; absent for none. */
  paymentMethodId?: string;
}

/** A chargeback: refunds are refused while it is open. */
export type Dispute = '' | 'open' | 'won' | 'lost';

/**
 * State of the charge at the gateway, besides the payment's status. `sending`: a worker has claimed the attempt and may
 * have sent it. `unknown`: its answer was lost or is not final. `action`: the user must act first. `authorised`: the amount
 * is reserved. '' once it is settled, or before it is sent.
 */
export const chargeOutcomes = ['', 'sending', 'unknown', 'action', 'authorised'] as const;
export type ChargeState = (typeof chargeOutcomes)[number];

/** An attempt to collect an invoice. Money in minor units of `currency`; times in unix seconds, 0 for not yet. */
export interface Payment {
  /** `pay_…` */
  paymentId: string;
  /** Integer id, shared with refunds: their order in timelines. */
  id: number;
  merchantId: number;
  /** Incremented by the write path, once per event. */
  version: number;
  status: PaymentStatus;
  invoiceId: string;
  /** Subscription of its invoice; '' for none. */
  subscriptionId: string;
  userId: number;
  gatewayId: number;
  currency: string;
  /** Amount to collect. */
  totalAmount: bigint;
  /** Amount collected: 0 until it succeeds. */
  paymentAmount: bigint;
  /** Amount of it that succeeded refunds gave back. */
  refundedAmount: bigint;
  /** State of a chargeback; '' for none. */
  dispute: Dispute;
  /** The gateway's reference, for example a bank's transfer number; '' until there is one. */
  gatewayPaymentId: string;
  /** The merchant's own reference, unique among its payments; '' for none. */
  externalPaymentId: string;
  /** Country that the payment is made from, if the merchant gave it; else ''. */
  countryCode: string;
  checkout: Checkout | null;
  /** Reason given for the outcome. */
  reason: string;
  link: string;
  /** Charged without the user, as scheduled. */
  automatic: boolean;
  /** The saved method that it was last charged with, and its name as users know it; '' before. */
  methodId: string;
  methodName: string;
  /** The gateway only reserves the amount, until the merchant captures it. */
  manualCapture: boolean;
  /** The merchant's reference of a requested capture; '' for none. */
  captureId: string;
  /** Sendings to the gateway. */
  attempt: number;
  outcome: ChargeState;
  /** Unix second of the last sending, on the machine's clock. */
  sentTime: number;
  /** How often the gateway was asked for the outcome since. */
  inquiries: number;
  /** When the user said that the transfer was sent; 0 if not. */
  announcedTime: number;
  createTime: number;
  modifyTime: number;
  paidTime: number;
  cancelTime: number;
}

/** Id, time and the merchant's optional details of a payment that is being opened. */
export interface PaymentDraft extends Pick<Payment, 'paymentId'> {
  /** The integer id. */
  id?: number;
  externalPaymentId?: string;
  countryCode?: string;
  checkout?: Checkout | null;
  automatic?: boolean;
  manualCapture?: boolean;
  now: number;
}

/** A new payment for the amount due of the invoice, on the invoice's gateway and link. */
export function newPayment(invoice: Invoice, given: PaymentDraft): Payment {
  const { paymentId, id = 0, externalPaymentId = '', countryCode = '', checkout = null, now } = given;
  const { automatic = false, manualCapture = false } = given;
  const { merchantId, invoiceId, subscriptionId, userId, gatewayId, currency, link } = invoice;
  const totalAmount = amountDue(invoice);
  return {
    paymentId,
    id,
    merchantId,
    version: 0,
    status: 'created',
    invoiceId,
    subscriptionId,
    userId,
    gatewayId,
    currency,
    totalAmount,
    paymentAmount: 0n,
    refundedAmount: 0n,
    dispute: '',
    gatewayPaymentId: '',
    externalPaymentId,
    countryCode,
    checkout,
    reason: '',
    link,
    automatic,
    methodId: '',
    methodName: '',
    manualCapture,
    captureId: '',
    attempt: 0,
    outcome: '',
    sentTime: 0,
    inquiries: 0,
    announcedTime: 0,
    createTime: now,
    modifyTime: now,
    paidTime: 0,
    cancelTime: 0,
  };
}

/** Details of a successful collection. */
export interface Success extends Pick<Payment, 'gatewayPaymentId'> {
  reason?: string;
  /** Amount received; the whole by default. */
  amount?: bigint;
  /** Unix seconds. */
  now: number;
}

/** Marks a payment as collected. Throws Rejected `payment_not_open`. */
export function markSucceeded(payment: Payment, { gatewayPaymentId, reason = '', amount, now }: Success): Payment {
  const status = nextPaymentStatus(payment, 'succeed');
  const paymentAmount = amount ?? payment.totalAmount;
  return { ...payment, status, paymentAmount, gatewayPaymentId, reason, paidTime: now, modifyTime: now };
}

/** Marks an open payment as failed. Throws Rejected `payment_not_open`. */
export function markFailed(payment: Payment, reason: string, now: number): Payment {
  return { ...payment, status: nextPaymentStatus(payment, 'fail'), reason, modifyTime: now };
}

/** Marks an open payment as cancelled. Throws Rejected `payment_not_open`. */
export function markPaymentCancelled(payment: Payment, now: number): Payment {
  return { ...payment, status: nextPaymentStatus(payment, 'cancel'), cancelTime: now, modifyTime: now };
}

function nextPaymentStatus(payment: Payment, move: PaymentMove): PaymentStatus {
  return paymentLifecycle.step(payment.status, move, 'payment_not_open', `Payment ${payment.paymentId}`);
}
