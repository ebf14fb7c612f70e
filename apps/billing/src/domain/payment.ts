import { machine, Rejected, type StateOf } from '@recur/kernel';
import {
  cancel as cancelInvoice,
  clear as clearInvoice,
  collect,
  expire as expireInvoice,
  type Invoice,
  markPaid,
} from './invoice.js';

/** A gateway may still report success for a charge that it first called failed; a cancelled payment stays so. */
export const paymentLifecycle = machine({
  created: { succeed: 'success', fail: 'failed', cancel: 'cancelled' },
  success: {},
  failed: { succeed: 'success' },
  cancelled: {},
});
export type PaymentStatus = StateOf<typeof paymentLifecycle>;
type PaymentMove = (typeof paymentLifecycle.moves)[number];

/** How a payment that the merchant asked for is to be made, for the page behind its link and for its gateway. */
export interface Checkout {
  gatewayPaymentType: string;
  paymentUIMode: string;
  /** Who pays a network's fee: merchant or user; '' where nobody said. */
  gasPayer: string;
  /** Where the user goes on from the page, and where when it is left; '' for nowhere. */
  returnUrl: string;
  cancelUrl: string;
  metadata: Record<string, unknown>;
}

/** One attempt to collect an invoice. Money in minor units of `currency`; times in unix seconds, 0 if it has not been. */
export interface Payment {
  /** `pay_…` */
  paymentId: string;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  status: PaymentStatus;
  invoiceId: string;
  userId: number;
  gatewayId: number;
  currency: string;
  /** What is to be collected. */
  totalAmount: bigint;
  /** What was collected: 0 until it succeeds. */
  paymentAmount: bigint;
  /** The gateway's reference for it, a bank's transfer number for example; '' until there is one. */
  gatewayPaymentId: string;
  /** The merchant's own reference for it, unique among its payments; '' where it has none. */
  externalPaymentId: string;
  /** Where it is paid from, as far as the merchant said; '' where it did not. */
  countryCode: string;
  checkout: Checkout | null;
  /** Why it ended as it did, in the words of whoever ended it. */
  reason: string;
  link: string;
  createTime: number;
  modifyTime: number;
  paidTime: number;
  cancelTime: number;
}

/** What makes a payment another than the plain one that finishing an invoice opens. */
export interface Opening extends Pick<Payment, 'paymentId'> {
  externalPaymentId?: string;
  countryCode?: string;
  checkout?: Checkout | null;
  now: number;
}

/**
 * A payment for an open invoice that has none, on the invoice's gateway and link, and the invoice with it as its current
 * one; lock the invoice first, always. Throws what `collect` of an invoice does.
 */
export function open(invoice: Invoice, opening: Opening): [Payment, Invoice] {
  const { paymentId, externalPaymentId = '', countryCode = '', checkout = null, now } = opening;
  const { merchantId, invoiceId, userId, gatewayId, currency, totalAmount, link } = invoice;
  const collected = collect(invoice, { paymentId, gatewayId, link }, now);
  const payment: Payment = {
    paymentId,
    merchantId,
    version: 0,
    status: 'created',
    invoiceId,
    userId,
    gatewayId,
    currency,
    totalAmount,
    paymentAmount: 0n,
    gatewayPaymentId: '',
    externalPaymentId,
    countryCode,
    checkout,
    reason: '',
    link,
    createTime: now,
    modifyTime: now,
    paidTime: 0,
    cancelTime: 0,
  };
  return [payment, collected];
}

/**
 * `open` for an invoice that was opened before, on a gateway and at a link of the payment's own. `current` is the payment
 * that it has, if any. Throws Rejected `invoice_not_open`, then `payment_exists` unless that one has failed.
 */
export function openAnother(
  invoice: Invoice,
  current: Payment | undefined,
  { gatewayId, link, ...opening }: Opening & Pick<Payment, 'gatewayId' | 'link'>,
): [Payment, Invoice] {
  const opened = open({ ...invoice, paymentId: '', gatewayId, link }, opening);
  const payment = awaited(invoice, current);
  if (payment === undefined) return opened;
  const { invoiceId } = invoice;
  throw new Rejected(
    'payment_exists',
    `Payment ${payment.paymentId} of invoice ${invoiceId} is ${payment.status}: cannot open another`,
  );
}

/** How a payment ended well. */
export interface Success extends Pick<Payment, 'gatewayPaymentId'> {
  reason?: string;
  /** Unix seconds. */
  now: number;
}

/**
 * The whole amount was collected: payment and invoice are paid, both or neither.
 * Throws Rejected `invoice_not_open`, then `payment_not_open`.
 */
