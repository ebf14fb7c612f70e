import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  aggregationType,
  cancelAtPeriodEnd,
  cancelInvoice,
  emptyOf,
  explainInvoice,
  keepAfterPeriodEnd,
  MetricPlanCharge,
  MultiCurrencyConfig,
  metricType,
  newUsageEvent,
  planType,
  previewNextInvoice,
  updateSubscriptionConfig,
} from '@recur/contracts';
import { utc } from '../../world/clock.js';
import { type Pricing, pricing } from '../../world/prices.js';

let p: Pricing;
beforeAll(async () => {
  p = await pricing();
});
afterAll(() => p.t.close());
beforeEach(() => p.anew('2026-02-01'));

describe('a price change of a plan that runs', () => {
  it('is announced 30 days before the period with which it takes effect, whose invoice names both prices', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.to('2026-02-10');
    await p.change(planId, 1200);
    await p.to('2026-02-10T01:00');
    const times = { noticeTime: utc('2026-03-02'), effectTime: utc('2026-04-01') };
    expect((await p.shownOf(id)).priceChanges).toEqual([{ planId, oldAmount: 1000, newAmount: 1200, ...times }]);
    await p.to('2026-03-01T23:59');
    expect(await p.events(id)).not.toContain('price_change_notice');
    await p.to('2026-03-02T00:01');
    expect(await p.events(id)).toEqual(['price_change_notice']);
    await p.to('2026-05-02');
    expect(await p.lines(id)).toEqual([
      ['2026-02-01', 1000, ''],
      ['2026-03-01', 1000, ''],
      ['2026-04-01', 1200, 'Price changed from €10.00 to €12.00 on April 1, 2026'],
      ['2026-05-01', 1200, ''],
    ]);
    const { amount, priceChanges } = await p.shownOf(id);
    expect([amount, priceChanges]).toEqual([1200, []]);
  });

  it('takes effect with the next period that is not made where there are no days of notice, which is given at once', async () => {
    await p.t.done(updateSubscriptionConfig, { noticeDays: 0 }, p.merchant);
    const planId = p.plan();
    const [early, late] = [await p.userWithCard(), await p.userWithCard()];
    const { id } = await p.subscribe({ userId: early, planId });
    await p.to('2026-02-15');
    const other = await p.subscribe({ userId: late, planId });
    // the invoice of March is made
    await p.to('2026-02-27');
    await p.change(planId, 1200);
    await p.to('2026-04-02');
    const netsOf = async (each: string) => (await p.lines(each)).map(([start, net]) => [start, net]);
    expect(await netsOf(id)).toEqual([
      ['2026-02-01', 1000],
      ['2026-03-01', 1000],
      ['2026-04-01', 1200],
    ]);
    expect(await netsOf(other.id)).toEqual([
      ['2026-02-15', 1000],
      ['2026-03-15', 1200],
    ]);
  });

  it('is one of an add-on, too: each line that changed names its prices', async () => {
    const addonId = p.plan({ amount: 500, type: planType.recurringAddon, planName: 'Seats' });
    const planId = p.plan({ bindingAddonIds: String(addonId), description: 'Everything' });
    const addonParams = [{ addonPlanId: addonId, quantity: 3 }];
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId, addonParams });
    await p.change(addonId, 450);
    await p.to('2026-02-02');
    await p.change(planId, 1100);
    await p.to('2026-05-02');
    expect(await p.lines(id)).toEqual([
      ['2026-02-01', 1000, 'Everything'],
      ['2026-02-01', 1500, ''],

      ['2026-03-01', 1000, 'Everything'],
      ['2026-03-01', 1500, ''],

      ['2026-04-01', 1100, 'Everything. Price changed from €10.00 to €11.00 on April 1, 2026'],
      ['2026-04-01', 1350, 'Price changed from €5.00 to €4.50 on April 1, 2026'],

      ['2026-05-01', 1100, 'Everything'],
      ['2026-05-01', 1350, ''],
    ]);
    expect((await p.shownOf(id)).amount).toBe(2450);
  });

  it('is at the rate at which a subscription in another currency was sold; a fixed amount stays', async () => {
    const rule = { ...emptyOf(MultiCurrencyConfig), currency: 'USD', exchangeRate: 1.1 };
    const [rated, fixed] = [
      p.plan({ multiCurrencies: [rule] }),
      p.plan({ multiCurrencies: [{ ...rule, fixedAmount: 1300 }] }),
    ];
    const subscribed = async (planId: number) =>
      (await p.subscribe({ userId: await p.userWithCard(), planId, currency: 'USD' })).id;
    const [first, second] = [await subscribed(rated), await subscribed(fixed)];
    await p.change(rated, 1200);
    await p.change(fixed, 1200);
    await p.to('2026-04-02');
    expect((await p.lines(first)).at(-1)).toEqual([
      '2026-04-01',
      1320,
      'Price changed from $11.00 to $13.20 on April 1, 2026',
    ]);
    expect((await p.lines(second)).at(-1)).toEqual(['2026-04-01', 1300, '']);
    expect((await p.shownOf(second)).priceChanges).toEqual([]);
  });

  it('is not announced while the subscription is to end with its period; once it goes on, in time', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.t.done(cancelAtPeriodEnd, { subscriptionId: id }, p.merchant);
    await p.change(planId, 1200);
    await p.t.done(updateSubscriptionConfig, { noticeDays: 10 }, p.merchant);
    await p.to('2026-02-25');
    expect(await p.events(id)).not.toContain('price_change_notice');
    await p.t.done(keepAfterPeriodEnd, { subscriptionId: id }, p.merchant);
    await p.to('2026-04-02');
    // ten days before the 1st of April: too late for March
    const [{ at } = { at: 0 }] = await p.t.rows(
      `select envelope::jsonb ->> 'at' as at from outbox where type = 'subscription.price_change_notice' and aggregate_id = $1`,
      [id],
    );
    expect(new Date(Number(at) * 1000).toISOString()).toBe('2026-03-22T00:00:00.000Z');
    expect((await p.lines(id)).map(([, net]) => net)).toEqual([1000, 1000, 1200]);
  });

  it('of a plan with usage changes the fee on the invoice that waits for usage', async () => {
    const of = { type: metricType.chargeMetered, aggregationType: aggregationType.sum, metricName: 'Calls' };
    p.knowMetric(3, of, p.merchant.merchantId);
    const planId = p.plan({
      metricMeteredCharge: [{ ...emptyOf(MetricPlanCharge), metricId: 3, standardAmount: 10 }],
    });
    const userId = await p.userWithCard();
    const { id } = await p.subscribe({ userId, planId });
    await p.change(planId, 1200);
    await p.to('2026-03-15');
    const event = { userId, metricCode: 'm3', aggregationValue: 7, externalEventId: 'e1' };
    await p.t.done(newUsageEvent, event, p.merchant);
    await p.to('2026-04-01T00:30');
    const preview = (await p.t.done(previewNextInvoice, { subscriptionId: id }, p.merchant)).invoice;
    expect(preview.lines.map(({ amount }) => amount)).toEqual([1200, 70]);
    await p.to('2026-04-01T02:00');
    expect((await p.lines(id)).slice(-2)).toEqual([
      ['2026-04-01', 1200, 'Price changed from €10.00 to €12.00 on April 1, 2026'],
      ['2026-04-01', 70, expect.anything()],
    ]);
  });

  it('is named on an invoice that is made again, and in its explanation', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-03-30');
    const { invoiceId } = await p.state(id);
    await p.t.done(cancelInvoice, { invoiceId }, p.merchant);
    await p.to('2026-04-02');
    expect((await p.lines(id)).at(-1)).toEqual([
      '2026-04-01',
      1200,
      'Price changed from €10.00 to €12.00 on April 1, 2026',
    ]);
    const again = (await p.state(id)).invoiceId;
    expect(again).not.toBe(invoiceId);
    const { lines } = await p.t.done(explainInvoice, { invoiceId: again }, p.merchant);
    expect(lines[0]).toMatchObject({
      text: 'Pro: 1200 + 0 tax = 1200; the unit price was 1000 until then, and is 1200',
      inputs: { unitAmount: 1200, previousUnitAmount: 1000, quantity: 1 },
    });
  });
});
