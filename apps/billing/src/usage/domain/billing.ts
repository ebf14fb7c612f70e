import { partOf, priceOf, type UsagePrice } from '../../pricing/usage.js';
import { type Aggregation, isStanding, type MetricKind } from './aggregation.js';
import type { Counter } from './counter.js';

/** A stretch's usage as an invoice bills it. */
export interface Due {
  /** The value that is billed; recurring charges include all before. */
  value: bigint;
  /** The value that earlier documents have billed. */
  billedValue: bigint;
  /** price(value) × part − what earlier documents have billed, in minor units; negative after deletions. */
  amount: bigint;
  part: { partSeconds: number; periodSeconds: number };
}

/**
 * The amount due for a counter at `value`. Count and sum of metered charges accrue, so they split by time themselves; other
 * values stand, and cost their part of the period.
 */
export function dueOf(
  counter: Pick<Counter, 'startAt' | 'endAt' | 'periodStart' | 'periodEnd' | 'billedValue' | 'billedAmount'>,
  value: bigint,
  price: UsagePrice,
  { aggregation, kind }: { aggregation: Aggregation; kind: MetricKind },
): Due {
  const periodSeconds = counter.periodEnd - counter.periodStart;
  const stands = kind === 'chargeRecurring' || isStanding(aggregation);
  const partSeconds = stands ? Math.min(counter.endAt - counter.startAt, periodSeconds) : periodSeconds;
  const total = partOf(priceOf(price, value), partSeconds, periodSeconds);
  return {
    value,
    billedValue: counter.billedValue,
    amount: total - counter.billedAmount,
    part: { partSeconds, periodSeconds },
  };
}
