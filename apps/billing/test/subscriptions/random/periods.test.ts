import { expect, it } from '@jest/globals';
import { intervalUnits } from '@recur/contracts';
import type { Interval } from '@recur/kernel';
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
const zone = fc.constantFrom('UTC', ...Intl.supportedValuesOf('timeZone'));
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
