import { ratio } from '@recur/kernel';
import { partOf, type UsagePrice, usageAmount } from '../../pricing/usage.js';
import { type Aggregation, isGauge, type MetricKind } from './aggregation.js';
import type { Counter } from './counter.js';
import { latestTerms, type PlanTerms, type UsagePeriod } from './subscription.js';

/** Σ limit × quantity over plan and add-ons. */
const planLimit = (terms: readonly PlanTerms[], metricId: number): bigint =>
  terms.reduce(
    (total, { quantity, limits }) =>
      limits
        .filter(limit => limit.metricId === metricId)
        .reduce((sum, { metricLimit }) => sum + BigInt(metricLimit) * BigInt(quantity), total),
    0n,
  );

/**
 * The limit that the plans of a period grant: that of the latest terms, or with proration
 * Σ round(limit × segmentSeconds ÷ periodSeconds) over the segments.
 */
export function limitOf(period: UsagePeriod, metricId: number, prorated: boolean): bigint {
  if (!prorated || period.segments.length < 2) return planLimit(latestTerms(period), metricId);
  const whole = BigInt(period.end - period.start);
  return period.segments.reduce(
    (total, { start, end, terms }) =>
      total + ratio(planLimit(terms, metricId), BigInt(end - start), whole, 'half-away-from-zero'),
    0n,
  );
}

/** An event may raise `used` up to the limit; a decrease is always taken. */
export const exceeds = (before: bigint, after: bigint, total: bigint): boolean => after > total && after > before;

/** Units that a period leaves over to the next. */
export const unusedLimit = (total: bigint, used: bigint): bigint => (total > used ? total - used : 0n);

/** Percentages of a limit at which an alert is sent. */
const alertLevels = [80, 100] as const;

/** The highest level that usage has reached; 0 for none. */
export const levelReached = (used: bigint, total: bigint): number => alertsDue(used, total, 0).at(-1) ?? 0;

/** The levels that usage has reached since `alerted`, the highest one sent before. */
export const alertsDue = (used: bigint, total: bigint, alerted: number): number[] =>
  total <= 0n ? [] : alertLevels.filter(level => level > alerted && used * 100n >= total * BigInt(level));

/** An interval's usage as an invoice bills it. */
export interface DueUsage {
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
export function dueUsage(
  counter: Pick<Counter, 'startAt' | 'endAt' | 'periodStart' | 'periodEnd' | 'billedValue' | 'billedAmount'>,
  value: bigint,
  price: UsagePrice,
  { aggregation, kind }: { aggregation: Aggregation; kind: MetricKind },
): DueUsage {
  const periodSeconds = counter.periodEnd - counter.periodStart;
  const stands = kind === 'chargeRecurring' || isGauge(aggregation);
  const partSeconds = stands ? Math.min(counter.endAt - counter.startAt, periodSeconds) : periodSeconds;
  const total = partOf(usageAmount(price, value), partSeconds, periodSeconds);
  return {
    value,
    billedValue: counter.billedValue,
    amount: total - counter.billedAmount,
    part: { partSeconds, periodSeconds },
  };
}

/**
 * Prefixes of the ids under which usage is closed that no invoice bills: dropped with the end of its subscription, or
 * carried to a later invoice with its lines, below the least that a gateway charges.
 */
export const unbilledIds = { dropped: 'dropped_', carried: 'carried_' } as const;

type UnbilledKind = keyof typeof unbilledIds;

/** The invoice on which usage is charged, else why there is none; both '' while it is open. */
export function chargedOn(closedUnder: string): { chargeInvoiceId: string; unbilledReason: UnbilledKind | '' } {
  const reasons = Object.keys(unbilledIds) as UnbilledKind[];
  const unbilledReason = reasons.find(reason => closedUnder.startsWith(unbilledIds[reason])) ?? '';
  return { chargeInvoiceId: unbilledReason === '' ? closedUnder : '', unbilledReason };
}
