import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activateTemporarily,
  addTrialTime,
  adjustLimit,
  cancelAtPeriodEnd,
  cancelInvoice,
  cancelSubscription,
  metricChargeType,
  previewChange,
  submitChange,
  subscriptionUsage,
} from '@recur/contracts';
import { utc } from '../../world/clock.js';
import { charge, limit, type Metered, metered, tiers } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

const change = (subscriptionId: string, newPlanId: number, over: object = {}) =>
  s.t.done(submitChange, { subscriptionId, newPlanId, quantity: 1, effectImmediate: 1, ...over }, s.merchant);
const used = async (id: string) => (await s.lines(id)).filter(line => line.includes(' usage:'));
const value = async (subscriptionId: string) => {
  const { userMetric } = await s.t.done(subscriptionUsage, { subscriptionId }, s.merchant);
  return userMetric.meteredChargeStats.map(({ CurrentUsedValue, totalChargeAmount }) => [
    CurrentUsedValue,
    totalChargeAmount,
  ]);
};

describe('usage without a price', () => {
  /** Subscribers to a plan without usage that once sold it, who use some. */
  async function sold(count: number) {
    const metric = s.metric();
    const all = [];
    for (let at = 0; at < count; at++) {
      all.push(await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] }));
    }
    for (const { userId } of all) await s.use(userId, metric, 4);
    await s.to('2026-05-05');
    for (const { id } of all) await change(id, s.plan({ amount: 600 }));
    await s.to('2026-05-06');
    for (const { userId } of all) await s.use(userId, metric, 7);
    return { all, metric };
  }

  it('stays free over a change of interval, and hinders neither a renewal nor an end', async () => {
    const {
      all: [renewed, ended],
      metric,
    } = await sold(2);
    if (!renewed || !ended) throw new Error('two have subscribed');
    await s.to('2026-05-20');
    for (const { id } of [renewed, ended]) await change(id, s.plan({ amount: 9000, intervalUnit: 'year' }));
    await s.to('2026-05-21');
    await s.t.done(cancelSubscription, { subscriptionId: ended.id, invoiceNow: true }, s.merchant);
    await s.to('2027-05-21');
    expect(await s.dates(renewed.id)).toBe('active 05-20 05-20');
    for (const { id } of [renewed, ended]) expect(await used(id)).toEqual([`paid usage:${metric.id} 05-01 05-05 40`]);
  });

  it('has one from a change on that comes when the next invoice is there already', async () => {
    const {
      all: [of],
      metric,
    } = await sold(1);
    const { id = '', userId = 0 } = of ?? {};
    await s.to('2026-05-30T12:00');
    await change(id, s.plan({ amount: 900, metricMeteredCharge: [charge(metric.id)] }));
    await s.to('2026-05-30T13:00');
    await s.use(userId, metric, 3);
    await s.to('2026-06-02');
    expect((await used(id)).slice(1)).toEqual([`paid usage:${metric.id} 05-30T12:00 06-01 30`]);
  });
});

it('usage between a quote of another interval and its submit counts in the period that begins with it', async () => {
  const metric = s.metric();
  const price = { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: tiers };
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id, price)] });
  await s.use(userId, metric, 20);
  await s.to('2026-05-20');
  const yearly = s.plan({ amount: 9000, intervalUnit: 'year', metricMeteredCharge: [charge(metric.id, price)] });
  const of = { subscriptionId: id, newPlanId: yearly, quantity: 1 };
  const { prorationDate } = await s.t.done(previewChange, of, s.merchant);
  await s.to('2026-05-20T00:30');
  await s.use(userId, metric, 80);
  await change(id, yearly, { prorationDate });
  // past the end of the period that was
  await s.to('2026-06-10');
  await s.use(userId, metric, 80);
  expect(await used(id)).toEqual([`paid usage:${metric.id} 05-01 05-20 200`]);
  expect(await value(id)).toEqual([[160, 1300]]);
  await s.to('2027-05-21');
  expect((await used(id)).slice(1)).toEqual([`paid usage:${metric.id} 05-20 05-20 1300`]);
});

