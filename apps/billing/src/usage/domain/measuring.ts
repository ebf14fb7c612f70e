import { invalid } from '@recur/kernel';
import type { Aggregation } from './aggregation.js';

/** An event's contents as far as they are measured. */
export interface Contents {
  aggregationValue?: number | undefined;
  aggregationUniqueId: string;
  metricProperties: Readonly<Record<string, unknown>>;
}

const limits = { uniqueIdCharacters: 255 } as const;

/**
 * The value and unique id of an event: what it states, else the metric's property among its properties. Throws Rejected
 * `invalid_parameters` where that is missing or no whole number.
 */
export function measured(
  { aggregation, property }: { aggregation: Aggregation; property: string },
  { aggregationValue, aggregationUniqueId, metricProperties }: Contents,
): { value: bigint; uniqueId: string } {
  const stated = property === '' ? undefined : metricProperties[property];
  if (aggregation === 'count') return { value: 1n, uniqueId: '' };
  if (aggregation === 'countUnique') {
    const uniqueId = aggregationUniqueId || (isScalar(stated) ? String(stated) : '');
    if (uniqueId !== '' && uniqueId.length <= limits.uniqueIdCharacters) return { value: 1n, uniqueId };
    throw invalid(
      '/aggregationUniqueId',
      `must have 1 to ${limits.uniqueIdCharacters} characters, or be ${property} in metricProperties`,
    );
  }
  const value = aggregationValue ?? wholeIn(stated);
  if (value !== undefined && Math.abs(value) <= largest) return { value: BigInt(value), uniqueId: '' };
  throw invalid('/aggregationValue', `must be a whole number within ±10^12, or be ${property} in metricProperties`);
}

const largest = 1_000_000_000_000;
const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'number';

function wholeIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,13}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined;
}
