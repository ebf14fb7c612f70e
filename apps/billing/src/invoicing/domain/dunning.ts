// Times of automatic charges and deadlines. All times are unix seconds.

/** Settings of automatic charges, in seconds. */
export interface DunningConfig {
  retryIntervalSeconds: number;
  /** Retries after the first attempt; 0 for no limit but the deadline. */
  maxRetries: number;
  /** From the start of the period, or the first attempt if that is later, to the deadline. */
  incompleteExpireSeconds: number;
}

/** Automatic attempts: the charge time, then every retry interval; none at or after the deadline. */
export function attemptTimes(chargeTime: number, deadline: number, config: DunningConfig): number[] {
  const { retryIntervalSeconds, maxRetries } = config;
  const times: number[] = [];
  for (let time = chargeTime; time < deadline; time += retryIntervalSeconds) {
    if (maxRetries !== 0 && times.length > maxRetries) break;
    times.push(time);
  }
  return times;
}

/**
 * Deadline of a cycle invoice: incompleteExpireSeconds after the start of the period that it bills, or after its first
 * attempt if that is later. Without automatic charges `firstAttempt` is the finish.
 */
export const cycleDeadline = (
  periodStart: number,
  firstAttempt: number,
  { incompleteExpireSeconds }: Pick<DunningConfig, 'incompleteExpireSeconds'>,
): number => Math.max(periodStart, firstAttempt) + incompleteExpireSeconds;

/** Deadline of a first invoice. */
export const firstInvoiceDeadline = (finishTime: number, days: number): number => finishTime + days * 86_400;

/** A deadline after delays of our own: a delayed attempt leaves one retry interval for another. */
export const extendedDeadline = (deadline: number, delayedAttempt: number, retryIntervalSeconds: number): number =>
  Math.max(deadline, delayedAttempt + retryIntervalSeconds);

/** Days until the deadline as the API shows them (dayUtilDue), rounded up. */
export const daysUntil = (deadline: number, finishTime: number): number => Math.ceil((deadline - finishTime) / 86_400);

/** Time of the last notice: a day before the deadline, or the start of the period if that is later. */
export const lastNoticeTime = (deadline: number, periodStart: number): number =>
  Math.max(deadline - 86_400, periodStart);

/** True if a subscription is parked for a decision: more periods were missed in machine time than are caught up alone. */
export const isParked = (missedPeriods: number): boolean => missedPeriods > 3;
