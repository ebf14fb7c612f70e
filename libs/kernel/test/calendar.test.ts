import { describe, expect, it } from '@jest/globals';
import { intervalUnits } from '@recur/contracts';
import { boundary, dueSeries, type Interval, startOfDay } from '@recur/kernel';
import fc from 'fast-check';

const at = (iso: string) => Date.parse(iso) / 1000;
const day = (date: string) => at(`${date}T00:00:00Z`);
const month: Interval = { unit: 'month', count: 1 };

describe('the k-th boundary', () => {
  it('is clamped to the end of the month from the original day, and never drifts', () => {
    const ends = [1, 2, 3].map(k => boundary(day('2026-01-31'), k, month, 'UTC'));
    expect(ends).toEqual(['2026-02-28', '2026-03-31', '2026-04-30'].map(day));
    const year = { unit: 'year', count: 1 } as const;
    expect([1, 4].map(k => boundary(day('2028-02-29'), k, year, 'UTC'))).toEqual(['2029-02-28', '2032-02-29'].map(day));
  });

  it('adds on the local calendar', () => {
    expect([1, 2, 3].map(k => boundary(1_769_814_000, k, month, 'Europe/Berlin'))).toEqual([
      1_772_233_200, 1_774_908_000, 1_777_500_000,
    ]);
  });

  it('moves a local time in a gap forward, and takes the earlier of two', () => {
    const daily = { unit: 'day', count: 1 } as const;
    const berlin = (anchor: string, k: number) => boundary(at(anchor), k, daily, 'Europe/Berlin');
    // 02:30 does not exist on 2026-03-29, and exists twice on 2026-10-25
    expect(berlin('2026-03-28T02:30:00+01:00', 1)).toBe(at('2026-03-29T03:30:00+02:00'));
    expect(berlin('2026-10-24T02:30:00+02:00', 1)).toBe(at('2026-10-25T02:30:00+02:00'));
    expect(berlin('2026-10-24T02:30:00+02:00', 2)).toBe(at('2026-10-26T02:30:00+01:00'));
  });

  it('lies after the one before for every interval and zone, so that periods tile', () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'Pacific/Chatham',
      'Africa/Casablanca',
    ];
    const units = Object.keys(intervalUnits) as Interval['unit'][];
    const intervals = fc
      .constantFrom(...units)
      .chain(unit => fc.record({ unit: fc.constant(unit), count: fc.integer({ min: 1, max: intervalUnits[unit] }) }));
    const anchors = fc.integer({ min: day('2020-01-01'), max: day('2120-01-01') });
    fc.assert(
      fc.property(anchors, intervals, fc.constantFrom(...zones), fc.nat(100), (anchor, interval, zone, k) => {
        const [start, end] = [boundary(anchor, k, interval, zone), boundary(anchor, k + 1, interval, zone)];
        expect(end).toBeGreaterThan(start);
        if (zone === 'UTC' && interval.unit === 'day') expect(end - start).toBe(interval.count * 86_400);
      }),
      { numRuns: 10_000 },
    );
  });
});

describe('a due day', () => {
  const boundariesOf = (dueDay: number, now: number, zone = 'UTC') => {
    const { anchor, k } = dueSeries(now, now, dueDay, month, zone);
    return [0, 1, 2].map(more => boundary(anchor, k + more, month, zone));
  };

  it('is the first such local date after now, at the local time of the anchor', () => {
    const noon = (date: string) => at(`${date}T12:00:00Z`);
    expect(boundariesOf(25, noon('2026-04-10'))).toEqual(['2026-04-25', '2026-05-25', '2026-06-25'].map(noon));
    expect(boundariesOf(10, noon('2026-04-10'))).toEqual(['2026-05-10', '2026-06-10', '2026-07-10'].map(noon));
  });

  it('of 31 is the last day of each month', () => {
    expect(boundariesOf(31, day('2026-04-10'))).toEqual(['2026-04-30', '2026-05-31', '2026-06-30'].map(day));
  });

  it('of a year that begins in February is the 29th again where there is one', () => {
    const year = { unit: 'year', count: 1 } as const;
    for (const dueDay of [29, 30, 31]) {
      const { anchor, k } = dueSeries(day('2027-02-10'), day('2027-02-10'), dueDay, year, 'UTC');
      const boundaries = [0, 1, 2].map(more => boundary(anchor, k + more, year, 'UTC'));
      expect(boundaries).toEqual(['2027-02-28', '2028-02-29', '2029-02-28'].map(day));
    }
  });

  it('of a week is its ISO weekday', () => {
    const week = { unit: 'week', count: 1 } as const;
    const friday = day('2026-04-10');
    const first = (dueDay: number) => dueSeries(friday, friday, dueDay, week, 'UTC').anchor;
    expect([first(6), first(5), first(1)]).toEqual(['2026-04-11', '2026-04-17', '2026-04-13'].map(day));
  });
});

describe('the start of a day', () => {
  it('is the first second of a local date, that many days later', () => {
    const instant = at('2026-03-28T23:30:00+01:00');
    expect(startOfDay(instant, 0, 'Europe/Berlin')).toBe(at('2026-03-28T00:00:00+01:00'));
    expect(startOfDay(instant, 2, 'Europe/Berlin')).toBe(at('2026-03-30T00:00:00+02:00'));
    expect(startOfDay(instant, -1, 'UTC')).toBe(day('2026-03-27'));
  });

  it('is later where midnight does not exist', () => {
    // in Beirut the clock goes from 00:00 to 01:00 on 2026-03-29
    expect(startOfDay(at('2026-03-29T12:00:00+03:00'), 0, 'Asia/Beirut')).toBe(at('2026-03-29T01:00:00+03:00'));
  });

  it('lies a number of days before the same local time after them', () => {
    const span = fc.tuple(fc.integer({ min: 0, max: 2_000_000_000 }), fc.integer({ min: 0, max: 365 }));
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Chatham', 'Asia/Beirut');
    fc.assert(
      fc.property(span, zone, ([instant, days], where) => {
        const before = boundary(instant, -days, { unit: 'day', count: 1 }, where);
        expect(startOfDay(before, days, where)).toBeLessThanOrEqual(instant);
      }),
    );
  });
});
