import { describe, expect, it } from '@jest/globals';
import { emptyOf, Plan, planType } from '@recur/contracts';
import { itemsAmount, itemsFor, priceIn, snapshotOf, storedItems } from '../../../src/subscriptions/domain/items.js';
import { periodItems } from '../../../src/subscriptions/domain/items-to-bill.js';
import { gapIn } from '../../../src/subscriptions/domain/periods.js';
import { type StartTerms, subscriptionStart } from '../../../src/subscriptions/domain/start.js';
import { advanced, nextPeriod, type Subscription } from '../../../src/subscriptions/domain/subscription.js';
import { appendedTrialEnd } from '../../../src/subscriptions/domain/trials.js';

const at = (iso: string) => Date.parse(iso) / 1000;
const day = (date: string) => at(`${date}T00:00:00Z`);
const plan = (over: Partial<Plan> = {}): Plan => ({
  ...emptyOf(Plan),
  id: 10,
  planName: 'Pro',
  amount: 1000,
  currency: 'EUR',
  type: planType.main,
  intervalUnit: 'month',
  intervalCount: 1,
  ...over,
});
const terms = (over: Partial<StartTerms> = {}): StartTerms => ({
  plan: plan(),
  currency: 'EUR',
  start: day('2026-01-31'),
  timeZone: 'UTC',
  trialAllowed: true,
  trialEnd: 0,
  freeInInitialPeriod: false,
  freeTimeEnd: 0,
  billingAnchorDay: 0,
  ...over,
});
const trial = (start: number, end: number) => ({ kind: 'trial', start, end, step: 0 }) as const;

/** The fields of a new subscription that its periods and prices depend on. */
function begun(over: Partial<StartTerms> = {}, quantity = 1): Subscription {
  const given = terms(over);
  const start = subscriptionStart(given);
  const choice = { plan: given.plan, quantity, addons: [], currency: given.currency };
  return {
    merchantId: 15,
    subscriptionId: 'sub_1',
    timeZone: 'UTC',
    quantity,
    currency: given.currency,
    anchor: start.anchor,
    periodNo: start.periodNo,
    trialEnd: start.trialEnd,
    multiTrial: start.multiTrial,
    currentPeriodStart: start.period.start,
    currentPeriodEnd: start.period.end,
    planSnapshot: snapshotOf(choice, given.start),
    items: storedItems(itemsFor(choice)),
    priceChanges: [],
  } as unknown as Subscription;
}

/** Ends of the first periods of a subscription, which tile. */
function endsOf(sub: Subscription, count: number): number[] {
  const rows = [{ startAt: sub.currentPeriodStart, endAt: sub.currentPeriodEnd, state: 'paid' as const }];
  let current = sub;
  while (rows.length < count) {
    const next = nextPeriod(current);
    rows.push({ startAt: next.start, endAt: next.end, state: 'paid' });
    current = advanced(current, next);
  }
  expect(gapIn(rows)).toBeUndefined();
  return rows.map(({ endAt }) => endAt);
}

const step = { name: '', metadata: {}, trialCompareAtPrice: 0, intervalUnit: '', intervalCount: 0, trialDuration: 0 };
const multiTrials = [
  { ...step, trialDuration: 7 * 86_400, trialPrice: 100 },
  { ...step, intervalUnit: 'month', intervalCount: 1, trialPrice: 500 },
];

