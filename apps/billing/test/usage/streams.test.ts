import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { batchUsageEvents, deleteUsageEvent, newUsageEvent } from '@recur/contracts';
import { metrics } from '@recur/platform';
import fc from 'fast-check';
import { type Measured, tallied } from '../../src/usage/domain/aggregation.js';
import * as usage from '../../src/usage/verbs.js';
import { charge, day, type Meter, meter, period, terms } from './meter.js';

let m: Meter;
beforeAll(async () => {
  m = await meter();
});
afterAll(() => m.t.close());

const kinds = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
/** Event times in two periods, the first of which is closed half-way through the stream. */
const stream = fc.record({
  aggregation: fc.constantFrom(...kinds),
  events: fc.array(
    fc.record({
      minute: fc.integer({ min: -600, max: -1 }),
      value: fc.integer({ min: -5, max: 50 }),
      unique: fc.constantFrom('a', 'b', 'c'),
      repeats: fc.integer({ min: 0, max: 2 }),
      deleted: fc.boolean(),
      batched: fc.boolean(),
    }),
    { minLength: 1, maxLength: 14 },
  ),
});

describe('random streams', () => {
  it('sums equal a naive recount, over a period end, with repeats, late, deleted and shuffled events', async () => {
    let invoices = 0;
    await fc.assert(
      fc.asyncProperty(stream, async ({ aggregation, events }) => {
        const now = m.clock.now();
        const boundary = now - 300 * 60;
        const metric = m.metric('chargeMetered', aggregation);
        const plan = terms({ charges: [charge(metric.id)] });
        const [first, second] = [period(now - 2 * day, boundary, plan), period(boundary, now + 28 * day, plan)];
        const sub = m.subscribed([], { start: first.start, periods: [first, second] });
        const kept: (Measured & { at: number })[] = [];
        for (const [at, each] of events.entries()) {
          const eventTime = now + each.minute * 60;
          const input = m.input(sub, metric, each.value, { eventTime, aggregationUniqueId: each.unique });
          const copies = Array.from({ length: each.repeats + 1 }, () => input);
          if (each.batched) await m.t.done(batchUsageEvents, { events: copies });
          else await Promise.all(copies.map(copy => m.t.done(newUsageEvent, copy)));
          if (each.deleted) await m.t.done(deleteUsageEvent, input);
          else kept.push({ id: at, at: eventTime, eventTime, value: BigInt(each.value), uniqueId: each.unique });
          if (at !== Math.floor(events.length / 2)) continue;
          const billed = { subscription: sub, period: first, until: boundary };
          await m.inTx(tx => usage.close(tx, billed, `in_stream${++invoices}`));
        }
        const counters = await m.counters(sub);
        for (const { start, end } of [first, second]) {
          const own = kept.filter(({ at }) => start <= at && at < end);
          const exact = tallied(aggregation, own);
          const counted = counters.find(one => one.start === start);
          expect([counted?.events ?? 0, counted?.used ?? 0]).toEqual([Number(exact.events), Number(exact.used)]);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('the recount agrees with all counters', async () => {
    m.clock.advance(day + 60);
    await m.t.work.drain();
    const found = await metrics.getSingleMetric('recur_usage_recount_differences_total')?.get();
    expect(found?.values).toEqual([{ value: 0, labels: {} }]);
  });
});
