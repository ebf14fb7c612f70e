/** How the values of events become one number; the names of the codes table. */
export type Aggregation = 'count' | 'countUnique' | 'latest' | 'max' | 'sum';
/** The four kinds of metric; the names of the codes table. */
export type MetricKind = 'limitMetered' | 'chargeMetered' | 'chargeRecurring' | 'limitRecurring';

/** An event as far as it is aggregated. */
export interface Measured {
  id: number;
  /** Unix seconds. */
  eventTime: number;
  /** 1 where events are counted. */
  value: bigint;
  /** '' but for unique counts. */
  uniqueId: string;
}

/**
 * Count of a stretch of time so far. Invariant: equal to the aggregation of the events of the stretch that are
 * not deleted, in whatever order they arrived (`tallied`). Unique ids are kept beside it.
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
export const isStanding = (aggregation: Aggregation): boolean => aggregation !== 'count' && aggregation !== 'sum';

/**
 * The tally with one more event. `isNew`: its unique id has no other event in the stretch. The latest value is that of
 * the greatest eventTime, ties by id; the maximum of no events is 0.
 */
export function added(aggregation: Aggregation, tally: Tally, event: Measured, isNew = true): Tally {
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
 * `isLast`: no other event of the stretch has its unique id.
 */
export function removed(aggregation: Aggregation, tally: Tally, event: Measured, isLast = true): Tally | undefined {
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

/** The tally of all events of a stretch, from nothing. */
export function tallied(aggregation: Aggregation, events: readonly Measured[]): Tally {
  const seen = new Set<string>();
  return events.reduce((tally, event) => {
    const isNew = !seen.has(event.uniqueId);
    seen.add(event.uniqueId);
    return added(aggregation, tally, event, isNew);
  }, noTally);
}

/**
 * Joins the value of a stretch to that of those before it, for recurring charges, which never restart. Unique ids are
 * counted over all stretches instead, since one may occur in several.
 */
export function carried(aggregation: Exclude<Aggregation, 'countUnique'>, before: bigint, own: Tally): bigint {
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

const isLater = ({ eventTime, id }: Measured, { events, latestTime, latestId }: Tally): boolean =>
  events === 0n || eventTime > latestTime || (eventTime === latestTime && id > latestId);
