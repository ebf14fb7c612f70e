import { Rejected } from '@recur/kernel';
import type { Invoice } from './invoice.js';
import type { Payment } from './payment.js';

/** Money that a gateway says it has received, given back or reserved: minor units of `currency`. */
export interface ReportedMoney {
  is: 'succeeded' | 'authorised';
  reference: string;
  amount: bigint;
  currency: string;
}

/** Outcome of a charge as its gateway states it: in its answer, when it is asked, or in a callback. */
export type ChargeOutcome =
  | ReportedMoney
  | { is: 'cancelled' | 'unknown'; reference: string }
  | { is: 'declined'; kind: 'soft' | 'hard'; reason: string; reference: string }
  | { is: 'needsAction'; link: string; reference: string }
  | { is: 'absent' };

/** An outcome of one sending of a payment. */
export interface ChargeReport {
  paymentId: string;
  attempt: number;
  /** The gateway that reports it. */
  gatewayId: number;
  /** An answer to a call of ours, or a callback, which its gateway sends by itself. */
  by: 'answer' | 'callback';
  outcome: ChargeOutcome;
}

/**
 * Answer to a report. `collect`: the payment succeeds. `overpaid`: money that no open payment waits for. `fail`: it was
 * declined. `requireAction`: the user must act. `authorise`: the amount is reserved. `poll`: not final, the gateway is asked
 * again. `retry`: it never arrived. `close`: the charge of an ended payment is over. `mismatch`: the money is none of the
 * payment's, and a person has to look.
 */
export type ChargeAction =
  | 'ignore'
  | 'collect'
  | 'overpaid'
  | 'fail'
  | 'requireAction'
  | 'authorise'
  | 'poll'
  | 'retry'
  | 'close'
  | 'mismatch';

/** Judges a report. Reports repeat, are late and out of order: one that says nothing new is `ignore`. */
export function chargeAction(payment: Payment, invoice: Invoice, report: ChargeReport): ChargeAction {
  const { attempt, outcome } = report;
  if (statesMoney(outcome)) {
    if (isRepeated(payment, outcome)) return 'ignore';
    if (mismatchOf(payment, report, outcome)) return 'mismatch';
  } else if (report.gatewayId !== payment.gatewayId) {
    return 'ignore';
  }
  if (outcome.is === 'succeeded') return actionOnSuccess(payment, invoice);
  // money counts from any sending, anything else only from the last
  if (attempt !== payment.attempt) return 'ignore';
  if (payment.status !== 'created') return actionOnEnded(payment, outcome);
  switch (outcome.is) {
    case 'declined':
    case 'cancelled':
      return 'fail';
    case 'needsAction':
      return payment.outcome === 'action' ? 'poll' : 'requireAction';
    case 'authorised':
      return payment.outcome === 'authorised' && payment.captureId === '' ? 'ignore' : 'authorise';
    case 'absent':
      return payment.outcome === 'sending' || payment.outcome === 'unknown' ? 'retry' : 'ignore';
    case 'unknown':
      return payment.outcome === 'authorised' && payment.captureId === '' ? 'ignore' : 'poll';
  }
}

/** True for an outcome that states money. */
export const statesMoney = (outcome: ChargeOutcome): outcome is ReportedMoney =>
  outcome.is === 'succeeded' || outcome.is === 'authorised';

/** The part of reported money that does not fit the payment. */
export type Mismatch = 'gateway' | 'sending' | 'currency' | 'amount';

/** The fault of a report's money; undefined for money of the payment's own gateway, currency and sendings. */
export function mismatchOf(
  payment: Pick<Payment, 'gatewayId' | 'attempt' | 'currency'>,
  { gatewayId, attempt }: Pick<ChargeReport, 'gatewayId' | 'attempt'>,
  { amount, currency }: ReportedMoney,
): Mismatch | undefined {
  if (gatewayId !== payment.gatewayId) return 'gateway';
  if (attempt < 1 || attempt > payment.attempt) return 'sending';
  if (currency !== payment.currency) return 'currency';
  return amount > 0n ? undefined : 'amount';
}

