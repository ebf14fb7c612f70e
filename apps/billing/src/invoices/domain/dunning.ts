import { extendedDeadline } from './deadlines.js';

// Times of automatic charges. All times are unix seconds.

/** Settings of automatic charges, in seconds. */
export interface DunningConfig {
  retryIntervalSeconds: number;
  /** Retries after the first attempt; 0 for no limit but the deadline. */
  maxRetries: number;
  /** From the start of the period, or the first attempt if that is later, to the deadline. */
  incompleteExpireSeconds: number;
}

/** How one open invoice is charged. All times are unix seconds on the merchant's clock. */
export interface Collection extends DunningConfig {
  merchantId: number;
  invoiceId: string;
  /** False: charged only by hand. */
  automatic: boolean;
  /** Somebody asked for an attempt at once, beside the schedule. */
  tryNow: boolean;
  /** A saved method that is tried at once, beside the schedule: a new one, or that of a sending that was lost; '' for none. */
  tryMethodId: string;
  /** Automatic attempts that were made. */
  attempts: number;
  /** Payments of it that failed. */
  failures: number;
  /** Time of the next automatic attempt; 0 for none. */
  nextTime: number;
  /** Time of the last attempt, of whatever kind; 0 for none. */
  lastTime: number;
  /** The saved method of that attempt. */
  lastMethodId: string;
  /** An attempt was due for which there was nothing to charge: no method, or a gateway that does not charge. */
  awaitsMethod: boolean;
}

/** Terms of collecting one invoice. */
export interface CollectionTerms extends Partial<DunningConfig> {
  /** False: charged only by hand, or by link. Default true. */
  automatic?: boolean;
  /** First automatic attempt, in unix seconds; the finish by default. */
  chargeTime?: number;
  /** Replaces the deadline of the payment term. */
  deadline?: number;
  /** Start of the period that it bills: the last notice does not come before it. */
  periodStart?: number;
}

const defaultDunning: DunningConfig = {
  retryIntervalSeconds: 43_200,
  maxRetries: 0,
  incompleteExpireSeconds: 0,
};

/** No attempt is due beside the schedule. */
const notTried = { tryNow: false, tryMethodId: '' };

export function newCollection(
  { merchantId, invoiceId }: Pick<Collection, 'merchantId' | 'invoiceId'>,
  { automatic = true, chargeTime = 0, deadline: _, periodStart: __, ...config }: CollectionTerms,
  now: number,
): Collection {
  const nextTime = automatic ? Math.max(chargeTime, now) : 0;
  const last = { lastTime: 0, lastMethodId: '', awaitsMethod: false };
  const begun = { automatic, ...notTried, attempts: 0, failures: 0, nextTime, ...last };
  return { merchantId, invoiceId, ...defaultDunning, ...config, ...begun };
}

/** True until the first attempt of an invoice that is charged as soon as it is finished: what comes of it is announced. */
export const isChargedAtFinish = ({ lastTime, nextTime }: Collection, finishTime: number): boolean =>
  lastTime === 0 && nextTime !== 0 && nextTime <= finishTime;

/** An attempt this much later than scheduled was delayed by us: the schedule goes on from it. */
const DELAY_SECONDS = 600;

/** True if the invoice is to be charged now. */
export const isAttemptDue = (collection: Collection, now: number): boolean =>
  isTriedNow(collection) || isScheduled(collection.nextTime, now);

/** True if an attempt is due beside the schedule. */
export const isTriedNow = ({ tryNow, tryMethodId }: Collection): boolean => tryNow || tryMethodId !== '';
const isScheduled = (nextTime: number, now: number) => nextTime !== 0 && nextTime <= now;

/** True if an automatic attempt from before the deadline was not made yet: it still is, however late. */
export const isMissedAttempt = ({ nextTime }: Collection, deadline: number): boolean =>
  nextTime !== 0 && nextTime < deadline;

/** A collection after an attempt, with the deadline after it and whether the attempt was an automatic one. */
export interface RecordedAttempt {
  collection: Collection;
  deadline: number;
  automatic: boolean;
}

/**
 * Records an attempt that is due. An automatic one schedules the next; if it was delayed by us, the deadline leaves the
 * customer what the delay took: the whole time after a delayed first attempt, a retry interval after another. One beside
 * the schedule uses up no attempt.
 */
export function recordAttempt(before: Collection, deadline: number, now: number, methodId: string): RecordedAttempt {
  const collection = { ...before, ...notTried, lastTime: now, lastMethodId: methodId, awaitsMethod: false };
  if (!isScheduled(collection.nextTime, now)) return { collection, deadline, automatic: false };
  const { nextTime, retryIntervalSeconds, incompleteExpireSeconds } = collection;
  const isDelayed = now - nextTime > DELAY_SECONDS;
  const isFirst = collection.attempts === 0 && incompleteExpireSeconds > 0;
  const extended = extendedDeadline(deadline, now, isFirst ? incompleteExpireSeconds : retryIntervalSeconds);
  const after = isDelayed ? extended : deadline;
  const made = { ...collection, attempts: collection.attempts + 1 };
  return { collection: { ...made, nextTime: nextRetryAt(made, after, now) }, deadline: after, automatic: true };
}

/** Tries a saved method at once. A hard decline had ended the automatic attempts: these begin again. */
export function tryMethod(collection: Collection, methodId: string, now: number): Collection {
  const { attempts, maxRetries, retryIntervalSeconds } = collection;
  const beginsAgain = collection.nextTime === 0 && (maxRetries === 0 || attempts <= maxRetries);
  const nextTime = beginsAgain ? now + retryIntervalSeconds : collection.nextTime;
  return { ...collection, tryMethodId: methodId, nextTime };
}

/**
 * Passes over an attempt that cannot be made: no usable payment method, or an earlier charge that is not settled. In that
 * case (`isBusy`) a saved method is tried once the earlier charge has failed.
 */
export function skipAttempt(before: Collection, deadline: number, now: number, isBusy = false): Collection {
  const collection = { ...before, ...notTried };
  const passed = isBusy ? { ...collection, tryMethodId: before.tryMethodId } : collection;
  if (!isScheduled(collection.nextTime, now)) return passed;
  return { ...passed, nextTime: nextRetryAt(passed, deadline, now) };
}

/** Time of the automatic attempt after the one at nextTime; 0 if there is none left. */
function nextRetryAt(
  { nextTime, attempts, retryIntervalSeconds, maxRetries }: Collection,
  deadline: number,
  now: number,
) {
  if (maxRetries !== 0 && attempts > maxRetries) return 0;
  const next = (now - nextTime > DELAY_SECONDS ? now : nextTime) + retryIntervalSeconds;
  return next < deadline ? next : 0;
}
