import { expect, it } from '@jest/globals';
import { emptyOf, Plan, type PlanPriceChange, planType } from '@recur/contracts';
import { boundary, startOfDay } from '@recur/kernel';
import fc from 'fast-check';
import { itemsFor, snapshotOf, storedItems } from '../../../src/subscriptions/domain/items.js';
import {
  announced,
  entered,
  pricedFrom,
  timed,
  withPriceChanges,
} from '../../../src/subscriptions/domain/repricing.js';
import type { Subscription } from '../../../src/subscriptions/domain/subscription.js';

/*
 * Price changes over a running subscription, for any interval, zone, notice and moment: never before the notice is old enough,
 * never later than the first period of which that holds, and each item at exactly one price.
 */

const DAY = 86_400;
const month = { unit: 'month', count: 1 } as const;
const interval = fc.constantFrom(
  { unit: 'day', count: 1 },
  { unit: 'week', count: 2 },
  month,
  { unit: 'month', count: 3 },
  { unit: 'year', count: 1 },
) as fc.Arbitrary<{ unit: 'day' | 'week' | 'month' | 'year'; count: number }>;

const planOf = (id: number, amount: number, of: { unit: string; count: number }, more: Partial<Plan> = {}): Plan => ({
  ...emptyOf(Plan),
  id,
  amount,
  currency: 'EUR',
  intervalUnit: of.unit,
  intervalCount: of.count,
  type: planType.main,
  ...more,
});
const priceChange = (no: number, oldAmount: number, newAmount: number): PlanPriceChange => {
  return { no, oldAmount, newAmount, reason: '', createTime: 0 };
};

const running = fc.record({
  start: fc.integer({ min: 1_700_000_000, max: 1_900_000_000 }),
  of: interval,
  timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Chatham'),
  amounts: fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 5_000 })),
  quantities: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
  news: fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 5_000 })),
  noticeDays: fc.integer({ min: 0, max: 365 }),
  leadSeconds: fc.constantFrom(0, 3_600, 3 * DAY, 15 * DAY),
  share: fc.double({ min: 0, max: 0.999, noNaN: true }),
});
type Running = Parameters<Parameters<typeof running.map>[0]>[0];

/** A subscription to plan 1 with add-on 2, in its first period. */
function subscriptionOf({ start, of, timeZone, amounts, quantities }: Running): Subscription {
  const addon = planOf(2, amounts[1], of, { type: planType.recurringAddon });
  const choice = {
    plan: planOf(1, amounts[0], of),
    quantity: quantities[0],
    currency: 'EUR',
    addons: [{ plan: addon, quantity: quantities[1] }],
  };
  const items = itemsFor(choice);
  const end = boundary(start, 1, of, timeZone);
  return {
    subscriptionId: 'sub_1',
    planId: 1,
    quantity: quantities[0],
    currency: 'EUR',
    timeZone,
    trialEnd: 0,
    anchor: start,
    periodNo: 1,
    currentPeriodStart: start,
    currentPeriodEnd: end,
    multiTrial: null,
    planSnapshot: snapshotOf(choice, start),
    items: storedItems(items),
    priceChanges: [],
    amount: 0n,
  } as unknown as Subscription;
}

const changedPlans = ({ of, amounts, news }: Running): Map<number, Plan> =>
  new Map(
    [0, 1].map(at => {
      const [before = 0, now = 0] = [amounts[at], news[at]];
      return [at + 1, planOf(at + 1, now, of, { priceChange: priceChange(1, before, now) })];
    }),
  );

it('takes effect with the first period that begins that many local days after the notice', () => {
  fc.assert(
    fc.property(running, each => {
      const { noticeDays, leadSeconds, start, of, timeZone, share } = each;
      const sub = withPriceChanges(subscriptionOf(each), changedPlans(each))?.sub;
      if (!sub || sub.priceChanges.length === 0) return;
      const now = Math.floor(start + share * (sub.currentPeriodEnd - start));
      const [entry] = timed(sub, [], { now, noticeDays, leadSeconds }).priceChanges;
      if (!entry) throw new Error('no entry');
      const { noticeTime, effectTime } = entry;
      expect(noticeTime).toBeGreaterThanOrEqual(now);
      expect(effectTime).toBeGreaterThanOrEqual(startOfDay(noticeTime, noticeDays, timeZone));
      // as late as that allows, or now
      if (noticeTime > now) expect(noticeTime).toBeLessThanOrEqual(effectTime - leadSeconds - DAY);
      // no earlier boundary would do
      for (let k = 1, at = sub.currentPeriodEnd; at < effectTime; k++, at = boundary(start, k, of, timeZone)) {
        expect(at).toBeLessThan(startOfDay(now, noticeDays, timeZone));
      }
    }),
  );
});

it('is not earlier than it was announced, sells each item at one price, and is applied once', () => {
  fc.assert(
    fc.property(running, fc.boolean(), (each, isAnnounced) => {
      const sub = subscriptionOf(each);
      const planned = withPriceChanges(sub, changedPlans(each))?.sub ?? sub;
      const told = timed(planned, [], { now: each.start, noticeDays: each.noticeDays, leadSeconds: 0 });
      let at = isAnnounced ? announced(told, each.start) : told;
      for (let n = 0; n < 4; n++) {
        const [start, end] = [at.currentPeriodEnd, boundary(each.start, at.periodNo + 1, each.of, each.timeZone)];
        at = entered(at, { kind: 'cycle', start, end });
        expect(pricedFrom(at, start)).toEqual(at);
        for (const [i, item] of at.items.entries()) {
          const effect = told.priceChanges.find(({ planId }) => planId === item.planId)?.effectTime;
          const isNew = isAnnounced && effect !== undefined && start >= effect;
          expect(item.unitAmount).toBe(isNew ? each.news[i] : each.amounts[i]);
        }
        const { plan, addons } = at.planSnapshot;
        const sold = [plan, addons[0]?.addonPlan].map(it => it?.amount);
        expect(sold).toEqual(at.items.map(({ unitAmount }) => unitAmount));
      }
    }),
  );
});

it('is planned once, and taken back with the price before', () => {
  fc.assert(
    fc.property(running, each => {
      const sub = subscriptionOf(each);
      const plans = changedPlans(each);
      const planned = withPriceChanges(sub, plans)?.sub;
      const differing = [0, 1].filter(at => each.amounts[at] !== each.news[at]);
      expect((planned?.priceChanges ?? []).map(({ planId }) => planId)).toEqual(differing.map(at => at + 1));
      if (!planned) return;
      expect(withPriceChanges(planned, plans)).toBeUndefined();
      const back = new Map(
        [...plans].map(([id, plan], at) => {
          const change = priceChange(2, plan.amount, each.amounts[at] ?? 0);
          return [id, { ...plan, amount: change.newAmount, priceChange: change }];
        }),
      );
      expect(withPriceChanges(planned, back)?.sub.priceChanges).toEqual([]);
    }),
  );
});
