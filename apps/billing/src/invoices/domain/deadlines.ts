import { DAY_SECONDS } from '@recur/kernel';

// Deadlines of invoices: until when each may be paid, and when its user is told. All times are unix seconds. The deadline of
// an invoice is stored with it, and everything that shows a due date shows that.

/** Allows a payment that was under way at the end of the term to arrive. */
const GRACE_SECONDS = 1_200;

/** Deadline of an invoice by its payment term, from its finish on. */
export const termDeadline = ({ finishTime, daysUntilDue }: { finishTime: number; daysUntilDue: number }): number =>
  daysAfter(finishTime, daysUntilDue) + GRACE_SECONDS;

/** Deadline of what is to be paid within days: a first invoice, a change that is paid by wire transfer. */
export const daysAfter = (time: number, days: number): number => time + days * DAY_SECONDS;

/**
 * Deadline of the invoice of a renewal: incompleteExpireSeconds after the start of the period that it bills, or after its
 * first attempt if that is later. Without automatic charges `firstAttempt` is the finish.
 */
export const renewalDeadline = (
  periodStart: number,
  firstAttempt: number,
  { incompleteExpireSeconds }: { incompleteExpireSeconds: number },
): number => Math.max(periodStart, firstAttempt) + incompleteExpireSeconds;

/** Age in seconds of a quote of a change that its submit still accepts, and time to pay the change. */
export const QUOTE_SECONDS = 3_600;

/**
 * Deadline of the invoice of a change, at which the change lapses: an hour after its submit, or when its wire transfer is
 * due; with the period at the latest.
 */
export const changeDeadline = ({
  submitted,
  wireDue = submitted + QUOTE_SECONDS,
  periodEnd,
}: {
  submitted: number;
  wireDue?: number;
  periodEnd: number;
}): number => Math.min(wireDue, periodEnd);

/** A deadline after delays of our own: a delayed attempt leaves one retry interval for another. */
export const extendedDeadline = (deadline: number, delayedAttempt: number, retryIntervalSeconds: number): number =>
  Math.max(deadline, delayedAttempt + retryIntervalSeconds);

/** Days until the deadline as the API shows them (dayUtilDue), rounded up. */
export const daysUntil = (deadline: number, finishTime: number): number =>
  Math.ceil((deadline - finishTime) / DAY_SECONDS);

/** Time of the last notice: a day before the deadline, or the start of the period if that is later. */
export const reminderTime = (deadline: number, periodStart: number): number =>
  Math.max(deadline - DAY_SECONDS, periodStart);
