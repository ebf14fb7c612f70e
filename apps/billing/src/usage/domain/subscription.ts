import type { ChargeDocument } from '../../pricing/usage.js';

/** Terms of one plan or add-on in a subscription; prices are in the subscription's currency. */
export interface PlanTerms {
  planId: number;
  quantity: number;
  limits: readonly { metricId: number; metricLimit: number }[];
  /** Metered and recurring prices. */
  charges: readonly ChargeDocument[];
  /** The plan to which an event beyond a limit starts an upgrade; 0 for none. */
  autoUpgradePlanId: number;
}

/** A part of a period with the same plan, quantity and add-ons; the plan is first in `terms`, then add-ons by id. */
export interface Segment {
  start: number;
  end: number;
  terms: readonly PlanTerms[];
}

/** A period of a subscription, [start, end) in unix seconds. Segments tile it. */
export interface UsagePeriod {
  start: number;
  end: number;
  /** grace: over, its invoice still a draft. */
  state: 'open' | 'grace' | 'invoiced';
  segments: readonly Segment[];
}

/** A subscription as usage is counted for it. */
export interface UsageSubscription {
  subscriptionId: string;
  userId: number;
  productId: number;
  currency: string;
  start: number;
  /** When it ended; 0 while it lives. */
  end: number;
  /** Trials and free time, in order: nothing in them is charged, and charges count from zero after each. */
  free: readonly { start: number; end: number }[];
  /** Until when it takes events after its end: its last usage is billed then. 0 while it lives, and where none is billed. */
  takesUntil: number;
  /** Events of an invoiced period: billed on the next invoice, or refused. */
  lateUsage: 'next' | 'refuse';
  /** The periods of the last 35 days, oldest first; with those that begin within the time that events may be ahead. */
  periods: readonly UsagePeriod[];
}

/** True for a time at which nothing is charged. */
export const isFree = ({ free }: Pick<UsageSubscription, 'free'>, at: number): boolean =>
  free.some(({ start, end }) => start <= at && at < end);

/** The end of the last free time before a time: charges that never restart count from there. */
export const chargedSince = ({ free }: Pick<UsageSubscription, 'free'>, at: number): number =>
  Math.max(0, ...free.map(({ end }) => end).filter(end => end <= at));

/** The terms in force at the end of a period, or now: a change's terms hold at once. */
export const latestTerms = ({ segments }: UsagePeriod): readonly PlanTerms[] => segments.at(-1)?.terms ?? [];

/** The price of a metric: the plan's, else that of the first add-on that has one. */
export function chargeIn(
  terms: readonly PlanTerms[],
  metricId: number,
): { planId: number; charge: ChargeDocument } | undefined {
  for (const { planId, charges } of terms) {
    const charge = charges.find(one => one.metricId === metricId);
    if (charge) return { planId, charge };
  }
  return undefined;
}

/** A metric is limited or charged by the terms. */
export const hasMetric = (terms: readonly PlanTerms[], metricId: number): boolean =>
  terms.some(({ limits, charges }) => [...limits, ...charges].some(one => one.metricId === metricId));
