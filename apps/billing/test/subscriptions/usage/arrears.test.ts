import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  adjustLimit,
  cancelInvoice,
  createSubscription,
  emptyOf,
  MultiCurrencyConfig,
  metricChargeType,
  metricHistoryByInvoice,
  newUsageEvent,
  previewChange,
  submitChange,
  usageCurrentValue,
} from '@recur/contracts';
import { charge, limit, type Metered, metered, tiers } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

/** A subscription to a plan of 500 a month whose metric has this price. */
async function metering(price: object = {}) {
  const metric = s.metric();
  const userId = await s.userWithCard();
  const planId = s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id, price)] });
  const { id } = await s.subscribe({ userId, planId });
  return { metric, userId, id };
}

describe('usage', () => {
  it('is billed with the fee of the period after it', async () => {
    const { metric, userId, id } = await metering();
    await s.useMany(userId, metric, [20, 30]);
    expect((await s.preview(id)).totalAmount).toBe(1000);
    await s.to('2026-06-02');
    expect((await s.lines(id)).slice(1)).toEqual([
      'paid plan 06-01 07-01 500',
      `paid usage:${metric.id} 05-01 06-01 500`,
    ]);
    expect(await s.dates(id)).toBe('active 06-01 07-01');
  });

  it('that comes late stands on the next invoice, at the tier where its period had got to', async () => {
    const { metric, userId, id } = await metering({
      chargeType: metricChargeType.graduated,
      standardAmount: 0,
      graduatedAmounts: tiers,
    });
    await s.use(userId, metric, 150);
    await s.to('2026-06-10');
    await s.use(userId, metric, 10, { at: '2026-05-20' });
    await s.to('2026-07-02');
    const of = `usage:${metric.id}`;
    expect((await s.lines(id)).slice(1)).toEqual([
      'paid plan 06-01 07-01 500',
      `paid ${of} 05-01 06-01 1250`,
      'paid plan 07-01 08-01 500',
      `paid ${of} 05-01 06-01 50`,
    ]);
  });

  it('of an invoice that is cancelled stands on the one that replaces it', async () => {
    const { metric, userId, id } = await metering();
    await s.use(userId, metric, 40);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-01T01:00');
    const { invoiceId } = await s.state(id);
    await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
    await s.swap(userId, 'succeeds');
    await s.to('2026-06-02T00:00');
    const of = `usage:${metric.id}`;
    expect((await s.lines(id)).slice(1)).toEqual([
      'cancelled plan 06-01 07-01 500',
      `cancelled ${of} 05-01 06-01 400`,
      'paid plan 06-01 07-01 500',
      `paid ${of} 05-01 06-01 400`,
    ]);
    expect(await s.dates(id)).toBe('active 06-01 07-01');
  });

  it('of paid time is billed where free time is appended to it; that of the free time is not', async () => {
    const { metric, userId, id } = await metering();
    await s.use(userId, metric, 40);
    await s.to('2026-05-20');
    await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 48 }, s.merchant);
    expect((await s.preview(id)).totalAmount).toBe(900);
    await s.use(userId, metric, 2);
    await s.to('2026-06-02');
    await s.use(userId, metric, 100);
    await s.to('2026-06-04');
    const of = `usage:${metric.id}`;
    expect((await s.lines(id)).slice(1)).toEqual(['paid plan 06-03 07-03 500', `paid ${of} 05-01 06-01 420`]);
    await s.use(userId, metric, 1);
    await s.to('2026-07-04');
    expect((await s.lines(id)).at(-1)).toBe(`paid ${of} 06-03 07-03 10`);
  });

  it('stays to be billed where free time takes the place of a period whose payment failed', async () => {
    const { metric, userId, id } = await metering();
    await s.use(userId, metric, 40);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-01T12:00');
    expect(await s.dates(id)).toBe('incomplete 06-01 07-01');
    await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 48 }, s.merchant);
    expect(await s.dates(id)).toBe('active 06-01 06-03T12:00');
    await s.swap(userId, 'succeeds');
    await s.to('2026-06-06');
    expect((await s.lines(id)).slice(-2)).toEqual([
      'paid plan 06-03T12:00 07-03T12:00 500',
      `paid usage:${metric.id} 05-01 06-01 400`,
    ]);
  });

  it('that stands costs the whole of a paid period, also where free time follows it', async () => {
    const metric = s.metric('chargeMetered', 'max');
    const userId = await s.userWithCard();
    const { id } = await s.subscribe({
      userId,
      planId: s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id)] }),
    });
    await s.to('2026-05-20');
    await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 480 }, s.merchant);
    await s.use(userId, metric, 6);
    await s.to('2026-06-22');
    expect((await s.lines(id)).at(-1)).toBe(`paid usage:${metric.id} 05-01 06-01 60`);
  });
});

