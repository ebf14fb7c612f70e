import { expect, it, jest } from '@jest/globals';
import { intervalUnits } from '@recur/contracts';
import { boundary, type Interval } from '@recur/kernel';
import { isMany, sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { nthBoundary } from '../../../../../tools/journeys/model/calendar.js';
import { gapIn } from '../../../src/subscriptions/domain/periods.js';
import { advanced, nextPeriod, type Subscription } from '../../../src/subscriptions/domain/subscription.js';

const anchors = 10_000;
const years = 100;
const days = { day: 1, week: 7, month: 30.44, year: 365.25 };
const units = Object.keys(intervalUnits) as Interval['unit'][];
const interval = fc
  .constantFrom(...units)
  .chain(unit => fc.record({ unit: fc.constant(unit), count: fc.integer({ min: 1, max: intervalUnits[unit] }) }));
const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];
const zone = fc.constantFrom(...zones);
const anchor = fc.integer({ min: 1_577_836_800, max: 2_208_988_800 });

/** A subscription in the period before the one with number k. */
const before = (at: number, k: number, { unit, count }: Interval, timeZone: string): Subscription =>
  ({
    subscriptionId: 'sub_1',
    anchor: at,
    periodNo: k,
    timeZone,
    trialEnd: 0,
    multiTrial: null,
    planSnapshot: { plan: { intervalUnit: unit, intervalCount: count } },
    currentPeriodEnd: nthBoundary(at, k, { unit, count }, timeZone),
  }) as unknown as Subscription;

it(`periods lie where a calendar has them, for any interval and zone, within ${years} years (${anchors} anchors)`, () => {
  fc.assert(
    fc.property(anchor, interval, zone, fc.double({ min: 0, max: 1, noNaN: true }), (at, every, timeZone, part) => {
      const k = Math.floor((part * years * 365) / (days[every.unit] * every.count));
      let sub = before(at, k, every, timeZone);
      for (const no of [k + 1, k + 2]) {
        const period = nextPeriod(sub);
        const end = nthBoundary(at, no, every, timeZone);
        if (
          period.kind !== 'cycle' ||
          period.start !== sub.currentPeriodEnd ||
          period.end !== end ||
          end <= period.start
        ) {
          throw new Error(`period ${no} is ${period.kind} ${period.start} to ${period.end}, not to ${end}`);
        }
        sub = advanced(sub, period);
      }
    }),
    { numRuns: anchors },
  );
});

it(`${years} years of periods tile, one after the other`, () => {
  let periods = 0;
  fc.assert(
    fc.property(anchor, fc.constantFrom('month' as const, 'year' as const), zone, (at, unit, timeZone) => {
      let sub = before(at, 0, { unit, count: 1 }, timeZone);
      const rows = Array.from({ length: unit === 'month' ? 12 * years : years }, () => {
        const period = nextPeriod(sub);
        sub = advanced(sub, period);
        return { startAt: period.start, endAt: period.end, state: 'paid' as const };
      });
      periods += rows.length;
      const gap = gapIn([{ startAt: at - 1, endAt: at, state: 'paid' }, ...rows]);
      if (gap) throw new Error(gap);
      const years100 = nthBoundary(at, rows.length, { unit, count: 1 }, timeZone);
      if (rows.at(-1)?.endAt !== years100) throw new Error(`${rows.at(-1)?.endAt} is not ${years} years after ${at}`);
    }),
    { numRuns: 30 },
  );
  expect(periods).toBeGreaterThan(30 * years);
});

const span = { years: 20, anchors: sized(1, 2) } as const;
/** Counts of each unit. A month comes at each k; days and weeks come rarely unless there is time for all of them. */
const counts: Record<Interval['unit'], readonly number[]> = {
  day: isMany ? [1, 10] : [183],
  week: isMany ? [1, 5] : [26],
  month: isMany ? [1, 3] : [1],
  year: [1],
};
/** From 2020, since when zones have changed their rules, at any local time and more often at one that a clock skips. */
const localAnchor = fc.record({
  day: fc.integer({ min: Date.UTC(2020, 0, 1) / 86_400_000, max: Date.UTC(2027, 0, 1) / 86_400_000 }),
  second: fc.oneof(fc.integer({ min: 0, max: 4 * 3600 }), fc.integer({ min: 0, max: 86_399 })),
});

/** The time of day of an instant, by a clock on the wall of a zone. */
function wallClock(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeStyle: 'medium', hourCycle: 'h23' });
  return instant => {
    const [hour = 0, minute = 0, second = 0] = format
      .format(instant * 1000)
      .split(':')
      .map(Number);
    return (hour * 60 + minute) * 60 + second;
  };
}

const DAY = 86_400;
const modulo = (seconds: number) => ((seconds % DAY) + DAY) % DAY;

/** True where the clock was put forward across a time of day before `at`, which is not as late as that. */
function isSkipped(time: number, at: number, clock: (instant: number) => number): boolean {
  const late = modulo(clock(at) - time);
  // before the gap the clock shows less than the time, and after it as much more as the clock was put forward
  const jump = modulo(clock(at) - clock(at - DAY / 2) - DAY / 2);
  return late > 0 && late === jump && modulo(clock(at - late - 1) - time) > DAY / 2;
}

/** The rule that a period breaks, which begins where the one before ends; '' for none. */
function broken(start: number, end: number, wanted: number, time: number, clock: (instant: number) => number): string {
  if (end <= start) return 'does not go forward';
  if (end !== wanted) return `does not end at ${wanted}`;
  return clock(end) === time || isSkipped(time, end, clock) ? '' : 'ends at another time of day';
}

/** Walks through all periods of the years, which the boundaries make; returns how many there were. */
function tile(at: number, every: Interval, timeZone: string, clock: (instant: number) => number): number {
  const time = clock(at);
  const last = at + span.years * days.year * DAY;
  for (let [no, start] = [1, at]; ; no++) {
    const end = boundary(at, no, every, timeZone);
    const rule = broken(start, end, nthBoundary(at, no, every, timeZone), time, clock);
    if (rule !== '')
      throw new Error(`period ${no} of ${every.count} ${every.unit} in ${timeZone}, ${start} to ${end}, ${rule}`);
    if (end >= last) return no;
    start = end;
  }
}

it(`every period of ${span.years} years tiles, in each of ${zones.length} zones and each unit, at its time of day`, () => {
  const anchorsOf = fc.sample(fc.array(localAnchor, { minLength: span.anchors, maxLength: span.anchors }), {
    numRuns: zones.length,
    seed: isMany ? jest.getSeed() : 20_260_131,
  });
  let periods = 0;
  for (const [i, timeZone] of zones.entries()) {
    const clock = wallClock(timeZone);
    for (const { day, second } of anchorsOf[i] ?? []) {
      for (const unit of units) {
        const at = day * DAY - clock(day * DAY) + second;
        for (const count of counts[unit]) periods += tile(at, { unit, count }, timeZone, clock);
      }
    }
  }
  expect(periods).toBeGreaterThan(zones.length * span.years * 10);
});