/** True for the money that the payment succeeded with, told again by whichever gateway. */
const isRepeated = (payment: Payment, { is, reference }: ReportedMoney): boolean =>
  is === 'succeeded' && payment.status === 'success' && payment.gatewayPaymentId === reference;

function actionOnSuccess(payment: Payment, invoice: Invoice): ChargeAction {
  const isAwaited = payment.status === 'created' && invoice.status === 'processing';
  return isAwaited && invoice.paymentId === payment.paymentId ? 'collect' : 'overpaid';
}

function actionOnEnded(payment: Payment, { is }: ChargeOutcome): ChargeAction {
  if (payment.outcome === '' || payment.status === 'success') return 'ignore';
  return is === 'declined' || is === 'cancelled' || is === 'absent' ? 'close' : 'poll';
}

const limits = { firstSeconds: 60, actionSeconds: 3_600, mostSeconds: 21_600 } as const;

/**
 * Seconds until the gateway is asked for the outcome again: a minute, then twice as long each time, up to six hours. Users
 * have an hour to act first, unless the payment has ended and its charge is to be released.
 */
export function pollDelay({
  inquiries,
  outcome,
  status = 'created',
}: Pick<Payment, 'inquiries' | 'outcome'> & Partial<Pick<Payment, 'status'>>): number {
  const first = outcome === 'action' && status === 'created' ? limits.actionSeconds : limits.firstSeconds;
  return Math.min(first * 2 ** Math.min(inquiries, 10), limits.mostSeconds);
}

/**
 * True from the moment that a charge or its capture is claimed until its outcome is known: the money may be taken. What it
 * pays for neither ends nor is replaced meanwhile.
 */
export const isUndecided = (payment: Payment | undefined): payment is Payment =>
  payment?.status === 'created' &&
  (payment.outcome === 'sending' || payment.outcome === 'unknown' || payment.captureId !== '');

/** True while a charge of it is at its gateway, be it one that waits for its user or for the merchant. */
export const isBusy = (payment: Payment | undefined): boolean =>
  payment?.status === 'created' && payment.outcome !== '';

/** Throws Rejected `payment_under_way` while the money of a payment may be taken. */
export function assertDecided(payment: Payment | undefined): void {
  if (isUndecided(payment)) throw paymentUnderWay(payment);
}

/** The refusal of what would void a payment that may succeed at any moment. */
const paymentUnderWay = ({ paymentId, invoiceId }: Pick<Payment, 'paymentId' | 'invoiceId'>): Rejected =>
  new Rejected(
    'payment_under_way',
    `Payment ${paymentId} of invoice ${invoiceId} is under way: wait for its outcome, and try again`,
  );

/** The idempotency key of a sending, and the sending that a key names. */
export const chargeIdempotencyKey = ({ paymentId, attempt }: Pick<Payment, 'paymentId' | 'attempt'>): string =>
  `${paymentId}-${attempt}`;
export function sendingOf(key: string): Pick<ChargeReport, 'paymentId' | 'attempt'> | undefined {
  const [, paymentId = '', attempt = ''] = /^(pay_\w+)-(\d{1,9})$/.exec(key) ?? [];
  return paymentId === '' ? undefined : { paymentId, attempt: Number(attempt) };
}

/**
 * Asks for an authorised amount to be collected; the payment as it is for a repeat. Throws Rejected `payment_not_open`, then
 * `payment_not_authorised`.
 */
export function requestCapture(payment: Payment, captureId: string, now: number): Payment {
  if (payment.captureId === captureId) return payment;
  const { paymentId, status } = payment;
  if (status !== 'created') {
    throw new Rejected('payment_not_open', `Payment ${paymentId} is ${status}: cannot capture it`);
  }
  if (payment.captureId !== '') {
    throw new Rejected('payment_not_authorised', `Payment ${paymentId} is being captured as ${payment.captureId}`);
  }
  if (payment.outcome !== 'authorised') throw new Rejected('payment_not_authorised');
  return { ...payment, captureId, modifyTime: now };
}