it('usage of an unpaid period that is sold anew for a year costs its part of the year', async () => {
  const metric = s.metric('chargeMetered', 'max');
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] });
  await s.swap(userId, 'declines_softly');
  await s.to('2026-06-01T12:00');
  expect(await s.dates(id)).toBe('incomplete 06-01 07-01');
  await s.use(userId, metric, 5);
  const newPlanId = s.plan({ amount: 9000, intervalUnit: 'year', metricMeteredCharge: [charge(metric.id)] });
  await change(id, newPlanId, { effectImmediate: 0 });
  await s.swap(userId, 'succeeds');
  await s.to('2026-06-03');
  expect(await s.dates(id)).toBe('active 06-01 06-01');
  const { end } = await s.state(id);
  expect(end).toBe(utc('2027-06-01'));
  const stretches = await s.t.rows(
    'select end_at::int, period_end::int from usage_counters where subscription_id = $1 and events > 0',
    [id],
  );
  expect(stretches).toEqual([{ end_at: end, period_end: end }]);
});

it('a quote from before another change is refused', async () => {
  const metric = s.metric();
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] });
  await s.to('2026-05-20');
  const yearly = s.plan({ amount: 9000, intervalUnit: 'year', metricMeteredCharge: [charge(metric.id)] });
  const of = { subscriptionId: id, newPlanId: yearly, quantity: 1 };
  const { prorationDate } = await s.t.done(previewChange, of, s.merchant);
  await s.use(userId, metric, 3);
  await s.to('2026-05-20T00:10');
  await change(id, s.plan({ amount: 900, metricMeteredCharge: [charge(metric.id, { standardAmount: 7 })] }));
  await s.to('2026-05-20T00:20');
  expect(await s.t.call(submitChange, { ...of, prorationDate }, s.merchant)).toMatchObject({
    slug: 'invalid_parameters',
    issues: [{ path: '/prorationDate', message: expect.stringContaining('was changed at') }],
  });
});

it('a limit whose period is replaced from its first second on keeps what was given by hand', async () => {
  const metric = s.metric('limitMetered');
  const monthly = { amount: 500, metricLimits: [limit(metric.id, 10)] };
  const { id, userId } = await s.subscriber(monthly);
  const given = { amount: 5, metricCode: metric.code, reason: 'Promised', userId, subscriptionId: id };
  await s.t.done(adjustLimit, given, s.merchant);
  await change(id, s.plan({ ...monthly, amount: 9000, intervalUnit: 'year' }));
  await s.to('2026-05-02');
  expect(await s.standing(userId, metric)).toEqual([0, 15]);
});

describe('a metric that only the plan of a change prices', () => {
  /** A subscriber to a plan without usage, who uses some while the payment of a change to this plan is awaited. */
  async function awaited(plan: object) {
    const metric = s.metric();
    await s.t.db.refresh('metrics', metric.id, s.t.callerOf(s.merchant));
    const { id, userId } = await s.subscriber({ amount: 500 });
    await s.to('2026-05-11');
    await change(id, s.plan({ amount: 9000, metricMeteredCharge: [charge(metric.id)], ...plan }));
    await s.use(userId, metric, 3);
    await s.to('2026-05-12');
    await s.use(userId, metric, 2);
    return { id, of: `paid usage:${metric.id} 05-11` };
  }

  it('is charged from the change on', async () => {
    const { id, of } = await awaited({});
    await s.to('2026-06-02');
    expect(await used(id)).toEqual([`${of} 06-01 50`]);
  });

  it('is charged from the change on where a period begins with it', async () => {
    const { id, of } = await awaited({ intervalUnit: 'year' });
    await s.to('2027-05-12');
    expect(await used(id)).toEqual([`${of} 05-11 50`]);
  });
});