it('after the end of a period counts in one stretch, before the next period is there and after', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric();
  const userId = await s.userWithCard();
  // tiers begin anew in each stretch
  const flat = tiers.map(tier => ({ ...tier, flatAmount: 500 }));
  const price = { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: flat };
  const { id } = await s.subscribe({
    userId,
    planId: s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id, price)] }),
  });
  await s.to('2026-06-30T23:58');
  await s.use(userId, metric, 1, { at: '2026-07-01T00:01' });
  await s.use(userId, metric, 1, { at: '2026-07-01T00:02' });
  await s.to('2026-07-02');
  await s.use(userId, metric, 98);
  await s.to('2026-08-02');
  expect((await s.lines(id)).at(-1)).toBe(`paid usage:${metric.id} 07-01 08-01 1500`);
});

it('of a time in which billing was away counts in the periods that it makes up for', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric('limitMetered');
  const userId = await s.userWithCard();
  const plan = s.plan({ intervalUnit: 'day', ...limited(metric.id, 10) });
  const { id } = await s.subscribe({ userId, planId: plan });
  const { end } = await s.state(id);
  const now = s.clock.now();
  s.clock.advance(end + 100_000 - now - (await s.ahead()));
  const use = (value: number, ago: number) =>
    s.t.call(
      newUsageEvent,
      {
        userId,
        metricCode: metric.code,
        aggregationValue: value,
        externalEventId: `${value}-${ago}`,
        eventTime: end + 100_000 - ago,
      },
      s.merchant,
    );
  const taken = [await use(9, 0), await use(10, 50_000), await use(1, 10), await use(2, 20)];
  expect(taken.map(({ ok }) => ok)).toEqual([true, true, true, false]);
  await s.drain();
});

it('of an invoice that is cancelled too late to be made again is billed by itself at once', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric();
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({
    userId,
    planId: s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id)] }),
  });
  await s.use(userId, metric, 40);
  await s.swap(userId, 'declines_softly');
  await s.to('2026-07-02T00:30');
  const { invoiceId } = await s.state(id);
  await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  const lines = [
    'cancelled plan 07-01 08-01 500',
    `cancelled usage:${metric.id} 06-01 07-01 400`,
    `processing usage:${metric.id} 06-01 07-01 400`,
  ];
  expect((await s.lines(id)).slice(1)).toEqual(lines);
  await s.to('2026-07-03');
  expect((await s.state(id)).status).toBe('expired');
  expect((await s.lines(id)).slice(1)).toEqual(lines);
});

const limited = (metricId: number, metricLimit: number) => ({ metricLimits: [limit(metricId, metricLimit)] });

it('carries over what a limit left where the next period is paid after it began', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric('limitRecurring');
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan(limited(metric.id, 1000)) });
  await s.use(userId, metric, 700);
  await s.swap(userId, 'declines_softly');
  await s.to('2026-07-01T02:00');
  expect(await s.dates(id)).toContain('incomplete');
  await s.swap(userId, 'succeeds');
  await s.to('2026-07-02');
  const { currentValue, totalLimit } = await s.t.done(
    usageCurrentValue,
    { userId, metricCode: metric.code },
    s.merchant,
  );
  expect([currentValue, totalLimit]).toEqual([0, 1300]);
});

