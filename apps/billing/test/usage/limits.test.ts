import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  adjustLimit,
  cancelSubscription,
  createSubscription,
  defaultProduct,
  listLimitAdjustments,
  listPendingUpdates,
  newUsageEvent,
  submitChange,
  subscriptionStatus,
  subscriptionUsage,
  usageCurrentValue,
  userUsage,
} from '@recur/contracts';
import { charge, limit, type Metered, metered } from '../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-06-01'));

/** A subscriber to a limit of so many units of a metric. */
async function limited(metricLimit: number, of: Parameters<Metered['metric']> = ['limitMetered']) {
  const metric = s.metric(...of);
  const made = await s.subscriber({ amount: 1000, metricLimits: [limit(metric.id, metricLimit)] });
  return { ...made, metric, use: (value: number) => s.use(made.userId, metric, value) };
}

describe('a recurring limit', () => {
  it('a limit of 1000 of which 700 were used is 1300 in the next period; with 50 by hand and 900 used, 450 go on', async () => {
    const { userId, metric, use } = await limited(1000, ['limitRecurring']);
    await use(700);
    await s.to('2026-07-02');
    expect(await s.standing(userId, metric)).toEqual([0, 1300]);
    const adjusted = { amount: 50, metricCode: metric.code, reason: 'Goodwill', userId };
    expect(await s.t.done(adjustLimit, adjusted, s.merchant)).toEqual({ success: true });
    expect(await use(900)).toBe('');
    const of = { userId, metricCode: metric.code };
    const { metricLimit } = await s.t.done(usageCurrentValue, of, s.merchant);
    expect(metricLimit?.TotalLimit).toBe(1350);
    expect(metricLimit?.quotaAdjustments).toMatchObject([
      { quotaType: 'carryover', quotaAmount: 300, previousPeriodLimit: 1000, previousPeriodUsed: 700 },
      { quotaType: 'manual', quotaAmount: 50, reason: 'Goodwill', previousPeriodLimit: 1300 },
    ]);
    const { id: metricId } = metric;
    const listed = (of: object) => s.t.done(listLimitAdjustments, of, s.merchant);
    const { adjustments, total } = await listed({ userId });
    expect(adjustments).toMatchObject([
      { quotaType: 'manual', quotaAmount: 50, reason: 'Goodwill', userId, metricId },
      { quotaType: 'carryover', quotaAmount: 300, userId, metricId },
    ]);
    expect(total).toBe(2);
    const { subscriptionId } = adjustments[0] ?? { subscriptionId: '' };
    expect(await listed({ metricId, subscriptionId })).toEqual({ adjustments, total });
    expect(await listed({ metricId, count: 1, page: 1 })).toEqual({ adjustments: adjustments.slice(1), total });
    expect(await listed({ userId, subscriptionId: 'sub_x' })).toEqual({ adjustments: [], total: 0 });
    expect(await s.t.done(listLimitAdjustments, { userId }, { merchantId: 9 })).toEqual({ adjustments: [], total: 0 });
    await s.to('2026-08-02');
    expect(await s.standing(userId, metric)).toEqual([0, 1450]);
  });
});

describe('an adjustment', () => {
  it('may lower a limit, never below what is used', async () => {
    const { id: subscriptionId, metric, use } = await limited(100);
    await use(60);
    const adjust = (amount: number, over: object = {}) => {
      const of = { amount, metricCode: metric.code, reason: 'r', subscriptionId, ...over };
      return s.t.call(adjustLimit, of, s.merchant);
    };
    expect(await adjust(-40)).toMatchObject({ ok: true });
    expect(await adjust(-1)).toMatchObject({ slug: 'limit_below_usage' });
    expect(await use(1)).toBe('usage_limit_exceeded');
    expect(await adjust(1, { metricCode: s.metric().code })).toMatchObject({ slug: 'metric_without_limit' });
    expect(await adjust(1, { metricCode: 'none' })).toMatchObject({ slug: 'metric_not_found' });
    expect(await adjust(1, { subscriptionId: 'sub_none' })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await adjust(1, { subscriptionId: '', userId: 999_999 })).toMatchObject({ slug: 'user_not_found' });
    const userId = await s.userWithCard();
    expect(await adjust(1, { subscriptionId: '', userId })).toMatchObject({ slug: 'usage_not_subscribed' });
    expect(await adjust(1, { subscriptionId: '' })).toMatchObject({ slug: 'invalid_parameters' });
  });
});

