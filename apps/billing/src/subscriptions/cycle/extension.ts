import { boundary, Rejected } from '@recur/kernel';
import { intervalOf } from '../domain/items.js';
import { hasEnded } from '../domain/lifecycle.js';
import type { Period, PeriodRow } from '../domain/periods.js';
import { planOf, type Subscription } from '../domain/subscription.js';
import { appendedTrialEnd } from '../domain/trials.js';

/** A subscription with appended trial time. */
export interface Extension {
  sub: Subscription;
  /**
   * The free stretch after its current period, or in its place where that is not paid; undefined where it follows the steps
   * of a trial that are left.
   */
  free: Period | undefined;
}

/**
 * Appends hours of free time after what is paid: periods are counted anew from its end. In a trial of several steps it
 * follows the last one. `unpaid` is the current period where it is not paid: its time until now, and the hours, are free.
 * Throws Rejected `subscription_not_extendable`.
 */
export function extended(sub: Subscription, hours: number, now: number, unpaid?: PeriodRow): Extension {
  if (hasEnded(sub.status) || sub.status === 'init') {
    throw new Rejected(
      'subscription_not_extendable',
      `Subscription ${sub.subscriptionId} is ${sub.status}: cannot extend it by trial time`,
    );
  }
  const start = unpaid && !hasStepsLeft(sub) ? unpaid.startAt : sub.currentPeriodEnd;
  const trialEnd = appendedTrialEnd({ ...sub, currentPeriodEnd: start, now }, hours);
  const after = { ...sub, trialEnd, anchor: trialEnd, periodNo: 0, modifyTime: now };
  if (hasStepsLeft(sub)) return { sub: after, free: undefined };
  const free: Period = { kind: 'free', start, end: trialEnd };
  return { sub: { ...after, currentPeriodEnd: trialEnd }, free };
}

const hasStepsLeft = ({ multiTrial }: Subscription): boolean =>
  multiTrial !== null && !multiTrial.finished && multiTrial.currentIndex + 1 < multiTrial.steps.length;

/** A paid next period after the free stretch in front of it: it keeps its length, a full one by the calendar. */
export function movedAfter(sub: Subscription, row: PeriodRow): PeriodRow {
  const startAt = sub.currentPeriodEnd;
  const full = boundary(startAt, 1, intervalOf(planOf(sub)), sub.timeZone);
  return { ...row, startAt, endAt: row.kind === 'cycle' ? full : startAt + row.endAt - row.startAt };
}

/** The subscription with full periods counted from the end of a stub that was moved; those of others begin before it. */
export const countedAfter = (sub: Subscription, { kind, endAt }: PeriodRow): Subscription =>
  kind === 'stub' ? { ...sub, anchor: endAt } : sub;
