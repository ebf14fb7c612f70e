import { Temporal } from 'temporal-polyfill';

// Period boundaries on a local calendar. Times are unix seconds.

type IntervalUnit = 'day' | 'week' | 'month' | 'year';

/** A billing interval: `count` units. */
export interface Interval {
  unit: IntervalUnit;
  count: number;
}

const days: Record<IntervalUnit, number> = { day: 1, week: 7, month: 30, year: 365 };

/** Length for comparisons, in days: a month counts 30, a year 365. */
export const lengthOf = ({ unit, count }: Interval): number => days[unit] * count;

/** Seconds of a day of 24 hours. */
export const DAY_SECONDS = 86_400;

/**
 * The k-th boundary f(anchor, k): k intervals after the anchor, before it for a negative k, on the calendar of `zone`,
 * from the original day and clamped to the end of the month, so that it never drifts. A local time in a gap moves
 * forward, one that occurs twice is the earlier. f(anchor, 0) is the anchor.
 */
export function boundary(anchor: number, k: number, { unit, count }: Interval, zone: string): number {
  if (k === 0) return anchor;
  const units = k * count;
  if (zone === 'UTC' && (unit === 'day' || unit === 'week')) {
    return anchor + units * days[unit] * DAY_SECONDS;
  }
  return instantOf(localOf(anchor, zone).add({ [`${unit}s`]: units }), zone);
}

/** The first second of the local date that is `days` after that of an instant. */
export const startOfDay = (instant: number, days: number, zone: string): number =>
  instantOf(localOf(instant, zone).add({ days }).withPlainTime(), zone);

/** A series of periods: the anchor, and the number k of the boundary that it begins with. */
export interface Series {
  anchor: number;
  k: number;
}

/**
 * The series of periods that begins on a due day: its first boundary is the first local date after `after` with that day
 * of the month (clamped to the month's end), or that ISO weekday where the interval is in weeks, at the local time of
 * `timeOf`. Its anchor has the due day itself, so that later boundaries have it too.
 */
export function dueSeries(after: number, timeOf: number, dueDay: number, interval: Interval, zone: string): Series {
  const time = localOf(timeOf, zone).toPlainTime();
  const from = localOf(after, zone);
  if (interval.unit === 'week') {
    const days = (dueDay - from.dayOfWeek + 7) % 7;
    const first = instantOf(from.add({ days }).withPlainTime(time), zone);
    return { anchor: first > after ? first : instantOf(from.add({ days: days + 7 }).withPlainTime(time), zone), k: 0 };
  }
  const monthOf = (months: number) => from.with({ day: 1 }).add({ months }).withPlainTime(time);
  const dueIn = (months: number) => {
    const month = monthOf(months);
    return { first: instantOf(month.with({ day: Math.min(dueDay, month.daysInMonth) }), zone), month };
  };
  const due = [dueIn(0), dueIn(1)].find(({ first }) => first > after) ?? dueIn(2);
  // a year counts from the last day that its month ever has: the 29th in February
  const isYear = interval.unit === 'year';
  const day = isYear && due.month.month === 2 ? Math.min(dueDay, 29) : dueDay;
  if (due.month.daysInMonth >= day || interval.unit === 'day') return { anchor: due.first, k: 0 };
  // the month is too short for the day: the anchor is that many intervals earlier, in a month that has it
  for (let k = 1; k <= 12; k++) {
    const earlier = due.month.subtract({ months: k * interval.count * (isYear ? 12 : 1) });
    if (earlier.daysInMonth >= day) return { anchor: instantOf(earlier.with({ day }), zone), k };
  }
  return { anchor: due.first, k: 0 };
}

/** The local day of the month of an instant, or its ISO weekday where the interval is in weeks. */
export function dueDayOf(instant: number, { unit }: Interval, zone: string): number {
  const local = localOf(instant, zone);
  return unit === 'week' ? local.dayOfWeek : local.day;
}

/** Local anchors by zone: the boundaries of one subscription are computed again and again. */
const locals = new Map<string, Temporal.PlainDateTime>();
const cached = { most: 10_000 } as const;

function localOf(instant: number, zone: string): Temporal.PlainDateTime {
  const key = `${zone} ${instant}`;
  const known = locals.get(key);
  if (known) return known;
  const local = Temporal.Instant.fromEpochMilliseconds(instant * 1000)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime();
  if (locals.size >= cached.most) locals.clear();
  locals.set(key, local);
  return local;
}

const instantOf = (local: Temporal.PlainDateTime, zone: string): number =>
  Math.floor(local.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds / 1000);