describe('a plan change', () => {
  it('a limit raised from 1000 to 5000 with 40 % left is 2600 with proration; what was used stays', async () => {
    const { userId, id, metric, use } = await limited(1000, [
      'limitMetered',
      'sum',
      { carryoverProrationEnabled: true },
    ]);
    await use(100);
    await s.to('2026-06-19');
    const newPlanId = s.plan({ amount: 2000, metricLimits: [limit(metric.id, 5000)] });
    await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
    await s.to('2026-06-19T01:00');
    expect(await s.standing(userId, metric)).toEqual([100, 2600]);
    expect(await use(2500)).toBe('');
    expect(await use(1)).toBe('usage_limit_exceeded');
  });
});

describe('events beyond limits', () => {
  /** A subscriber to a small plan, which names a middle one to upgrade to, which names a large one. */
  async function upgrading() {
    const metrics = [s.metric('limitMetered'), s.metric('limitMetered')] as const;
    const plan = (amount: number, each: number, autoUpgradePlanId: number) => ({
      amount,
      autoUpgradePlanId,
      metricLimits: metrics.map(({ id }) => limit(id, each)),
    });
    const middle = s.plan(plan(2000, 100, s.plan(plan(4000, 1000, 0))));
    const { userId, id } = await s.subscriber(plan(1000, 10, middle));
    /** The plans of the upgrades that were made, newest first. */
    const upgrades = async () => {
      const of = { subscriptionId: id };
      const { subscriptionPendingUpdates: all } = await s.t.done(listPendingUpdates, of, s.merchant);
      return all.map(({ updatePlanId }) => (updatePlanId === middle ? 'middle' : 'large'));
    };
    const [one, other] = metrics;
    return { userId, one, other, upgrades };
  }

  it('start an upgrade once per period, whichever limit refuses and however the event comes', async () => {
    const { userId, one, other, upgrades } = await upgrading();
    await s.to('2026-06-16');
    expect(await s.use(userId, one, 11)).toBe('usage_limit_exceeded');
    expect(await s.use(userId, one, 12)).toBe('usage_limit_exceeded');
    await s.to('2026-06-16T00:10');
    expect(await upgrades()).toEqual(['middle']);
    expect([await s.use(userId, one, 11), await s.use(userId, other, 11)]).toEqual(['', '']);
    // the middle plan names the large one
    expect([await s.use(userId, one, 90), await s.use(userId, other, 90)]).toEqual([
      'usage_limit_exceeded',
      'usage_limit_exceeded',
    ]);
    await s.to('2026-06-16T00:20');
    expect(await upgrades()).toEqual(['middle']);
    await s.to('2026-07-02');
    const keyed = { ...s.merchant, idempotencyKey: 'beyond' };
    const beyond = await s.t.call(newUsageEvent, s.event(userId, other, 101), keyed);
    expect(beyond).toMatchObject({ ok: false, slug: 'usage_limit_exceeded' });
    await s.to('2026-07-02T00:10');
    expect(await s.use(userId, other, 101)).toBe('');
    expect(await upgrades()).toEqual(['large', 'middle']);
  });

  it('start none after one that was not paid, until the next period', async () => {
    const { userId, one, other, upgrades } = await upgrading();
    await s.swap(userId, 'declines_softly');
    expect(await s.use(userId, one, 11)).toBe('usage_limit_exceeded');
    await s.to('2026-06-02');
    expect(await upgrades()).toEqual(['middle']);
    await s.swap(userId, 'succeeds');
    expect(await s.use(userId, other, 11)).toBe('usage_limit_exceeded');
    await s.to('2026-06-03');
    expect(await upgrades()).toEqual(['middle']);
    expect(await s.use(userId, other, 11)).toBe('usage_limit_exceeded');
    await s.to('2026-07-02');
    expect(await s.use(userId, other, 11)).toBe('usage_limit_exceeded');
    await s.to('2026-07-02T00:10');
    expect(await s.use(userId, other, 11)).toBe('');
    expect(await upgrades()).toEqual(['middle', 'middle']);
  });
});

