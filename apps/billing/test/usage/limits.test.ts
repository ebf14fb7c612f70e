import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustLimit, newUsageEvent, subscriptionUsage, usageCurrentValue, userUsage } from '@recur/contracts';
import { carryOver } from '../../src/usage/limits/carry-over.js';
import { UsageUpgrades } from '../../src/usage/limits/upgrades.js';
import { charge, day, limit, type Meter, meter, period, terms } from './meter.js';

let m: Meter;
beforeAll(async () => {
  m = await meter();
});
afterAll(() => m.t.close());

const totals = async (of: { userId: number }, metricCode: string) => {
  const { currentValue, totalLimit } = await m.t.done(usageCurrentValue, { userId: of.userId, metricCode });
  return [currentValue, totalLimit];
};

describe('a recurring limit (G3)', () => {
  it('1000, used 700: 1300; + 50 by hand; used 900: carryover 450', async () => {
    const metric = m.metric('limitRecurring');
    const plan = terms({ limits: [limit(metric.id, 1000)] });
    const sub = m.subscribed([plan]);
    await m.event(sub, metric, 650);
    const ended = period(m.start, m.start + 30 * day, plan);
    const next = period(ended.end, ended.end + 30 * day, plan);
    const third = period(next.end, next.end + 30 * day, plan);
    await m.inTx(tx => carryOver(tx, { subscription: sub, ended, next }));
    await m.event(sub, metric, 50);
    await m.inTx(tx => carryOver(tx, { subscription: sub, ended, next }));
    m.clock.advance(ended.end + 60 - m.clock.now());
    const renewed = m.change(sub, { periods: [{ ...ended, state: 'invoiced' }, next] });
    expect(await totals(sub, metric.code)).toEqual([0, 1300]);
    const adjusted = { amount: 50, metricCode: metric.code, reason: 'Goodwill', userId: sub.userId };
    expect(await m.t.done(adjustLimit, adjusted)).toEqual({ success: true });
    expect(await m.event(renewed, metric, 900)).toBe(900);
    const { metricLimit } = await m.t.done(usageCurrentValue, { userId: sub.userId, metricCode: metric.code });
    expect(metricLimit?.TotalLimit).toBe(1350);
    expect(metricLimit?.quotaAdjustments).toMatchObject([
      { quotaType: 'carryover', quotaAmount: 300, previousPeriodLimit: 1000, previousPeriodUsed: 700 },
      { quotaType: 'manual', quotaAmount: 50, reason: 'Goodwill', previousPeriodLimit: 1300 },
    ]);
    await m.inTx(tx => carryOver(tx, { subscription: renewed, ended: next, next: third }));
    m.clock.advance(next.end + 60 - m.clock.now());
    m.change(renewed, { periods: [{ ...next, state: 'invoiced' }, third] });
    expect(await totals(sub, metric.code)).toEqual([0, 1450]);
  });
});

describe('an adjustment', () => {
  it('may lower a limit, never below what is used', async () => {
    const metric = m.metric('limitMetered');
    const start = m.clock.now() - day;
    const sub = m.subscribed([], {
      start,
      periods: [period(start, start + 30 * day, terms({ limits: [limit(metric.id, 100)] }))],
    });
    await m.event(sub, metric, 60);
    const adjust = (amount: number, over: object = {}) =>
      m.t.call(adjustLimit, {
        amount,
        metricCode: metric.code,
        reason: 'r',
        subscriptionId: sub.subscriptionId,
        ...over,
      });
    expect(await adjust(-40)).toMatchObject({ ok: true });
    expect(await adjust(-1)).toMatchObject({ slug: 'limit_below_usage' });
    expect(await m.event(sub, metric, 1)).toBe('usage_limit_exceeded');
    const charged = m.metric('chargeMetered');
    expect(await adjust(1, { metricCode: charged.code })).toMatchObject({ slug: 'metric_without_limit' });
    expect(await adjust(1, { metricCode: 'none' })).toMatchObject({ slug: 'metric_not_found' });
    expect(await adjust(1, { subscriptionId: 'sub_none' })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await adjust(1, { subscriptionId: '', userId: 999_999 })).toMatchObject({ slug: 'user_not_found' });
    expect(await adjust(1, { subscriptionId: '', userId: 1 })).toMatchObject({ slug: 'usage_not_subscribed' });
    expect(await adjust(1, { subscriptionId: '' })).toMatchObject({ slug: 'invalid_parameters' });
  });
});

describe('a plan change (G5)', () => {
  it('limit 1000 → 5000 with 40 % left: 2600 with proration', async () => {
    const metric = m.metric('limitMetered', 'sum', { carryoverProrationEnabled: true });
    const start = m.clock.now() - 600;
    const sub = m.subscribed([], {
      start,
      periods: [
        {
          ...period(start, start + 1000),
          segments: [
            { start, end: start + 600, terms: [terms({ limits: [limit(metric.id, 1000)] })] },
            { start: start + 600, end: start + 1000, terms: [terms({ limits: [limit(metric.id, 5000)] })] },
          ],
        },
      ],
    });
    expect(await totals(sub, metric.code)).toEqual([0, 2600]);
    expect(await m.event(sub, metric, 2600)).toBe(2600);
    expect(await m.event(sub, metric, 1)).toBe('usage_limit_exceeded');
  });
});