it('usage after free time that took the place of an unpaid period is charged', async () => {
  const metric = s.metric();
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] });
  await s.swap(userId, 'declines_softly');
  await s.to('2026-06-01T12:00');
  await s.use(userId, metric, 2);
  await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 48 }, s.merchant);
  await s.swap(userId, 'succeeds');
  await s.to('2026-06-06');
  await s.use(userId, metric, 5);
  await s.to('2026-07-05');
  expect(await used(id)).toEqual([`paid usage:${metric.id} 06-03T12:00 07-03T12:00 50`]);
});

it('usage in one period that begins beside free time that was appended counts in one stretch', async () => {
  const metric = s.metric();
  const price = { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: tiers };
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id, price)] });
  await s.to('2026-05-10');
  await s.use(userId, metric, 4);
  await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 48 }, s.merchant);
  await s.to('2026-05-20');
  await change(id, s.plan({ amount: 9000, intervalUnit: 'year', metricMeteredCharge: [charge(metric.id, price)] }));
  await s.use(userId, metric, 80);
  await s.to('2026-06-10');
  await s.use(userId, metric, 80);
  expect(await value(id)).toEqual([[160, 1300]]);
  const counted = await s.t.rows(
    'select used::int, end_at::int - start_at::int as seconds from usage_counters where subscription_id = $1 order by start_at',
    [id],
  );
  expect(counted).toEqual([
    { used: 4, seconds: 19 * 86_400 },
    { used: 160, seconds: 365 * 86_400 },
  ]);
});

describe('an invoice that is cancelled too late to be made again', () => {
  /** A subscriber whose invoice for June is cancelled half an hour before its deadline. */
  async function late(units: number, before?: (userId: number) => Promise<unknown>) {
    const metric = s.metric();
    const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] });
    await s.use(userId, metric, units);
    await before?.(userId);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-02T00:30');
    const { invoiceId } = await s.state(id);
    await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
    return { id, userId, of: `usage:${metric.id} 05-01 06-01` };
  }

  it('gives back the credit that it had used before the usage is billed', async () => {
    const { id, of } = await late(40, async userId => {
      const { subscription } = await s.subscribe({ userId, planId: s.plan({ amount: 300, productId: 2 }) });
      const ending = { subscriptionId: subscription.subscriptionId, prorate: true };
      await s.t.done(cancelSubscription, ending, s.merchant);
    });
    expect(await used(id)).toEqual([`cancelled ${of} 400`, `processing ${of} 400`]);
    const credits = await s.t.rows(
      `select status, partial_credit_paid::int as credit from invoices where subscription_id = $1 and bill_reason in ('cycle', 'usage')
        and kind = 'invoice' order by id`,
      [id],
    );
    expect(credits).toEqual([
      { status: 'cancelled', credit: 300 },
      { status: 'processing', credit: 300 },
    ]);
  });

  it('leaves what is too little to be charged to the invoice that a grant of time has made after all', async () => {
    await s.t.rows(`update gateways set minimum_amount = 50, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
    const { id, userId, of } = await late(2);
    expect(await used(id)).toEqual([`cancelled ${of} 20`]);
    await s.t.done(activateTemporarily, { subscriptionId: id, expireTime: utc('2026-06-05') }, s.merchant);
    await s.swap(userId, 'succeeds');
    await s.to('2026-06-03');
    expect(await used(id)).toEqual([`cancelled ${of} 20`, `paid ${of} 20`]);
  });
});

it('the last bill of a subscription that is over is previewed until its usage is complete', async () => {
  const metric = s.metric();
  const { id, userId } = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id)] });
  await s.use(userId, metric, 4);
  await s.t.done(cancelAtPeriodEnd, { subscriptionId: id }, s.merchant);
  await s.to('2026-06-01T00:30');
  await s.use(userId, metric, 3, { at: '2026-05-31' });
  const preview = await s.preview(id);
  expect([preview.totalAmount, preview.lines.map(({ description }) => description)]).toEqual([
    70,
    [`7 × Metric ${metric.id}`],
  ]);
  await s.to('2026-06-01T01:00');
  expect(await used(id)).toEqual([`paid usage:${metric.id} 05-01 06-01 70`]);
  await expect(s.preview(id)).rejects.toThrow('there is no next invoice');
});
