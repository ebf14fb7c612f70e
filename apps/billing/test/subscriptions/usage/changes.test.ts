import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addTrialTime, metricChargeType, previewChange, submitChange } from '@recur/contracts';
import { utc } from '../../world/clock.js';
import { charge, limit, type Metered, metered, tiers } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-06-01'));

/** A subscription to a plan whose metric has this price, and another plan with the other price. */
async function repriced(old: object, then: object, over: object = {}) {
  const metric = s.metric();
  const userId = await s.userWithCard();
  const planId = s.plan({ amount: 1000, metricMeteredCharge: [charge(metric.id, old)] });
  const newPlanId = s.plan({ amount: 2000, metricMeteredCharge: [charge(metric.id, then)], ...over });
  const { id } = await s.subscribe({ userId, planId });
  const change = { subscriptionId: id, newPlanId, quantity: 1 };
  return { metric, userId, id, change, of: `usage:${metric.id}` };
}
const graduated = { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: tiers };

describe('a change of plan', () => {
  it('bills the usage so far at the old price; from then on it counts from zero at the new one', async () => {
    const { metric, userId, id, change, of } = await repriced(graduated, { standardAmount: 8 });
    await s.use(userId, metric, 150);
    await s.to('2026-06-16');
    const { totalAmount, invoice, nextPeriodInvoice } = await s.t.done(previewChange, change, s.merchant);
    expect([totalAmount, invoice?.lines?.at(-1)?.amount, nextPeriodInvoice?.totalAmount]).toEqual([1750, 1250, 2000]);
    await s.t.done(submitChange, { ...change, confirmTotalAmount: totalAmount }, s.merchant);
    await s.to('2026-06-16T01:00');
    await s.use(userId, metric, 60);
    await s.to('2026-07-02');
    expect((await s.lines(id)).slice(1)).toEqual([
      'paid plan 06-16 07-01 -500',
      'paid plan 06-16 07-01 1000',
      `paid ${of} 06-01 06-16 1250`,
      'paid plan 07-01 08-01 2000',
      `paid ${of} 06-16 07-01 480`,
    ]);
  });

  it('from the time of its preview on counts what was used since at the new price', async () => {
    const { metric, userId, id, change, of } = await repriced(graduated, { standardAmount: 8 });
    await s.use(userId, metric, 150);
    await s.to('2026-06-16');
    const { prorationDate, totalAmount } = await s.t.done(previewChange, change, s.merchant);
    await s.to('2026-06-16T00:10');
    await s.use(userId, metric, 20, { at: '2026-06-16T00:05' });
    const quoted = { ...change, prorationDate };
    expect((await s.t.done(previewChange, quoted, s.merchant)).totalAmount).toBe(totalAmount);
    await s.t.done(submitChange, { ...quoted, confirmTotalAmount: totalAmount }, s.merchant);
    await s.to('2026-06-16T00:15');
    await s.use(userId, metric, 40);
    expect(await s.standing(userId, metric)).toEqual([60, 0]);
    await s.to('2026-07-02');
    expect((await s.lines(id)).filter(line => line.includes(of))).toEqual([
      `paid ${of} 06-01 06-16 1250`,
      `paid ${of} 06-16 07-01 480`,
    ]);
  });

  it('closes nothing where the price is the same', async () => {
    const { metric, userId, id, change, of } = await repriced(graduated, graduated);
    await s.use(userId, metric, 90);
    await s.to('2026-06-16');
    expect((await s.t.done(previewChange, change, s.merchant)).totalAmount).toBe(500);
    await s.t.done(submitChange, { ...change, confirmTotalAmount: 500 }, s.merchant);
    await s.to('2026-06-17');
    await s.use(userId, metric, 20);
    await s.to('2026-07-02');
    expect((await s.lines(id)).at(-1)).toBe(`paid ${of} 06-01 07-01 1050`);
  });

  it('at the end of the period bills its usage at the old price and the next fee at the new one', async () => {
    const { metric, userId, id, change, of } = await repriced({}, { standardAmount: 8 });
    await s.use(userId, metric, 60);
    await s.t.done(submitChange, { ...change, effectImmediate: 2 }, s.merchant);
    await s.to('2026-06-20');
    const { lines } = await s.preview(id);
    expect(lines.map(line => line.amountExcludingTax)).toEqual([2000, 600]);
    await s.to('2026-07-02');
    expect(await s.dates(id)).toBe('active 07-01 08-01');
    await s.use(userId, metric, 20);
    await s.to('2026-08-02');
    expect((await s.lines(id)).slice(1)).toEqual([
      'paid plan 07-01 08-01 2000',
      `paid ${of} 06-01 07-01 600`,
      'paid plan 08-01 09-01 2000',
      `paid ${of} 07-01 08-01 160`,
    ]);
  });

  it('to a plan that prices a metric leaves the usage before it free, and bills what comes after', async () => {
    const metric = s.metric();
    const userId = await s.userWithCard();
    const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 1000 }) });
    const newPlanId = s.plan({ amount: 2000, metricMeteredCharge: [charge(metric.id)] });
    await s.use(userId, metric, 5);
    await s.to('2026-07-02');
    await s.use(userId, metric, 6);
    await s.to('2026-07-16');
    await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
    await s.to('2026-07-17');
    await s.use(userId, metric, 7);
    await s.to('2026-10-02');
    const usage = (await s.lines(id)).filter(line => line.includes('usage'));
    expect(usage).toEqual([`paid usage:${metric.id} 07-16 08-01 70`]);
  });

  it('to a plan of another interval that prices a metric does so too', async () => {
    const metric = s.metric();
    const userId = await s.userWithCard();
    const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 1000 }) });
    const metricMeteredCharge = [charge(metric.id)];
    const newPlanId = s.plan({ amount: 900, intervalUnit: 'week', metricMeteredCharge });
    await s.use(userId, metric, 5);
    await s.to('2026-06-16');
    const change = { subscriptionId: id, newPlanId, quantity: 1, effectImmediate: 1 };
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-06-17');
    await s.use(userId, metric, 7);
    await s.to('2026-07-08');
    const usage = (await s.lines(id)).filter(line => line.includes('usage'));
    expect(usage).toEqual([`paid usage:${metric.id} 06-16 06-23 70`]);
  });

  it('and free time that is longer than events are late leave usage at the price of its time', async () => {
    const { metric, userId, id, change, of } = await repriced({}, { standardAmount: 8 });
    await s.use(userId, metric, 10);
    await s.t.done(addTrialTime, { subscriptionId: id, appendTrialEndHour: 1000 }, s.merchant);
    await s.to('2026-08-10');
    await s.t.done(submitChange, { ...change, effectImmediate: 2 }, s.merchant);
    await s.to('2026-08-13');
    expect((await s.lines(id)).filter(line => line.includes('usage'))).toEqual([`paid ${of} 06-01 07-01 100`]);
  });

  it('is confirmed with the usage or without it: events go on meanwhile', async () => {
    const { metric, userId, change } = await repriced({}, { standardAmount: 8 });
    await s.to('2026-06-16');
    await s.use(userId, metric, 10);
    const submit = (confirmTotalAmount: number) =>
      s.t.call(submitChange, { ...change, confirmTotalAmount }, s.merchant);
    expect(await submit(550)).toMatchObject({ slug: 'total_changed' });
    expect(await submit(500)).toMatchObject({ ok: true });
  });

  it('that is not paid in time gives the usage back', async () => {
    const { metric, userId, id, change, of } = await repriced({}, { standardAmount: 8 });
    await s.use(userId, metric, 30);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-16');
    await s.t.done(submitChange, change, s.merchant);
    await s.use(userId, metric, 5);
    await s.to('2026-06-17');
    await s.swap(userId, 'succeeds');
    await s.use(userId, metric, 5);
    await s.to('2026-07-02');
    expect((await s.lines(id)).slice(-3)).toEqual([
      `cancelled ${of} 06-01 06-16 300`,
      'paid plan 07-01 08-01 1000',
      `paid ${of} 06-01 07-01 400`,
    ]);
  });

  it('that is not paid in time joins what was counted before it and since, however that is aggregated', async () => {
    const kinds = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
    const metrics = kinds.map(kind => s.metric('chargeMetered', kind));
    const priced = (standardAmount: number) => ({
      metricMeteredCharge: metrics.map(({ id }) => charge(id, { standardAmount })),
    });
    const { userId, id } = await s.subscriber({ amount: 1000, ...priced(10) });
    const newPlanId = s.plan({ amount: 2000, ...priced(8) });
    const useAll = async (value: number, unique: string, at: string) => {
      for (const metric of metrics) expect(await s.use(userId, metric, value, { unique, at })).toBe('');
    };
    const billed = async () => {
      const lines = (await s.lines(id)).filter(line => line.includes(' usage:')).map(line => line.split(' '));
      const amountOf = (metricId: number) =>
        lines.filter(([, key]) => key === `usage:${metricId}`).map(of => of.at(-1));
      return Object.fromEntries(metrics.map((metric, at) => [kinds[at], amountOf(metric.id)]));
    };
    await s.to('2026-06-16');
    await useAll(5, 'a', '2026-06-15');
    await s.swap(userId, 'declines_softly');
    const change = { subscriptionId: id, newPlanId, quantity: 1, prorationDate: utc('2026-06-16') };
    await s.to('2026-06-16T00:10');
    await useAll(7, 'a', '2026-06-16T00:01');
    await useAll(2, 'b', '2026-06-16T00:02');
    await s.t.done(submitChange, change, s.merchant);
    // those that do not add up cost half of the month
    expect(await billed()).toEqual({ count: ['10'], countUnique: ['5'], latest: ['25'], max: ['25'], sum: ['50'] });
    await s.to('2026-06-17');
    await s.swap(userId, 'succeeds');
    await useAll(1, 'b', '2026-06-16T00:03');
    const [count, countUnique, latest, max, sum] = await Promise.all(metrics.map(each => s.standing(userId, each)));
    expect({ count, countUnique, latest, max, sum }).toEqual({
      count: [4, 0],
      countUnique: [2, 0],
      latest: [1, 0],
      max: [7, 0],
      sum: [15, 0],
    });
    await s.to('2026-07-02');
    expect(await billed()).toEqual({
      count: ['10', '40'],
      countUnique: ['5', '20'],
      latest: ['25', '10'],
      max: ['25', '70'],
      sum: ['50', '150'],
    });
  });

  it('that another one supersedes gives the usage back to it', async () => {
    const { metric, userId, id, change, of } = await repriced({}, { standardAmount: 8 });
    await s.use(userId, metric, 30);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-16');
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-06-16T00:20');
    await s.t.done(submitChange, { ...change, quantity: 2 }, s.merchant);
    expect((await s.lines(id)).filter(line => line.includes(of))).toEqual([
      `cancelled ${of} 06-01 06-16 300`,
      `processing ${of} 06-01 06-16T00:20 300`,
    ]);
  });

  it('to another interval bills all usage of the period that it ends', async () => {
    const { metric, userId, id, change, of } = await repriced({}, {}, { amount: 9000, intervalUnit: 'year' });
    await s.use(userId, metric, 12);
    await s.to('2026-06-16');
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-06-17');
    expect((await s.lines(id)).slice(-2)).toEqual(['paid plan 06-16 06-16 9000', `paid ${of} 06-01 06-16 120`]);
  });
});

