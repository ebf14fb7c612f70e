import { describe, expect, it } from '@jest/globals';
import { metricChargeType } from '@recur/contracts';
import fc from 'fast-check';
import {
  type Aggregation,
  aggregateAll,
  carriedTally,
  type EventValue,
  noTally,
  type Tally,
  withEvent,
  withoutEvent,
} from '../../../src/usage/domain/aggregation.js';
import { alertsDue, exceeds, limitOf, unusedLimit } from '../../../src/usage/domain/billing.js';
import { type AssignedPeriod, assignPeriod, boundsAt } from '../../../src/usage/domain/counter.js';
import type { PlanTerms, UsagePeriod, UsageSubscription } from '../../../src/usage/domain/subscription.js';

const aggregations: readonly Aggregation[] = ['count', 'countUnique', 'latest', 'max', 'sum'];
const events = fc.array(
  fc.record({
    eventTime: fc.integer({ min: 1, max: 50 }),
    value: fc.bigInt(-20n, 100n),
    uniqueId: fc.constantFrom('', 'a', 'b', 'c'),
    repeats: fc.integer({ min: 0, max: 2 }),
    deleted: fc.boolean(),
  }),
  { maxLength: 40 },
);

/** Counts a stream in its order of arrival, with repeats and deletions, as the tables do: by increments. */
function counted(
  aggregation: Aggregation,
  stream: readonly (EventValue & { repeats: number; deleted: boolean })[],
): Tally {
  const live = new Map<number, EventValue>();
  const holders = (uniqueId: string) => [...live.values()].filter(each => each.uniqueId === uniqueId).length;
  let tally = noTally;
  for (const event of stream) {
    for (let turn = 0; turn <= event.repeats; turn++) {
      if (live.has(event.id)) continue;
      tally = withEvent(aggregation, tally, event, holders(event.uniqueId) === 0);
      live.set(event.id, event);
    }
    if (!event.deleted) continue;
    live.delete(event.id);
    tally =
      withoutEvent(aggregation, tally, event, holders(event.uniqueId) === 0) ??
      aggregateAll(aggregation, [...live.values()]);
  }
  return tally;
}

describe('aggregation', () => {
  it.each(aggregations)(
    '%s: increments equal a recount, whatever is repeated, late, deleted or shuffled',
    aggregation => {
      fc.assert(
        fc.property(events, fc.infiniteStream(fc.nat()), (made, order) => {
          const stream = made.map((event, at) => ({ ...event, id: at + 1 }));
          const keys = new Map(stream.map(({ id }) => [id, order.next().value ?? 0]));
          const shuffled = [...stream].sort((a, b) => (keys.get(a.id) ?? 0) - (keys.get(b.id) ?? 0));
          const left = stream.filter(({ deleted }) => !deleted);
          expect(counted(aggregation, shuffled)).toEqual(aggregateAll(aggregation, left));
        }),
      );
    },
  );

  it('latest is that of the greatest eventTime, ties by id', () => {
    const of = (id: number, eventTime: number, value: bigint) => ({ id, eventTime, value, uniqueId: '' });
    expect(aggregateAll('latest', [of(3, 5, 30n), of(1, 9, 10n), of(2, 9, 20n)]).used).toBe(20n);
    expect(aggregateAll('latest', [of(2, 9, 20n), of(1, 9, 10n)]).used).toBe(20n);
  });

  it('recurring values go on from interval to interval', () => {
    const own = { ...noTally, events: 1n, used: 3n };
    expect([carriedTally('sum', 5n, own), carriedTally('max', 5n, own), carriedTally('latest', 5n, own)]).toEqual([
      8n,
      5n,
      3n,
    ]);
    expect(carriedTally('latest', 5n, noTally)).toBe(5n);
  });
});

const limited = (metricLimit: number, quantity = 1, planId = 1): PlanTerms => ({
  planId,
  quantity,
  charges: [],
  autoUpgradePlanId: 0,
  limits: [{ metricId: 1, metricLimit }],
});
const priced = (standardAmount: number): PlanTerms => ({
  planId: 1,
  quantity: 1,
  limits: [],
  autoUpgradePlanId: 0,
  charges: [
    { metricId: 1, chargeType: metricChargeType.standard, standardAmount, standardStartValue: 0, graduatedAmounts: [] },
  ],
});
const period = (start: number, end: number, ...segments: [from: number, terms: PlanTerms[]][]): UsagePeriod => ({
  start,
  end,
  state: 'open',
  segments: segments.map(([from, terms], i) => ({ start: from, end: segments[i + 1]?.[0] ?? end, terms })),
});

