import { Rejected } from '@recur/kernel';
import { assertDecided } from './charge.js';
import type { Invoice } from './invoice.js';
import * as invoices from './invoice.js';
import type { Payment, PaymentDraft, Success } from './payment.js';
import * as payments from './payment.js';

/*
 * Steps that change an invoice and its payment together: both are saved in one transaction, or neither.
 * Lock order: the invoice first, then its payment.
 */

/** Opens a payment for an open invoice that has none. Throws what `attachPayment` does. */
export function openPayment<I extends Invoice>(invoice: I, given: PaymentDraft): [Payment, I] {
  const { gatewayId, link } = invoice;
  const attached = invoices.attachPayment(invoice, { paymentId: given.paymentId, gatewayId, link }, given.now);
  return [payments.newPayment(invoice, given), attached];
}

/**
 * Opens another payment for an open invoice, on its own gateway and link. `current` is the invoice's current payment,
 * if any. Throws Rejected `invoice_not_open`, then `payment_exists` unless the current payment has failed.
 */
export function openAnotherPayment<I extends Invoice>(
  invoice: I,
  current: Payment | undefined,
  { gatewayId, link, ...given }: PaymentDraft & Pick<Payment, 'gatewayId' | 'link'>,
): [Payment, I] {
  const opened = openPayment({ ...invoice, paymentId: '', gatewayId, link }, given);
  const payment = livePayment(invoice, current);
  if (payment === undefined) return opened;
  const { invoiceId } = invoice;
  throw new Rejected(
    'payment_exists',
    `Payment ${payment.paymentId} of invoice ${invoiceId} is ${payment.status}: cannot open another`,
  );
}

/** Records that the whole amount was collected. Throws Rejected `invoice_not_open`, then `payment_not_open`. */
export function receivePayment<I extends Invoice>(payment: Payment, invoice: I, success: Success): [Payment, I] {
  assertSameInvoice(payment, invoice);
  const paid = invoices.markPaid(invoice, success.now);
  return [payments.markSucceeded(payment, success), paid];
}

/**
 * Records a transfer that arrived at the merchant's bank, `gatewayPaymentId` being the bank's transfer number.
 * Throws what `receivePayment` does, then Rejected `currency_mismatch` if the gateway has another currency, or
 * `amount_below_minimum` if the total is below the gateway's minimum.
 */
export function receiveTransfer<I extends Invoice>(
  payment: Payment,
  invoice: I,
  gateway: { currency: string; minimumAmount: bigint },
  success: Success,
): [Payment, I] {
  const received = receivePayment(payment, invoice, success);
  const { invoiceId, currency } = invoice;
  const { totalAmount } = payment;
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

/** Cancels an open payment, and its invoice if that is open. Throws Rejected `payment_not_open`, `payment_under_way`. */
export function cancelPayment<I extends Invoice>(payment: Payment, invoice: I, now: number): [Payment, I] {
  assertSameInvoice(payment, invoice);
  assertDecided(payment);
  const cancelled = payments.markPaymentCancelled(payment, now);
  return [cancelled, invoice.status === 'processing' ? invoices.markInvoiceCancelled(invoice, now) : invoice];
}

/**
 * Voids an open invoice and cancels its payment. Returns no payment if there is none, or if it has already failed.
 * Throws Rejected `invoice_not_open`, then `payment_not_open` or `payment_under_way`.
 */
export function voidInvoice<I extends Invoice>(
  invoice: I,
  current: Payment | undefined,
  now: number,
): [Payment | undefined, I] {
  const cancelled = invoices.markInvoiceCancelled(invoice, now);
  const payment = livePayment(invoice, current);
  assertDecided(payment);
  return [payment && payments.markPaymentCancelled(payment, now), cancelled];
}

/**
 * Cancels the current payment of an open invoice, which becomes payable again. Throws Rejected `invoice_not_open`, then
 * `invoice_without_payment`, then `payment_not_open` or `payment_under_way`.
 */
export function clearPayment<I extends Invoice>(invoice: I, current: Payment | undefined, now: number): [Payment, I] {
  const cleared = invoices.detachPayment(invoice, now);
  if (current === undefined) throw withoutPayment(invoice, 'clear');
  assertSameInvoice(current, invoice);
  assertDecided(current);
  return [payments.markPaymentCancelled(current, now), cleared];
}

/** The refusal for an open invoice that needs a current payment and has none. */
export const withoutPayment = ({ invoiceId }: Pick<Invoice, 'invoiceId'>, move: 'clear' | 'pay'): Rejected =>
  new Rejected('invoice_without_payment', `Invoice ${invoiceId} has no current payment: cannot ${move} it`);

/**
 * Fails an open invoice whose term is over, and its payment. Returns no payment if there is none, or if it has already
 * failed. Throws what `markExpired` does, then Rejected `payment_not_open`.
 */
export function expireInvoice<I extends Invoice>(
  invoice: I,
  current: Payment | undefined,
  now: number,
): [Payment | undefined, I] {
  const expired = invoices.markExpired(invoice, now);
  const payment = livePayment(invoice, current);
  return [payment && payments.markFailed(payment, 'The invoice was not paid in time', now), expired];
}

/** The current payment unless it has failed: an invoice stays open when a charge fails. */
function livePayment(invoice: Invoice, current: Payment | undefined): Payment | undefined {
  if (current === undefined) return undefined;
  assertSameInvoice(current, invoice);
  return current.status === 'failed' ? undefined : current;
}

function assertSameInvoice(payment: Payment, invoice: Invoice): void {
  if (payment.invoiceId !== invoice.invoiceId || payment.merchantId !== invoice.merchantId) {
    throw new Error(`payment ${payment.paymentId} is not of invoice ${invoice.invoiceId}`);
  }
}
