import { ratio } from '@recur/kernel';
import { type PlanTerms, termsOf, type UsagePeriod } from './facts.js';

/** Σ limit × quantity over plan and add-ons. */
export const planLimit = (terms: readonly PlanTerms[], metricId: number): bigint =>
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
  if (!prorated || period.segments.length < 2) return planLimit(termsOf(period), metricId);
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
export const carryOver = (total: bigint, used: bigint): bigint => (total > used ? total - used : 0n);

/** Percentages of a limit at which an alert is sent. */
export const alertLevels = [80, 100] as const;

/** The highest level that usage has reached; 0 for none. */
export const levelReached = (used: bigint, total: bigint): number => alertsDue(used, total, 0).at(-1) ?? 0;

/** The levels that usage has reached since `alerted`, the highest one sent before. */
export const alertsDue = (used: bigint, total: bigint, alerted: number): number[] =>
  total <= 0n ? [] : alertLevels.filter(level => level > alerted && used * 100n >= total * BigInt(level));