describe('a trial', () => {
  it('of several steps ends with the last of them, where full periods begin', () => {
    const sub = begun({ plan: plan({ multiTrials }) }, 2);
    expect(endsOf(sub, 4)).toEqual(['2026-02-07', '2026-03-07', '2026-04-07', '2026-05-07'].map(day));
    expect([sub.anchor, sub.trialEnd]).toEqual([day('2026-03-07'), day('2026-03-07')]);
    const second = nextPeriod(sub);
    const third = nextPeriod(advanced(sub, second));
    const prices = [trial(sub.currentPeriodStart, sub.currentPeriodEnd), second, third].map(period =>
      periodItems(sub, period).map(({ unitAmount, quantity }) => unitAmount * BigInt(quantity)),
    );
    expect(prices).toEqual([[200n], [1000n], [2000n]]);
  });

  it('of one step lasts its seconds, at its price', () => {
    const sub = begun({ plan: plan({ trialDurationTime: 3 * 86_400, trialAmount: 50 }) });
    expect(sub.currentPeriodEnd).toBe(day('2026-02-03'));
    expect(periodItems(sub, trial(0, 1))).toMatchObject([{ unitAmount: 50n }]);
  });

  it('is not given twice, and makes no line where its price is 0', () => {
    const withTrial = plan({ trialDurationTime: 86_400 });
    expect(subscriptionStart(terms({ plan: withTrial, trialAllowed: false }))).toMatchObject({
      period: { kind: 'cycle' },
    });
    expect(periodItems(begun({ plan: withTrial }), trial(0, 1))).toEqual([]);
  });

  it('that is free lasts until the time that is given', () => {
    const sub = begun({ trialEnd: day('2026-02-10') });
    expect(endsOf(sub, 3)).toEqual(['2026-02-10', '2026-03-10', '2026-04-10'].map(day));
    expect(() => begun({ trialEnd: day('2026-01-30') })).toThrow();
  });

  it('may be the whole first period, or a stretch before it', () => {
    expect(endsOf(begun({ freeInInitialPeriod: true }), 2)).toEqual(['2026-02-28', '2026-03-31'].map(day));
    for (const freeInInitialPeriod of [true, false]) {
      const until = begun({ freeInInitialPeriod, freeTimeEnd: day('2026-02-15') });
      expect(endsOf(until, 2)).toEqual(['2026-02-15', '2026-03-15'].map(day));
    }
  });

  it('is appended to by hours, which add up', () => {
    const end = day('2026-03-31');
    const first = appendedTrialEnd({ now: 0, currentPeriodEnd: end, trialEnd: 0 }, 36);
    expect(first).toBe(at('2026-04-01T12:00:00Z'));
    expect(appendedTrialEnd({ now: 0, currentPeriodEnd: end, trialEnd: first }, 12)).toBe(day('2026-04-02'));
  });
});

describe('a due day', () => {
  it('makes the first period a stub, in proportion to a full one', () => {
    const sub = begun({ start: day('2026-04-10'), billingAnchorDay: 25, plan: plan({ amount: 3000 }) });
    expect(endsOf(sub, 2)).toEqual([day('2026-04-25'), day('2026-05-25')]);
    const stub = { kind: 'stub', start: sub.currentPeriodStart, end: sub.currentPeriodEnd } as const;
    expect(periodItems(sub, stub)).toMatchObject([{ unitAmount: 1500n, quantity: 1 }]);
  });

  it('has no place on a plan by the day, and is a weekday on one by the week', () => {
    expect(() => begun({ billingAnchorDay: 5, plan: plan({ intervalUnit: 'day' }) })).toThrow();
    expect(() => begun({ billingAnchorDay: 8, plan: plan({ intervalUnit: 'week' }) })).toThrow();
  });
});

describe('a price in another currency', () => {
  const rule = { amount: 0, autoExchange: false, disable: false, currency: 'JPY' };

  it('is converted once, rounded, then multiplied', () => {
    const multiCurrencies = [{ ...rule, exchangeRate: 149.5, fixedAmount: 0 }];
    const choice = { plan: plan({ currency: 'USD', amount: 999, multiCurrencies }), quantity: 3, addons: [] };
    const items = itemsFor({ ...choice, currency: 'JPY' });
    expect([items[0]?.unitAmount, itemsAmount(items)]).toEqual([1494n, 4482n]);
    expect(snapshotOf({ ...choice, currency: 'JPY' }, 90).multiCurrencySnapshot).toEqual({
      chargeCurrency: 'JPY',
      rates: [{ from: 'USD', to: 'JPY', rate: 149.5, source: 'plan' }],
      time: 90,
    });
  });

  it('is the fixed amount where there is one, and refused where there is none', () => {
    const fixed = plan({ multiCurrencies: [{ ...rule, exchangeRate: 149.5, fixedAmount: 1500 }] });
    expect(priceIn(fixed, 'JPY', fixed.amount)).toBe(1500n);
    expect(() => priceIn(fixed, 'USD', fixed.amount)).toThrow();
  });
});

it('a gap or an overlap of periods is found', () => {
  const row = (startAt: number, endAt: number, state: 'paid' | 'void' = 'paid') => ({ startAt, endAt, state });
  expect(gapIn([row(1, 2), row(2, 3), row(2, 9, 'void')])).toBeUndefined();
  expect(gapIn([row(1, 2), row(3, 4)])).toBe('a period to 2, the next from 3');
  expect(gapIn([row(1, 1)])).toBe('a period from 1 to 1');
});
