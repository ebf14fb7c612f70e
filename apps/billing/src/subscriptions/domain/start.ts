import type { Plan } from '@recur/contracts';
import { boundary, dueSeries, invalid } from '@recur/kernel';
import { intervalOf } from './items.js';
import type { Period } from './periods.js';
import type { MultiTrial } from './subscription.js';
import { type TrialStep, trialSteps } from './trials.js';

/** Terms that decide how a subscription begins. Times are unix seconds, 0 for not given. */
export interface StartTerms {
  plan: Plan;
  currency: string;
  start: number;
  timeZone: string;
  /** A trial of the plan is given to this user. */
  trialAllowed: boolean;
  trialEnd: number;
  freeInInitialPeriod: boolean;
  freeTimeEnd: number;
  billingAnchorDay: number;
}

/** The first period, and where the later ones are counted from. */
export interface Start {
  period: Period;
  anchor: number;
  periodNo: number;
  trialEnd: number;
  multiTrial: MultiTrial | null;
}

/**
 * The start of a subscription: a free trial until a given time, a free first period, the plan's trial, a stub up to the
 * due day, or a full period. Throws Rejected `invalid_parameters`.
 */
export function subscriptionStart(terms: StartTerms): Start {
  const { plan, start, timeZone, trialEnd, freeTimeEnd, billingAnchorDay } = terms;
  const interval = intervalOf(plan);
  for (const [path, time] of Object.entries({ '/trialEnd': trialEnd, '/freeTimeEnd': freeTimeEnd })) {
    if (time !== 0 && time <= start) throw invalid(path, `is ${time}: it must be after now, which is ${start}`);
  }
  const none = { trialEnd: 0, multiTrial: null, periodNo: 0 };
  if (trialEnd > 0) return free(start, trialEnd);
  if (freeTimeEnd > 0) return free(start, freeTimeEnd);
  if (terms.freeInInitialPeriod) {
    const end = boundary(start, 1, interval, timeZone);
    return { ...none, period: { kind: 'free', start, end }, anchor: start, periodNo: 1, trialEnd: end };
  }
  const steps = terms.trialAllowed ? trialSteps(plan, terms.currency, start, timeZone) : [];
  if (steps.length > 0) return inTrial(start, steps);
  if (billingAnchorDay > 0) {
    assertDueDay(billingAnchorDay, plan, '/billingAnchorDay');
    const { anchor, k } = dueSeries(start, start, billingAnchorDay, interval, timeZone);
    const end = boundary(anchor, k, interval, timeZone);
    return { ...none, period: { kind: 'stub', start, end }, anchor, periodNo: k };
  }
  const end = boundary(start, 1, interval, timeZone);
  return { ...none, period: { kind: 'cycle', start, end }, anchor: start, periodNo: 1 };
}

const free = (start: number, end: number): Start => ({
  period: { kind: 'free', start, end },
  anchor: end,
  periodNo: 0,
  trialEnd: end,
  multiTrial: null,
});

function inTrial(start: number, steps: TrialStep[]): Start {
  const end = steps.at(-1)?.end ?? start;
  return {
    period: { kind: 'trial', start, end: steps[0]?.end ?? end, step: 0 },
    anchor: end,
    periodNo: 0,
    trialEnd: end,
    multiTrial: { startedAt: start, currentIndex: 0, finished: false, steps },
  };
}

/** Throws Rejected `invalid_parameters` unless the plan's interval has such a due day. */
export function assertDueDay(dueDay: number, plan: Plan, path: string): void {
  const { unit } = intervalOf(plan);
  if (unit === 'day') throw invalid(path, 'has no place on a plan that is billed by the day');
  if (unit === 'week' && dueDay > 7) throw invalid(path, `is ${dueDay}: the days of a week are 1 to 7`);
}
