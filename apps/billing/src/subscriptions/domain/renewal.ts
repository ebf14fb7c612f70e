import type { ServicePeriod } from '../../pricing/proration.js';
import { isLivePeriod, type Period, type PeriodRow } from './periods.js';
import { advanced, hasEnded, nextPeriod, type Subscription, type Timed } from './subscription.js';

/*
 * Steps of the billing cycle of a subscription, and their times. Level-triggered: each step follows from the state alone,
 * so that any number of them can be made up for after a downtime, one period at a time.
 */

/** A subscription with its periods from the current one on. */
export interface RenewalState {
  sub: Subscription;
  current: PeriodRow | undefined;
  /** The period after the current one, once its invoice was made, or it is known to be free. */
  upcoming: PeriodRow | undefined;
}

/**
 * `invoice`: makes the next period and its invoice. `reinvoice`: makes its invoice again, which was cancelled. `advance`: the
 * next period, which is paid or waits for usage, begins. `billUsage`: the usage before the current period is complete.
 * `markPastDue`: the next period begins unpaid, or the current one continues unpaid. `cancel`: with the current period.
 * `expire`: at the deadline of an invoice that was not made again. `billFinalUsage`: the usage of a subscription that ended
 * with its period is complete.
 */
export type RenewalStep =
  | 'invoice'
  | 'reinvoice'
  | 'advance'
  | 'billUsage'
  | 'markPastDue'
  | 'cancel'
  | 'expire'
  | 'billFinalUsage';

export interface DueStep {
  step: RenewalStep;
  /** Unix second. */
  at: number;
}

export interface RenewalTerms {
  /** Seconds before the end of a period at which the next invoice is made. */
  leadSeconds: number;
  retryIntervalSeconds: number;
}

/** The next step of the cycle; undefined if the subscription has none, or waits for a payment. */
export function nextStep(state: RenewalState, terms: RenewalTerms): DueStep | undefined {
  const { sub, current, upcoming } = state;
  const { currentPeriodEnd: end } = sub;
  if (hasEnded(sub.status)) return current?.finishAt ? { step: 'billFinalUsage', at: current.finishAt } : undefined;
  if (sub.parkedReason !== '') return undefined;
  const unpaid = upcoming ?? (current?.state === 'open' ? current : undefined);
  if (current && current.finishAt > 0) return { step: 'billUsage', at: current.finishAt };
  if (sub.status === 'incomplete') return unpaid && withoutInvoice(unpaid);
  if (sub.status !== 'active') return undefined;
  if (unpaid === current && unpaid?.remakeAt) return withoutInvoice(unpaid);
  if (endsWithPeriod(sub)) return { step: 'cancel', at: end };
  if (!upcoming && unpaid) return { step: 'markPastDue', at: end };
  if (!upcoming) return { step: 'invoice', at: invoiceTime(state, terms) };
  if (upcoming.state === 'paid' || upcoming.finishAt > 0) return { step: 'advance', at: end };
  const again = withoutInvoice(upcoming);
  return again && again.at < end ? again : { step: 'markPastDue', at: end };
}

/** An unpaid period whose invoice was cancelled: it is made again before the deadline, or not at all. */
function withoutInvoice({ remakeAt, deadline }: PeriodRow): DueStep | undefined {
  if (remakeAt === 0) return undefined;
  return remakeAt < deadline ? { step: 'reinvoice', at: remakeAt } : { step: 'expire', at: deadline };
}

/**
 * True if it ends with the current period. A plan that ends with its trial (cancelAtTrialEnd) goes through all of the trial
 * first: its steps, and the free time that was appended to it.
 */
export function endsWithPeriod(
  sub: Pick<Subscription, 'cancelAtPeriodEnd' | 'planSnapshot' | 'trialEnd' | 'currentPeriodEnd'>,
): boolean {
  const { cancelAtPeriodEnd, planSnapshot, trialEnd, currentPeriodEnd } = sub;
  const trialGoesOn = planSnapshot.plan?.cancelAtTrialEnd === 1 && trialEnd > currentPeriodEnd;
  return cancelAtPeriodEnd && !trialGoesOn;
}

/**
 * At the lead before the end of the current period. While periods are made up for, which were over when they were made, one
 * is charged per retry interval.
 */
function invoiceTime({ sub, current }: RenewalState, terms: RenewalTerms): number {
  const { currentPeriodStart, currentPeriodEnd } = sub;
  const time = Math.max(currentPeriodEnd - terms.leadSeconds, currentPeriodStart);
  const isMadeUpFor = current !== undefined && current.createTime >= currentPeriodEnd;
  return isMadeUpFor ? Math.max(time, current.createTime + terms.retryIntervalSeconds) : time;
}

/** Periods that began and were not billed, counted up to `most`. */
export function missedPeriods(sub: Subscription, now: number, most: number): number {
  let missed = 0;
  for (let at = sub; missed < most && at.currentPeriodEnd <= now; missed++) at = advanced(at, nextPeriod(at));
  return missed;
}

/** The periods after the current one that begin by a time: those that are `known`, else as the cycle will make them. */
export function followingPeriods(sub: Timed, until: number, known: readonly ServicePeriod[]): ServicePeriod[] {
  const periods: ServicePeriod[] = [];
  for (let at = sub; at.currentPeriodEnd <= until && periods.length < mostFollowing; ) {
    const start = at.currentPeriodEnd;
    const end = known.find(row => row.start === start)?.end;
    const next = nextPeriod(at);
    const period = end === undefined ? next : { ...next, end };
    periods.push({ start, end: period.end });
    at = advanced(at, period);
  }
  return periods;
}

/** More than begin within a downtime; a bound for a subscription that is parked for long. */
const mostFollowing = 400;

/** A row as a period of its subscription. */
export function periodOf({ multiTrial }: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): Period {
  const step = kind === 'trial' ? (multiTrial?.steps.findIndex(trial => trial.start === start) ?? 0) : undefined;
  return { kind, start, end, ...(step !== undefined && { step }) };
}

/** The live rows among those of a subscription from its current period on, as its state. */
export function renewalState(sub: Subscription, rows: readonly PeriodRow[]): RenewalState {
  const live = rows.filter(row => isLivePeriod(row) && row.subscriptionId === sub.subscriptionId);
  return {
    sub,
    current: live.find(({ startAt }) => startAt === sub.currentPeriodStart),
    upcoming: live.find(({ startAt }) => startAt === sub.currentPeriodEnd),
  };
}