describe('a limit', () => {
  /** A subscriber to a limit of 10 a month, who has used some of it. */
  async function using(value: number) {
    await s.anew('2026-06-01');
    const metric = s.metric('limitMetered');
    const userId = await s.userWithCard();
    const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 1000, ...limited(metric.id, 10) }) });
    await s.use(userId, metric, value);
    await s.to('2026-06-16');
    const current = async () => {
      const of = { userId, metricCode: metric.code };
      const { currentValue, totalLimit } = await s.t.done(usageCurrentValue, of, s.merchant);
      return [currentValue, totalLimit];
    };
    return { id, userId, metric, current, use: (more: number) => s.use(userId, metric, more) };
  }

  it('counts from zero in the period that a change of interval begins', async () => {
    const { id, metric, current, use } = await using(9);
    const newPlanId = s.plan({ amount: 9000, intervalUnit: 'year', ...limited(metric.id, 10) });
    await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
    await s.to('2026-06-17');
    expect([await current(), await use(5), await current()]).toEqual([[0, 10], '', [5, 10]]);
    await s.to('2026-07-03');
    expect([await use(6), await use(5), await current()]).toEqual(['usage_limit_exceeded', '', [10, 10]]);
  });

  it('counts what was used since a change that holds from a quote on in the period that begins with it', async () => {
    const { id, userId, metric, current, use } = await using(7);
    const newPlanId = s.plan({ amount: 9000, intervalUnit: 'year', ...limited(metric.id, 10) });
    const change = { subscriptionId: id, newPlanId, quantity: 1 };
    const { prorationDate } = await s.t.done(previewChange, change, s.merchant);
    await s.to('2026-06-16T00:30');
    await use(2);
    await s.t.done(submitChange, { ...change, prorationDate }, s.merchant);
    await s.to('2026-06-16T02:00');
    expect([await use(3), await current()]).toEqual(['', [5, 10]]);
    await s.use(userId, metric, 3, { at: '2026-06-15' });
    const counted = await s.t.rows(
      `select c.used::int, (select sum(value)::int from usage_events e where e.counter_start = c.start_at
         and e.subscription_id = c.subscription_id) as exact
       from usage_counters c where c.subscription_id = $1 order by start_at`,
      [id],
    );
    expect(counted).toMatchObject([
      { used: 10, exact: 10 },
      { used: 5, exact: 5 },
    ]);
  });

  it('lasts through free time that was appended to its period', async () => {
    const { id, current, use } = await using(10);
    await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 72 }, s.merchant);
    await s.to('2026-07-02');
    expect([await use(1), await current()]).toEqual(['usage_limit_exceeded', [10, 10]]);
    await s.to('2026-07-05');
    expect([await use(1), await current()]).toEqual(['', [1, 10]]);
  });
});

it('keeps the limits of the invoice of an upgrade', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric('limitMetered');
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan(limited(metric.id, 10)) });
  const newPlanId = s.plan({ amount: 2000, ...limited(metric.id, 20) });
  await s.use(userId, metric, 3);
  await s.to('2026-06-16');
  await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
  await s.to('2026-06-17');
  const { invoiceId } = await s.state(id);
  const history = await s.t.done(metricHistoryByInvoice, { invoiceId }, s.merchant);
  expect(history).toMatchObject({ isLatestPaidInvoice: true, userHistoryMetric: { limitStats: [{ totalLimit: 20 }] } });
});

it('is not sold in a currency in which its prices have no rate', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric();
  const planId = s.plan({
    metricMeteredCharge: [charge(metric.id)],
    multiCurrencies: [{ ...emptyOf(MultiCurrencyConfig), currency: 'USD', fixedAmount: 1200 }],
  });
  const terms = { gatewayId: s.gatewayId(), userId: await s.userWithCard(), planId, currency: 'USD' };
  expect(await s.t.call(createSubscription, terms, s.merchant)).toMatchObject({
    slug: 'invalid_parameters',
    issues: [{ path: '/currency', message: `Plan ${planId} has no exchange rate from EUR for its usage prices` }],
  });
});

it('tells of each of two subscriptions whose limit is used up, and of a limit that was raised again', async () => {
  await s.anew('2026-06-01');
  const metric = s.metric('limitMetered');
  const userId = await s.userWithCard();
  const plan = (productId: number) => s.plan({ productId, ...limited(metric.id, 10) });
  const [one, two] = [await s.subscribe({ userId, planId: plan(1) }), await s.subscribe({ userId, planId: plan(2) })];
  const told = async () =>
    (await s.t.emitted())
      .filter(({ type }) => type === 'user.metric.update')
      .map(({ data }) => {
        const { subscriptionId, currentValue, totalLimit, alert } = data as Record<string, unknown>;
        return [subscriptionId, currentValue, totalLimit, alert];
      });
  const use = (productId: number, aggregationValue: number) =>
    s.t.done(
      newUsageEvent,
      {
        userId,
        metricCode: metric.code,
        externalEventId: `${productId}-${aggregationValue}`,
        aggregationValue,
        productId,
      },
      s.merchant,
    );
  await use(2, 1);
  await use(1, 10);
  await s.to('2026-06-02');
  expect((await told()).toSorted()).toEqual(
    [
      [one.id, 10, 10, 0],
      [one.id, 10, 10, 80],
      [one.id, 10, 10, 100],
      [two.id, 1, 10, 0],
    ].toSorted(),
  );
  const raise = { amount: 90, metricCode: metric.code, reason: 'Promised', userId, subscriptionId: one.id };
  await s.t.done(adjustLimit, raise, s.merchant);
  await s.to('2026-06-03');
  expect(await told()).toEqual([[one.id, 10, 100, 0]]);
  await use(1, 90);
  await s.to('2026-06-04');
  expect((await told()).map(([, , , alert]) => alert)).toEqual([0, 80, 100]);
});