describe('limits', () => {
  it('Σ plan limit × quantity + Σ add-on limits × theirs', () => {
    expect(limitOf(period(0, 10, [0, [limited(100, 3), limited(50, 2, 2)]]), 1, false)).toBe(400n);
  });

  it('a limit of 1000 of which 700 were used is 1300 in the next period; with 50 by hand and 900 used, 450 go on', () => {
    const first = 1000n + unusedLimit(1000n, 700n);
    expect(first).toBe(1300n);
    expect(unusedLimit(first + 50n, 900n)).toBe(450n);
    expect(unusedLimit(10n, 12n)).toBe(0n);
  });

  it('a limit raised from 1000 to 5000 with 40 % left is 2600 with proration, else 5000 at once', () => {
    const changed = period(0, 1000, [0, [limited(1000)]], [600, [limited(5000)]]);
    expect([limitOf(changed, 1, true), limitOf(changed, 1, false)]).toEqual([2600n, 5000n]);
  });

  it('an event may reach the limit, not pass it; a decrease is always taken', () => {
    expect([exceeds(9n, 10n, 10n), exceeds(9n, 11n, 10n), exceeds(15n, 12n, 10n)]).toEqual([false, true, false]);
  });

  it('alerts once at 80 % and once at 100 %', () => {
    expect([
      alertsDue(79n, 100n, 0),
      alertsDue(80n, 100n, 0),
      alertsDue(100n, 100n, 80),
      alertsDue(120n, 100n, 100),
    ]).toEqual([[], [80], [100], []]);
    expect(alertsDue(100n, 100n, 0)).toEqual([80, 100]);
    expect(alertsDue(5n, 0n, 0)).toEqual([]);
  });
});

describe('stretches', () => {
  const of = { metricId: 1, kind: 'chargeMetered' } as const;
  const changed = period(0, 1000, [0, [priced(10)]], [400, [priced(10)]], [600, [priced(8)]]);

  it('a charge is cut where its price changes, not where the plan alone does', () => {
    const at = (time: number) => boundsAt({ free: [] }, changed, { ...of, at: time }, []);
    expect([at(0), at(500), at(600)]).toEqual([
      { start: 0, end: 600 },
      { start: 0, end: 600 },
      { start: 600, end: 1000 },
    ]);
  });

  it('a limit goes on over changes and trial ends', () => {
    expect(
      boundsAt({ free: [{ start: 0, end: 300 }] }, changed, { metricId: 1, kind: 'limitMetered', at: 700 }, []),
    ).toEqual({
      start: 0,
      end: 1000,
    });
  });

  it('charges start again at the end of the trial', () => {
    const at = (time: number) => boundsAt({ free: [{ start: 0, end: 300 }] }, changed, { ...of, at: time }, []);
    expect([at(299), at(300)]).toEqual([
      { start: 0, end: 300 },
      { start: 300, end: 600 },
    ]);
  });

  it('leaves out what other counters cover', () => {
    expect(boundsAt({ free: [] }, period(0, 1000, [0, []]), { ...of, at: 500 }, [{ start: 0, end: 400 }])).toEqual({
      start: 400,
      end: 1000,
    });
  });
});

describe('event time', () => {
  const day = 86_400;
  const now = 100 * day;
  const subscription = (over: Partial<UsageSubscription> = {}): UsageSubscription => ({
    subscriptionId: 'sub_1',
    userId: 1,
    productId: 0,
    currency: 'EUR',
    start: 80 * day,
    end: 0,
    free: [],
    takesUntil: 0,
    lateUsage: 'next',
    periods: [
      { ...period(80 * day, 95 * day, [80 * day, [limited(1)]]), state: 'invoiced' },
      period(95 * day, 110 * day, [95 * day, [limited(1)]]),
    ],
    ...over,
  });
  const assigned = (at: number, subscriptions = [subscription()]) =>
    assignPeriod(subscriptions, { metricId: 1, at, now });
  const startOf = (found: ReturnType<typeof assigned>) => (found as AssignedPeriod).period?.start;

  it('decides the period, up to five minutes ahead', () => {
    expect(startOf(assigned(now + 300))).toBe(95 * day);
    expect(startOf(assigned(95 * day - 1))).toBe(80 * day);
  });

  it.each([
    ['ahead', now + 301],
    ['before the start', 80 * day - 1],
    ['35 days ago', now - 35 * day - 1],
  ])('is refused when %s', (_, at) => {
    expect(assigned(at)).toMatchObject({ refused: 'time' });
  });

  it('needs a subscription; one that ended takes events while its last usage is waited for', () => {
    expect(assigned(now, [])).toEqual({ refused: 'no-subscription' });
    const ended = (end: number, takesUntil = end + 3600) => [subscription({ end, takesUntil })];
    expect(startOf(assigned(96 * day, ended(now - 3599)))).toBe(95 * day);
    expect(assigned(now - 10, ended(now - 3599))).toEqual({ refused: 'no-subscription' });
    expect(assigned(96 * day, ended(now - 3600))).toEqual({ refused: 'no-subscription' });
    expect(assigned(96 * day, ended(now - 1, 0))).toEqual({ refused: 'no-subscription' });
  });

  it('of an invoiced period is late: taken or refused', () => {
    expect(startOf(assigned(90 * day))).toBe(80 * day);
    expect(assigned(90 * day, [subscription({ lateUsage: 'refuse' })])).toEqual({ refused: 'late' });
  });

  it('counts for the subscription whose plan has the metric, else for the newest', () => {
    const bare = { periods: [period(95 * day, 110 * day, [95 * day, []])], start: 95 * day };
    const other = subscription({ ...bare, subscriptionId: 'sub_2' });
    expect((assigned(now, [subscription(), other]) as AssignedPeriod).subscription.subscriptionId).toBe('sub_1');
    const third = subscription({ ...bare, subscriptionId: 'sub_3', start: 96 * day });
    expect((assigned(now, [other, third]) as AssignedPeriod).subscription.subscriptionId).toBe('sub_3');
  });
});
