import type { IntervalUnit, Plan } from '@recur/contracts';
import { boundary } from '@recur/kernel';
import { priceIn } from './items.js';

/** A step of a trial at its place in time. */
export interface TrialStep {
  name: string;
  start: number;
  end: number;
  /** Price of one unit of the plan for the whole step, in minor units of the subscription's currency. */
  price: number;
  compareAtPrice: number;
  /** Seconds; 0: by interval. */
  duration: number;
  intervalUnit: string;
  intervalCount: number;
  metadata: Record<string, unknown>;
}

/**
 * The trial of a plan from `start`, step by step; empty for a plan without one. A step lasts trialDuration seconds if
 * that is positive, else its intervals from its own start. A plan without steps has at most one, of trialDurationTime.
 */
export function trialSteps(plan: Plan, currency: string, start: number, zone: string): TrialStep[] {
  const steps: TrialStep[] = [];
  let from = start;
  for (const step of configuredTrials(plan)) {
    const { trialDuration: duration, intervalUnit, intervalCount } = step;
    const interval = { unit: (intervalUnit || 'day') as IntervalUnit, count: intervalCount || 1 };
    const end = duration > 0 ? from + duration : boundary(from, 1, interval, zone);
    steps.push({
      name: step.name,
      start: from,
      end,
      duration,
      intervalUnit,
      intervalCount,
      metadata: step.metadata,
      price: Number(priceIn(plan, currency, step.trialPrice)),
      compareAtPrice: Number(priceIn(plan, currency, step.trialCompareAtPrice)),
    });
    from = end;
  }
  return steps;
}

function configuredTrials({ multiTrials, trialDurationTime, trialAmount }: Plan): Plan['multiTrials'] {
  if (multiTrials.length > 0) return multiTrials;
  if (trialDurationTime === 0) return [];
  return [
    {
      name: '',
      metadata: {},
      intervalUnit: '',
      intervalCount: 0,
      trialDuration: trialDurationTime,
      trialPrice: trialAmount,
      trialCompareAtPrice: 0,
    },
  ];
}

/**
 * The end of the free period that hours are appended to (add_new_trial_start): it begins at the latest of now, the end of
 * the current period and trialEnd, so repeats add up.
 */
export const appendedTrialEnd = (
  { now, currentPeriodEnd, trialEnd }: { now: number; currentPeriodEnd: number; trialEnd: number },
  hours: number,
): number => Math.max(now, currentPeriodEnd, trialEnd) + hours * 3600;