export function succeed(payment: Payment, invoice: Invoice, success: Success): [Payment, Invoice] {
  belong(payment, invoice);
  const { gatewayPaymentId, reason = '', now } = success;
  const paid = markPaid(invoice, now);
  const status = step(payment, 'succeed');
  const paymentAmount = payment.totalAmount;
  return [{ ...payment, status, paymentAmount, gatewayPaymentId, reason, paidTime: now, modifyTime: now }, paid];
}

/**
 * The transfer arrived at the merchant's bank: `succeed`, where the wire-transfer gateway takes such a payment.
 * `gatewayPaymentId` is the bank's transfer number. Throws what `succeed` does, then Rejected `currency_mismatch`
 * where the gateway's currency is another, or `amount_below_minimum` where the total is less than it takes.
 */
export function receiveTransfer(
  payment: Payment,
  invoice: Invoice,
  gateway: { currency: string; minimumAmount: bigint },
  success: Success,
): [Payment, Invoice] {
  const received = succeed(payment, invoice, success);
  const { invoiceId, currency, totalAmount } = invoice;
  if (currency !== gateway.currency) {
    throw new Rejected(
      'currency_mismatch',
      `Invoice ${invoiceId} is in ${currency}: the gateway receives ${gateway.currency}`,
    );
  }
  if (totalAmount < gateway.minimumAmount) {
    throw new Rejected(
      'amount_below_minimum',
      `Invoice ${invoiceId} comes to ${totalAmount}: the gateway receives ${gateway.minimumAmount} or more`,
    );
  }
  return received;
}

/**
 * Calls an open payment off, and its invoice with it where that is open; else the invoice is returned as it is.
 * Throws Rejected `payment_not_open`.
 */
export function cancel(payment: Payment, invoice: Invoice, now: number): [Payment, Invoice] {
  belong(payment, invoice);
  const cancelled = stop(payment, now);
  return [cancelled, invoice.status === 'processing' ? cancelInvoice(invoice, now) : invoice];
}

/**
 * Calls an open invoice off, and the payment that was to collect it; none is returned where there is none, or where
 * it has failed already. Throws Rejected `invoice_not_open`, then `payment_not_open`.
 */
export function callOff(invoice: Invoice, current: Payment | undefined, now: number): [Payment | undefined, Invoice] {
  const cancelled = cancelInvoice(invoice, now);
  const payment = awaited(invoice, current);
  return [payment && stop(payment, now), cancelled];
}

/**
 * Cancels the current payment of an open invoice, which is payable again. Throws Rejected `invoice_not_open`, then
 * `invoice_without_payment`, then `payment_not_open`.
 */
export function clear(invoice: Invoice, current: Payment | undefined, now: number): [Payment, Invoice] {
  const cleared = clearInvoice(invoice, now);
  if (current === undefined) throw withoutPayment(invoice, 'clear');
  belong(current, invoice);
  return [stop(current, now), cleared];
}

/** What an open invoice needs a current payment for, and has none. */
export const withoutPayment = ({ invoiceId }: Pick<Invoice, 'invoiceId'>, move: 'clear' | 'pay'): Rejected =>
  new Rejected('invoice_without_payment', `Invoice ${invoiceId} has no current payment: cannot ${move} it`);

/**
 * An open invoice was not paid in time: it fails, and so does the payment that was to collect it; none is returned
 * where there is none, or where it has failed already. Throws what `expire` of an invoice does, then Rejected
 * `payment_not_open`.
 */
export function expire(invoice: Invoice, current: Payment | undefined, now: number): [Payment | undefined, Invoice] {
  const expired = expireInvoice(invoice, now);
  const payment = awaited(invoice, current);
  if (payment === undefined) return [undefined, expired];
  const status = step(payment, 'fail');
  return [{ ...payment, status, reason: 'The invoice was not paid in time', modifyTime: now }, expired];
}

/** The payment that an open invoice waits for: an invoice stays open when a charge fails. */
function awaited(invoice: Invoice, current: Payment | undefined): Payment | undefined {
  if (current === undefined) return undefined;
  belong(current, invoice);
  return current.status === 'failed' ? undefined : current;
}

function stop(payment: Payment, now: number): Payment {
  return { ...payment, status: step(payment, 'cancel'), cancelTime: now, modifyTime: now };
}

function step(payment: Payment, move: PaymentMove): PaymentStatus {
  return paymentLifecycle.step(payment.status, move, 'payment_not_open', `Payment ${payment.paymentId}`);
}

function belong(payment: Payment, invoice: Invoice): void {
  if (payment.invoiceId !== invoice.invoiceId || payment.merchantId !== invoice.merchantId) {
    throw new Error(`payment ${payment.paymentId} is not of invoice ${invoice.invoiceId}`);
  }
}
