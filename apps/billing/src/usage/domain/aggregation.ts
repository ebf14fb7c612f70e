import { invalid } from '@recur/kernel';

/** How the values of events become one number; the names of the codes table. */
export type Aggregation = 'count' | 'countUnique' | 'latest' | 'max' | 'sum';
/** The four kinds of metric; the names of the codes table. */
export type MetricKind = 'limitMetered' | 'chargeMetered' | 'chargeRecurring' | 'limitRecurring';

/** An event as far as it is aggregated. */
export interface EventValue {
  id: number;
  /** Unix seconds. */
  eventTime: number;
  /** 1 where events are counted. */
  value: bigint;
  /** '' but for unique counts. */
  uniqueId: string;
}

/**
 * Count of a period so far. Invariant: equal to the aggregation of the events of the interval that are
 * not deleted, in whatever order they arrived (`aggregateAll`). Unique ids are kept beside it.
 */
export interface Tally {
  events: bigint;
  used: bigint;
  /** Time and id of the event that `latest` shows; 0 for none. */
  latestTime: number;
  latestId: number;
}

export const noTally: Tally = { events: 0n, used: 0n, latestTime: 0, latestId: 0 };

/** Values that stand until they are replaced, in contrast to those that accrue with each event. */
export const isGauge = (aggregation: Aggregation): boolean => aggregation !== 'count' && aggregation !== 'sum';

/**
 * The tally with one more event. `isNew`: its unique id has no other event in the interval. The latest value is that of
 * the greatest eventTime, ties by id; the maximum of no events is 0.
 */
export function withEvent(aggregation: Aggregation, tally: Tally, event: EventValue, isNew = true): Tally {
  const events = tally.events + 1n;
  switch (aggregation) {
    case 'count':
      return { ...tally, events, used: tally.used + 1n };
    case 'sum':
      return { ...tally, events, used: tally.used + event.value };
    case 'countUnique':
      return { ...tally, events, used: tally.used + (isNew ? 1n : 0n) };
    case 'max':
      return { ...tally, events, used: tally.events === 0n || event.value > tally.used ? event.value : tally.used };
    case 'latest':
      if (!isLater(event, tally)) return { ...tally, events };
      return { events, used: event.value, latestTime: event.eventTime, latestId: event.id };
  }
}

/**
 * The tally without one of its events; undefined where only a recount can tell: the event was the maximum or the latest.
 * `isLast`: no other event of the interval has its unique id.
 */
export function withoutEvent(
  aggregation: Aggregation,
  tally: Tally,
  event: EventValue,
  isLast = true,
): Tally | undefined {
  const events = tally.events - 1n;
  if (events === 0n) return noTally;
  switch (aggregation) {
    case 'count':
      return { ...tally, events, used: tally.used - 1n };
    case 'sum':
      return { ...tally, events, used: tally.used - event.value };
    case 'countUnique':
      return { ...tally, events, used: tally.used - (isLast ? 1n : 0n) };
    case 'max':
      return event.value < tally.used ? { ...tally, events } : undefined;
    case 'latest':
      return event.id === tally.latestId ? undefined : { ...tally, events };
  }
}

/** The tally of all events of an interval, from nothing. */
export function aggregateAll(aggregation: Aggregation, events: readonly EventValue[]): Tally {
  const seen = new Set<string>();
  return events.reduce((tally, event) => {
    const isNew = !seen.has(event.uniqueId);
    seen.add(event.uniqueId);
    return withEvent(aggregation, tally, event, isNew);
  }, noTally);
}

/**
 * Joins the value of an interval to that of those before it, for recurring charges, which never restart. Unique ids are
 * counted over all intervals instead, since one may occur in several.
 */
export function carriedTally(aggregation: Exclude<Aggregation, 'countUnique'>, before: bigint, own: Tally): bigint {
  if (own.events === 0n) return before;
  switch (aggregation) {
    case 'latest':
      return own.used;
    case 'max':
      return own.used > before ? own.used : before;
    default:
      return before + own.used;
  }
}

const isLater = ({ eventTime, id }: EventValue, { events, latestTime, latestId }: Tally): boolean =>
  events === 0n || eventTime > latestTime || (eventTime === latestTime && id > latestId);

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
export function eventValue(
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