describe('an event beyond a limit (G8)', () => {
  it('starts an upgrade to autoUpgradePlanId, once per period', async () => {
    const metric = m.metric('limitMetered');
    const start = m.clock.now() - day;
    const plan = terms({ limits: [limit(metric.id, 5)], autoUpgradePlanId: 77 });
    const sub = m.subscribed([], { start, periods: [period(start, start + 30 * day, plan)] });
    const upgraded: unknown[] = [];
    m.t.app.get(UsageUpgrades).register(async (tx, of) => {
      upgraded.push(of);
      tx.log(`Subscription(${of.subscriptionId})`, 'AutoUpgrade');
    });
    const refused = [
      await m.event(sub, metric, 6),
      await m.event(sub, metric, 7),
      (await m.t.call(newUsageEvent, m.input(sub, metric, 8), { idempotencyKey: 'up' })).ok,
    ];
    expect(refused).toEqual(['usage_limit_exceeded', 'usage_limit_exceeded', false]);
    await m.t.work.drain();
    await m.event(sub, metric, 9);
    await m.t.work.drain();
    expect(upgraded).toEqual([{ subscriptionId: sub.subscriptionId, planId: 77 }]);
  });
});

describe('user.metric.update (G10)', () => {
  it('is emitted at most once a second, and once at 80 % and at 100 % of a limit', async () => {
    const metric = m.metric('limitMetered');
    const start = m.clock.now() - day;
    const sub = m.subscribed([], {
      start,
      periods: [period(start, start + 30 * day, terms({ limits: [limit(metric.id, 100)] }))],
    });
    await m.t.work.drain();
    await m.t.emitted();
    const told = async () => {
      await m.t.work.drain();
      const events = (await m.t.emitted()).filter(({ type }) => type === 'user.metric.update');
      return events.map(({ version, data }) => {
        const { currentValue, totalLimit, alert } = data as Record<string, number>;
        return [version, currentValue, totalLimit, alert];
      });
    };
    for (const value of [10, 20, 30]) await m.event(sub, metric, value);
    expect(await told()).toEqual([[1, 60, 100, 0]]);
    await m.event(sub, metric, 20);
    expect(await told()).toEqual([]);
    m.clock.advance(1);
    expect(await told()).toEqual([
      [2, 80, 100, 0],
      [3, 80, 100, 80],
    ]);
    m.clock.advance(1);
    await m.event(sub, metric, 20);
    expect(await told()).toEqual([
      [4, 100, 100, 0],
      [5, 100, 100, 100],
    ]);
  });
});

describe('usage as it stands', () => {
  it('is shown of a user and of a subscription', async () => {
    const [limited, metered] = [m.metric('limitMetered', 'count'), m.metric('chargeMetered')];
    const start = m.clock.now() - day;
    const plan = terms({ limits: [limit(limited.id, 10)], charges: [charge(metered.id)] });
    const sub = m.subscribed([], { start, periods: [period(start, start + 30 * day, plan)] });
    await m.event(sub, limited);
    await m.event(sub, metered, 7);
    const { userMetric } = await m.t.done(userUsage, { externalUserId: `user-${sub.userId}` });
    expect(userMetric).toMatchObject({
      user: { id: sub.userId },
      limitStats: [
        { CurrentUsedValue: 1, metricLimit: { TotalLimit: 10, PlanLimits: [{ planId: 1, metricLimit: 10 }] } },
      ],
      meteredChargeStats: [{ CurrentUsedValue: 7, totalChargeAmount: 70, merchantMetric: { id: metered.id } }],
    });
    expect((await m.t.done(subscriptionUsage, { subscriptionId: sub.subscriptionId })).userMetric).toEqual(userMetric);
    expect(await totals(sub, metered.code)).toEqual([7, 0]);
    expect((await m.t.done(userUsage, { userId: 1 })).userMetric).toMatchObject({ limitStats: [], user: { id: 1 } });
  });

  it('is refused for what there is not', async () => {
    const { code } = m.metric('limitMetered');
    expect(await m.t.call(userUsage, { userId: 999_999 })).toMatchObject({ slug: 'user_not_found' });
    expect(await m.t.call(subscriptionUsage, { subscriptionId: 'x' })).toMatchObject({
      slug: 'subscription_not_found',
    });
    const value = (over: object) => m.t.call(usageCurrentValue, { userId: 1, metricCode: code, ...over });
    expect(await value({ userId: 999_999 })).toMatchObject({ slug: 'user_not_found' });
    expect(await value({ metricCode: 'none' })).toMatchObject({ slug: 'metric_not_found' });
    expect(await value({})).toMatchObject({ slug: 'usage_not_subscribed' });
  });
});
