import { isLivePeriod, type Period, type PeriodRow } from './periods.js';
import { advanced, nextPeriod, type Subscription } from './subscription.js';

/*
 * Steps of the billing cycle of a subscription, and their times. Level-triggered: each step follows from the state alone,
 * so that any number of them can be made up for after a downtime, one period at a time.
 */

/** A subscription with its periods from the current one on. */
export interface CycleState {
  sub: Subscription;
  current: PeriodRow | undefined;
  /** The period after the current one, once its invoice was made, or it is known to be free. */
  ahead: PeriodRow | undefined;
}

/**
 * `make`: the next period and its invoice. `remake`: its invoice again, which was cancelled. `enter`: the next period, which
 * is paid, begins. `suspend`: it begins unpaid. `end`: with the current period. `expire`: at the deadline of an invoice
 * that was not made again.
 */
export type CycleStep = 'make' | 'remake' | 'enter' | 'suspend' | 'end' | 'expire';

export interface Due {
  step: CycleStep;
  /** Unix second. */
  at: number;
}

export interface CycleTerms {
  /** Seconds before the end of a period at which the next invoice is made. */
  leadSeconds: number;
  retryIntervalSeconds: number;
}

/** The next step of the cycle; undefined if the subscription has none, or waits for a payment. */
export function nextStep(state: CycleState, terms: CycleTerms, now: number): Due | undefined {
  const { sub, ahead } = state;
  const { currentPeriodEnd: end } = sub;
  if (sub.parkedReason !== '') return undefined;
  if (sub.status === 'incomplete') return ahead && withoutInvoice(ahead);
  if (sub.status !== 'active') return undefined;
  if (endsWithPeriod(sub)) return { step: 'end', at: end };
  if (!ahead) return { step: 'make', at: makeTime(state, terms, now) };
  if (ahead.state === 'paid') return { step: 'enter', at: end };
  const again = withoutInvoice(ahead);
  return again && again.at < end ? again : { step: 'suspend', at: end };
}

/** An unpaid period whose invoice was cancelled: it is made again before the deadline, or not at all. */
function withoutInvoice({ remakeAt, deadline }: PeriodRow): Due | undefined {
  if (remakeAt === 0) return undefined;
  return remakeAt < deadline ? { step: 'remake', at: remakeAt } : { step: 'expire', at: deadline };
}

/**
 * True if it ends with the current period. A plan that ends with its trial (cancelAtTrialEnd) goes through all steps of
 * the trial first.
 */
export function endsWithPeriod(sub: Subscription): boolean {
  if (!sub.cancelAtPeriodEnd) return false;
  const isInSteps = sub.planSnapshot.plan?.cancelAtTrialEnd === 1 && nextPeriod(sub).kind === 'trial';
  return !isInSteps;
}

/** While periods are made up for, one is charged per retry interval. */
function makeTime({ sub, current }: CycleState, terms: CycleTerms, now: number): number {
  const { currentPeriodStart, currentPeriodEnd } = sub;
  const time = Math.max(currentPeriodEnd - terms.leadSeconds, currentPeriodStart);
  if (currentPeriodEnd > now || !current) return time;
  return Math.max(time, current.createTime + terms.retryIntervalSeconds);
}

/** Periods that began and were not billed, counted up to `most`. */
export function missedPeriods(sub: Subscription, now: number, most: number): number {
  let missed = 0;
  for (let at = sub; missed < most && at.currentPeriodEnd <= now; missed++) at = advanced(at, nextPeriod(at));
  return missed;
}

/** A row as a period of its subscription. */
export function periodOf({ multiTrial }: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): Period {
  const step = kind === 'trial' ? (multiTrial?.steps.findIndex(trial => trial.start === start) ?? 0) : undefined;
  return { kind, start, end, ...(step !== undefined && { step }) };
}

/** The live rows among those of a subscription from its current period on, as its state. */
export function stateOf(sub: Subscription, rows: readonly PeriodRow[]): CycleState {
  const live = rows.filter(row => isLivePeriod(row) && row.subscriptionId === sub.subscriptionId);
  return {
    sub,
    current: live.find(({ startAt }) => startAt === sub.currentPeriodStart),
    ahead: live.find(({ startAt }) => startAt === sub.currentPeriodEnd),
  };
}