describe('user.metric.update', () => {
  it('is emitted at most once a second, and once at 80 % and at 100 % of a limit', async () => {
    const { metric, use } = await limited(100);
    await s.t.emitted();
    const told = async (at: string) => {
      await s.to(at);
      const events = (await s.t.emitted()).filter(({ type }) => type === 'user.metric.update');
      return events.map(({ version, data }) => {
        const { metricId, currentValue, totalLimit, alert } = data as Record<string, number>;
        expect(metricId).toBe(metric.id);
        return [version, currentValue, totalLimit, alert];
      });
    };
    for (const value of [10, 20, 30]) await use(value);
    expect(await told('2026-06-01')).toEqual([[1, 60, 100, 0]]);
    await use(20);
    expect(await told('2026-06-01')).toEqual([]);
    expect(await told('2026-06-01T00:00:01')).toEqual([
      [2, 80, 100, 0],
      [3, 80, 100, 80],
    ]);
    await s.to('2026-06-01T00:00:02');
    await use(20);
    expect(await told('2026-06-01T00:00:02')).toEqual([
      [4, 100, 100, 0],
      [5, 100, 100, 100],
    ]);
  });
});

describe('usage as it stands', () => {
  it('is shown of a user and of a subscription', async () => {
    const priced = s.metric();
    const metric = s.metric('limitMetered', 'count');
    const userId = await s.userWithCard('succeeds', { externalUserId: 'acme' });
    const planId = s.plan({ metricLimits: [limit(metric.id, 10)], metricMeteredCharge: [charge(priced.id)] });
    const { id } = await s.subscribe({ userId, planId });
    await s.use(userId, metric, 1);
    await s.use(userId, priced, 7);
    const { userMetric } = await s.t.done(userUsage, { externalUserId: 'acme' }, s.merchant);
    const metricLimit = { TotalLimit: 10, PlanLimits: [{ planId, metricLimit: 10 }] };
    const costs = { CurrentUsedValue: 7, totalChargeAmount: 70, merchantMetric: { id: priced.id } };
    expect(userMetric).toMatchObject({
      user: { id: userId },
      subscription: { subscriptionId: id },
      product: { ...defaultProduct(s.merchant.merchantId), merchantId: expect.any(Number) },
      limitStats: [{ CurrentUsedValue: 1, metricLimit }],
      meteredChargeStats: [costs],
    });
    expect((await s.t.done(subscriptionUsage, { subscriptionId: id }, s.merchant)).userMetric).toEqual(userMetric);
    expect(await s.standing(userId, priced)).toEqual([7, 0]);
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    const over = {
      subscription: { subscriptionId: id, status: subscriptionStatus.cancelled },
      plan: { id: planId },
      meteredChargeStats: [],
    };
    expect((await s.t.done(userUsage, { userId }, s.merchant)).userMetric).toMatchObject(over);
    const waiting = await s.userWithCard('declines_hard');
    const { subscription } = await s.t.done(createSubscription, { userId: waiting, planId }, s.merchant);
    const { subscriptionId } = subscription;
    const pending = {
      subscription: { subscriptionId, status: subscriptionStatus.pending },
      user: { id: waiting },
      limitStats: [],
    };
    expect((await s.t.done(userUsage, { userId: waiting }, s.merchant)).userMetric).toMatchObject(pending);
    expect((await s.t.done(subscriptionUsage, { subscriptionId }, s.merchant)).userMetric).toMatchObject(pending);
    const idle = await s.userWithCard();
    expect((await s.t.done(userUsage, { userId: idle }, s.merchant)).userMetric).toMatchObject({
      limitStats: [],
      subscription: null,
      user: { id: idle },
    });
  });

  it('is refused for what there is not', async () => {
    const { code: metricCode } = s.metric('limitMetered');
    const userId = await s.userWithCard();
    expect(await s.t.call(userUsage, { userId: 999_999 }, s.merchant)).toMatchObject({ slug: 'user_not_found' });
    expect(await s.t.call(subscriptionUsage, { subscriptionId: 'x' }, s.merchant)).toMatchObject({
      slug: 'subscription_not_found',
    });
    const value = (over: object) => s.t.call(usageCurrentValue, { userId, metricCode, ...over }, s.merchant);
    expect(await value({ userId: 999_999 })).toMatchObject({ slug: 'user_not_found' });
    expect(await value({ metricCode: 'none' })).toMatchObject({ slug: 'metric_not_found' });
    expect(await value({})).toMatchObject({ slug: 'usage_not_subscribed' });
  });
});
