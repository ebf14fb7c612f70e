import type { Interval } from './terms.js';

// Period boundaries by the time zones of Intl, without a line of the kernel.

const DAY = 86_400;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Seconds by which the local time of a zone is ahead of UTC at an instant. */
function offsetAt(instant: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric' } as const;
  const options = { ...numbers, minute: 'numeric', second: 'numeric', hourCycle: 'h23', timeZone: zone } as const;
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en-US', options);
  formats.set(zone, format);
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = format
    .format(instant * 1000)
    .split(/\D+/)
    .map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - instant;
}

/** The instant of a local time, given as if it were UTC: the offset before a change of the clock decides. */
function instantOf(local: number, zone: string): number {
  const before = offsetAt(local - DAY, zone);
  const first = local - before;
  if (offsetAt(first, zone) === before) return first;
  const after = offsetAt(local + DAY, zone);
  const second = local - after;
  return offsetAt(second, zone) === after ? second : first;
}

const lengthOfMonth = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate();

/** k intervals after the anchor on the local calendar; in months and years on a day of the month, where one is given. */
export function nthBoundary(anchor: number, k: number, { unit, count }: Interval, zone: string, dueDay = 0): number {
  if (k === 0) return anchor;
  const local = anchor + offsetAt(anchor, zone);
  if (unit === 'day' || unit === 'week') return instantOf(local + k * count * (unit === 'day' ? 1 : 7) * DAY, zone);
  const date = new Date(local * 1000);
  const month = date.getUTCMonth() + k * count * (unit === 'month' ? 1 : 12);
  const year = date.getUTCFullYear() + Math.floor(month / 12);
  const inYear = ((month % 12) + 12) % 12;
  const day = Math.min(dueDay || date.getUTCDate(), lengthOfMonth(year, inYear));
  return instantOf(Date.UTC(year, inYear, day) / 1000 + (((local % DAY) + DAY) % DAY), zone);
}

/** The first such local date after `after`, at the local time of `timeOf`. */
export function dueDate(after: number, timeOf: number, day: number, weekly: boolean, zone: string): number {
  const time = (timeOf + offsetAt(timeOf, zone)) % DAY;
  const midnight = Math.floor((after + offsetAt(after, zone)) / DAY) * DAY;
  for (let at = midnight; ; at += DAY) {
    const date = new Date(at * 1000);
    const isDay = weekly
      ? (date.getUTCDay() || 7) === day
      : date.getUTCDate() === Math.min(day, lengthOfMonth(date.getUTCFullYear(), date.getUTCMonth()));
    const due = instantOf(at + time, zone);
    if (isDay && due > after) return due;
  }
}

/** The local day of the month of an instant, or its weekday from 1 on Monday. */
export function localDay(instant: number, weekly: boolean, zone: string): number {
  const date = new Date((instant + offsetAt(instant, zone)) * 1000);
  return weekly ? date.getUTCDay() || 7 : date.getUTCDate();
}

const month: Interval = { unit: 'month', count: 1 };
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Chatham'];
const intervals: Interval[] = [month, month, month, { unit: 'month', count: 3 }, { unit: 'week', count: 2 }];

/** Zone and interval of the n-th subscription of a year: all of them in turn. */
export const mixed = (at: number): { interval: Interval; zone: string } => ({
  interval: intervals[at % intervals.length] ?? month,
  zone: zones[at % zones.length] ?? 'UTC',
});