it('a change of an incomplete subscription leaves the usage of the period before on the invoice', async () => {
  const { metric, userId, id, change, of } = await repriced({}, {});
  await s.use(userId, metric, 7);
  await s.swap(userId, 'declines_softly');
  await s.to('2026-07-01T02:00');
  expect(await s.dates(id)).toBe('incomplete 07-01 08-01');
  expect((await s.lines(id)).at(-1)).toBe(`processing ${of} 06-01 07-01 70`);
  const { totalAmount } = await s.t.done(previewChange, change, s.merchant);
  expect(totalAmount).toBe(2070);
  await s.t.done(submitChange, { ...change, confirmTotalAmount: totalAmount }, s.merchant);
  await s.use(userId, metric, 1);
  await s.swap(userId, 'succeeds');
  await s.to('2026-07-01T04:00');
  expect((await s.lines(id)).slice(-4)).toEqual([
    'cancelled plan 07-01 08-01 1000',
    `cancelled ${of} 06-01 07-01 70`,
    'paid plan 07-01 08-01 2000',
    `paid ${of} 06-01 07-01 70`,
  ]);
  await s.to('2026-08-02');
  expect((await s.lines(id)).slice(-2)).toEqual(['paid plan 08-01 09-01 2000', `paid ${of} 07-01 08-01 10`]);
});

