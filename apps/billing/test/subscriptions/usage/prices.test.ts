import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyOf, MultiCurrencyConfig, metricChargeType, submitChange, subscriptionUsage } from '@recur/contracts';
import { utc } from '../../world/clock.js';
import { charge, limit, type Metered, metered } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

/** Amounts of the usage lines of each metric that is billed for a period. */
async function amounts(subscriptionId: string, start: string) {
  const lines = (await s.lines(subscriptionId)).filter(line => line.includes(` usage:`) && line.includes(` ${start} `));
  return Object.fromEntries(
    lines.map(line => [Number(line.match(/usage:(\d+)/)?.[1]), Number(line.split(' ').at(-1))]),
  );
}

describe('recurring charges', () => {
  it('never restart, and are billed in arrears on the value at the cut, events or none', async () => {
    const kinds = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
    const metrics = kinds.map(kind => s.metric('chargeRecurring', kind));
    const { userId, id } = await s.subscriber({ metricRecurringCharge: metrics.map(metric => charge(metric.id)) });
    const useAll = async (value: number) => {
      for (const metric of metrics) await s.use(userId, metric, value, { unique: 'same' });
    };
    const billed = async (start: string) => {
      const of = await amounts(id, start);
      return Object.fromEntries(kinds.map((kind, at) => [kind, of[metrics[at]?.id ?? 0]]));
    };
    await useAll(3);
    await s.to('2026-06-02');
    await useAll(2);
    expect((await s.preview(id)).lines.slice(1).map(line => line.amountExcludingTax)).toEqual([20, 10, 20, 30, 50]);
    await s.to('2026-08-02');
    expect(await billed('05-01')).toEqual({ count: 10, countUnique: 10, latest: 30, max: 30, sum: 30 });
    const second = { count: 20, countUnique: 10, latest: 20, max: 30, sum: 50 };
    expect(await billed('06-01')).toEqual(second);
    expect(await billed('07-01')).toEqual(second);
    const { userMetric } = await s.t.done(subscriptionUsage, { subscriptionId: id }, s.merchant);
    const stats = userMetric.recurringChargeStats.map(one => one.totalChargeAmount);
    expect(stats).toEqual(Object.values(second));

    // a new price in the middle of August: each half of the month costs half
    await s.to('2026-08-16T12:00');
    const metricRecurringCharge = metrics.map(metric => charge(metric.id, { standardAmount: 8 }));
    const newPlanId = s.plan({ amount: 2000, metricRecurringCharge });
    await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
    await s.to('2026-08-17');
    for (const metric of metrics) await s.use(userId, metric, 4, { unique: 'other' });
    await s.to('2026-09-02');
    expect(await billed('08-01')).toEqual({ count: 10, countUnique: 5, latest: 10, max: 15, sum: 25 });
    expect(await billed('08-16T12:00')).toEqual({ count: 12, countUnique: 8, latest: 16, max: 16, sum: 36 });
  });
});

describe('a trial', () => {
  it('counts against limits and charges nothing; charges begin at zero at its end', async () => {
    const [metered, recurring, limited] = [s.metric(), s.metric('chargeRecurring'), s.metric('limitMetered')] as const;
    const { userId, id } = await s.subscriber(
      {
        amount: 1000,
        metricMeteredCharge: [charge(metered.id)],
        metricRecurringCharge: [charge(recurring.id)],
        metricLimits: [limit(limited.id, 10)],
      },
      { trialEnd: utc('2026-05-08') },
    );
    await s.use(userId, metered, 50);
    await s.use(userId, recurring, 5);
    expect([await s.use(userId, limited, 8), await s.use(userId, limited, 3)]).toEqual(['', 'usage_limit_exceeded']);
    expect((await s.preview(id)).totalAmount).toBe(1000);
    await s.to('2026-05-09');
    await s.use(userId, metered, 4);
    await s.use(userId, recurring, 3);
    await s.use(userId, metered, 60, { at: '2026-05-07' });
    expect([await s.use(userId, limited, 10), await s.use(userId, limited, 1)]).toEqual(['', 'usage_limit_exceeded']);
    await s.to('2026-06-09');
    expect((await s.lines(id)).filter(line => !line.includes(' plan '))).toEqual([
      `paid usage:${metered.id} 05-08 06-08 40`,
      `paid usage:${recurring.id} 05-08 06-08 30`,
    ]);
  });
});

describe('unit prices', () => {
  it('may be less than a minor unit, and in a currency without one', async () => {
    const metrics = [s.metric(), s.metric(), s.metric()] as const;
    const [cents, mills, dollars] = metrics;
    const tier = { startValue: 0, endValue: -1, perAmount: 7, perAmountDecimal: '0.0015', flatAmount: 0 };
    const decimals = await s.subscriber({
      metricMeteredCharge: [
        charge(cents.id, { standardAmount: 9, standardAmountDecimal: '0.02' }),
        charge(mills.id, { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: [tier] }),
      ],
    });
    const yen = { ...emptyOf(MultiCurrencyConfig), currency: 'JPY', exchangeRate: 149.5 };
    const foreign = await s.subscriber(
      {
        amount: 999,
        currency: 'USD',
        multiCurrencies: [yen],
        metricMeteredCharge: [
          charge(dollars.id, { standardAmount: 999 }),
          charge(cents.id, { standardAmountDecimal: '0.5' }),
        ],
      },
      { currency: 'JPY' },
    );
    await s.use(decimals.userId, cents, 12_345);
    await s.use(decimals.userId, mills, 1_234_567);
    await s.use(foreign.userId, dollars, 3);
    await s.use(foreign.userId, cents, 1000);
    await s.to('2026-06-02');
    expect(await amounts(decimals.id, '05-01')).toEqual({ [cents.id]: 247, [mills.id]: 1852 });
    // 0.5 cents are 0.7475 yen
    expect(await amounts(foreign.id, '05-01')).toEqual({ [dollars.id]: 4482, [cents.id]: 748 });
    expect((await s.invoices(foreign.id)).at(-1)).toBe('Cycle paid 06-01 07-01 6724');
  });
});