describe('a change of an incomplete subscription to another price of usage', () => {
  /** Incomplete since 1 July, with 7 units of June at 10 on its open invoice, and 20 used in July. */
  async function unpaid() {
    const made = await repriced({}, { standardAmount: 8 });
    const { metric, userId, id } = made;
    await s.use(userId, metric, 7);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-07-01T02:00');
    expect(await s.dates(id)).toBe('incomplete 07-01 08-01');
    await s.use(userId, metric, 20);
    await s.to('2026-07-01T04:00');
    return made;
  }

  it('bills the usage of the period so far at the old price on the invoice that replaces the open one', async () => {
    const { metric, userId, id, change, of } = await unpaid();
    const { totalAmount } = await s.t.done(previewChange, change, s.merchant);
    expect(totalAmount).toBe(2000 + 70 + 200);
    await s.t.done(submitChange, { ...change, confirmTotalAmount: totalAmount }, s.merchant);
    await s.use(userId, metric, 5);
    await s.swap(userId, 'succeeds');
    await s.to('2026-08-02');
    expect((await s.lines(id)).slice(-5)).toEqual([
      'paid plan 07-01 08-01 2000',
      `paid ${of} 06-01 07-01 70`,
      `paid ${of} 07-01 07-01T04:00 200`,
      'paid plan 08-01 09-01 2000',
      `paid ${of} 07-01T04:00 08-01 40`,
    ]);
  });

  it('keeps each price where it is changed again: each use is billed once', async () => {
    const { metric, userId, id, change, of } = await unpaid();
    await s.t.done(submitChange, change, s.merchant);
    await s.use(userId, metric, 5);
    await s.to('2026-07-01T06:00');
    const third = s.plan({ amount: 3000, metricMeteredCharge: [charge(metric.id, { standardAmount: 6 })] });
    const again = { ...change, newPlanId: third };
    const { totalAmount } = await s.t.done(previewChange, again, s.merchant);
    expect(totalAmount).toBe(3000 + 70 + 200 + 40);
    await s.t.done(submitChange, { ...again, confirmTotalAmount: totalAmount }, s.merchant);
    await s.use(userId, metric, 1);
    await s.swap(userId, 'succeeds');
    await s.to('2026-08-02');
    expect((await s.lines(id)).filter(line => line.startsWith('paid')).slice(1)).toEqual([
      'paid plan 07-01 08-01 3000',
      `paid ${of} 06-01 07-01 70`,
      `paid ${of} 07-01 07-01T04:00 200`,
      `paid ${of} 07-01T04:00 07-01T06:00 40`,
      'paid plan 08-01 09-01 3000',
      `paid ${of} 07-01T06:00 08-01 6`,
    ]);
  });

  it('stands at its price on the next invoice where a second change leaves the price as it is', async () => {
    const { metric, userId, id, change, of } = await unpaid();
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-07-01T06:00');
    await s.t.done(submitChange, { ...change, quantity: 2 }, s.merchant);
    await s.use(userId, metric, 5);
    await s.swap(userId, 'succeeds');
    await s.to('2026-08-02');
    expect((await s.lines(id)).filter(line => line.startsWith('paid')).slice(1)).toEqual([
      'paid plan 07-01 08-01 4000',
      `paid ${of} 06-01 07-01 70`,
      'paid plan 08-01 09-01 4000',
      `paid ${of} 07-01 07-01T04:00 200`,
      `paid ${of} 07-01T04:00 08-01 40`,
    ]);
  });
});

it('an event beyond a limit starts the upgrade that the plan names, and is taken once it took effect', async () => {
  const metric = s.metric('limitMetered');
  const limits = (metricLimit: number) => ({ metricLimits: [limit(metric.id, metricLimit)] });
  const autoUpgradePlanId = s.plan({ amount: 2000, ...limits(100) });
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 1000, autoUpgradePlanId, ...limits(10) }) });
  await s.to('2026-06-16');
  expect(await s.use(userId, metric, 11)).toBe('usage_limit_exceeded');
  await s.to('2026-06-16T00:10');
  expect(await s.use(userId, metric, 11)).toBe('');
  expect((await s.lines(id)).slice(1)).toEqual(['paid plan 06-16 07-01 -500', 'paid plan 06-16 07-01 1000']);
  expect(await s.dates(id)).toBe('active 06-01 07-01');
});
