import { describe, expect, it } from '@jest/globals';
import { metricChargeType } from '@recur/contracts';
import { rateOf } from '@recur/kernel';
import fc from 'fast-check';
import {
  convertedCharge,
  partOf,
  pricedSteps,
  samePrice,
  usageAmount,
  usageDerivation,
  usagePrice,
} from '../../../src/pricing/usage.js';
import { dueUsage } from '../../../src/usage/domain/billing.js';

const tier = (startValue: number, endValue: number, perAmount: number, flatAmount = 0, perAmountDecimal = '') => ({
  startValue,
  endValue,
  perAmount,
  flatAmount,
  perAmountDecimal,
});
const graduated = (...graduatedAmounts: ReturnType<typeof tier>[]) =>
  usagePrice(
    { metricId: 1, chargeType: metricChargeType.graduated, standardAmount: 0, standardStartValue: 0, graduatedAmounts },
    1,
  );
const standard = (standardAmount: number, standardStartValue = 0, standardAmountDecimal = '') =>
  usagePrice(
    {
      metricId: 1,
      chargeType: metricChargeType.standard,
      standardAmount,
      standardAmountDecimal,
      standardStartValue,
      graduatedAmounts: [],
    },
    1,
  );

describe('tiers', () => {
  it.each([0, 1])('1–100 at 10 flat 500, then 5 flat 700, counted from %s: 0 → 0, 100 → 1500, 101 → 2205', first => {
    const price = graduated(tier(first, 100, 10, 500), tier(100 + first, -1, 5, 700));
    expect([0n, 100n, 101n].map(used => usageAmount(price, used))).toEqual([0n, 1500n, 2205n]);
  });

  it('a negative value costs nothing, and steps name the units of their tier', () => {
    const price = graduated(tier(0, 100, 10), tier(100, -1, 5));
    expect(usageAmount(price, -5n)).toBe(0n);
    expect(pricedSteps(price, 150n).map(({ step, units, amount }) => [step, units, amount])).toEqual([
      ['1–100', 100n, 1000n],
      ['101–', 50n, 250n],
    ]);
  });

  it('a standard price charges what exceeds its start: 130 at 10 above 100 are 300', () => {
    expect([100n, 130n].map(used => usageAmount(standard(10, 100), used))).toEqual([0n, 300n]);
  });

  it('steps add up to the price, and a price never falls as usage rises', () => {
    const unit = fc.integer({ min: 0, max: 1000 });
    const prices = fc
      .tuple(
        fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 4 }),
        fc.array(fc.tuple(unit, unit), { minLength: 5, maxLength: 5 }),
      )
      .map(([ends, amounts]) => {
        const sorted = [...ends.sort((a, b) => a - b), -1];
        return graduated(
          ...sorted.map((end, i) => tier(sorted[i - 1] ?? 0, end, amounts[i]?.[0] ?? 0, amounts[i]?.[1])),
        );
      });
    fc.assert(
      fc.property(prices, fc.bigInt(0n, 800n), (price, used) => {
        const steps = pricedSteps(price, used);
        expect(steps.reduce((sum, { units }) => sum + units, 0n)).toBe(used);
        expect(steps.reduce((sum, { amount }) => sum + amount, 0n)).toBe(usageAmount(price, used));
        expect(usageAmount(price, used + 1n)).toBeGreaterThanOrEqual(usageAmount(price, used));
      }),
    );
  });
});

describe('prices below a minor unit', () => {
  it('a price below one minor unit is multiplied before it is rounded: 12 345 at 0.02 are 247, 1 234 567 at 0.0015 are 1852', () => {
    expect(usageAmount(standard(0, 0, '0.02'), 12_345n)).toBe(247n);
    expect(usageAmount(graduated(tier(0, -1, 7, 0, '0.0015')), 1_234_567n)).toBe(1852n);
  });

  it('the decimal goes before the integer, in the comparison of prices too', () => {
    expect(usageAmount(standard(9, 0, '0.5'), 10n)).toBe(5n);
    expect(samePrice(standard(9, 0, '0.5'), standard(8, 0, '0.5'))).toBe(true);
    expect(samePrice(standard(9), undefined)).toBe(false);
  });
});

describe('another currency', () => {
  const of = (standardAmount: number, standardAmountDecimal = '') => {
    const graduatedAmounts = [tier(0, -1, standardAmount, 100)];
    const charge = {
      metricId: 1,
      chargeType: metricChargeType.standard,
      standardAmount,
      standardAmountDecimal,
      standardStartValue: 0,
    };
    return convertedCharge({ ...charge, graduatedAmounts }, { rate: rateOf('149.5'), fromExponent: 2, toExponent: 0 });
  };

  it('a price of 9.99 USD at 149.5 is 1494 JPY, and three of it are 4482', () => {
    expect(of(999)).toMatchObject({ standardAmount: 1494, graduatedAmounts: [{ perAmount: 1494, flatAmount: 150 }] });
    expect(usageAmount(usagePrice(of(999), 1), 3n)).toBe(4482n);
  });

  it('a decimal keeps its digits: 0.5 cents at 149.5 are 0.7475 yen', () => {
    expect(of(0, '0.5').standardAmountDecimal).toBe('0.7475');
  });
});

const period = (startAt: number, endAt: number, billedValue = 0n, billedAmount = 0n) => ({
  startAt,
  endAt,
  periodStart: 0,
  periodEnd: 3000,
  billedValue,
  billedAmount,
});
const metered = { aggregation: 'sum', kind: 'chargeMetered' } as const;

describe('what is due', () => {
  const hundred = graduated(tier(0, 100, 10), tier(100, -1, 5));

  it('10 late units after 150 that were billed at 1250 are priced by the tier they fall into: 50', () => {
    expect(dueUsage(period(0, 3000), 150n, hundred, metered).amount).toBe(1250n);
    expect(dueUsage(period(0, 3000, 150n, 1250n), 160n, hundred, metered).amount).toBe(50n);
  });

  it('an invoiced event that is deleted is a negative correction', () => {
    expect(dueUsage(period(0, 3000, 150n, 1250n), 140n, hundred, metered).amount).toBe(-50n);
  });

  it('900 units at 10 are 9000, and 9300 with 30 that arrive in the time of grace', () => {
    expect([900n, 930n].map(used => dueUsage(period(0, 3000), used, standard(10), metered).amount)).toEqual([
      9000n,
      9300n,
    ]);
  });

  it('150 units at an old price of 10 and then 5 are 1250, and 60 more at the new price of 8 are 480', () => {
    expect(dueUsage(period(0, 1200), 150n, hundred, metered).amount).toBe(1250n);
    expect(dueUsage(period(1200, 3000), 60n, standard(8), metered).amount).toBe(480n);
  });

  it.each(['max', 'latest', 'countUnique'] as const)('%s costs its part of the period, rounded once', aggregation => {
    const due = (from: number, to: number) =>
      dueUsage(period(from, to), 7n, standard(10), { ...metered, aggregation }).amount;
    expect([due(0, 1000), due(1000, 3000), due(0, 3000)]).toEqual([23n, 47n, 70n]);
  });

  it('a recurring charge costs its part, whatever its aggregation', () => {
    const of = { aggregation: 'sum', kind: 'chargeRecurring' } as const;
    expect(dueUsage(period(0, 1500), 10n, standard(10), of).amount).toBe(50n);
  });

  it('explains itself in words and numbers', () => {
    expect(usageDerivation(hundred, { used: 150n, billed: 0n, part: { partSeconds: 1, periodSeconds: 1 } })).toEqual({
      formula: 'Σ tiers (round(units × unitPrice) + flatAmount)',
      inputs: { used: 150, 'units 1–100': 100, 'unitPrice 1–100': 10, 'units 101–': 50, 'unitPrice 101–': 5 },
    });
    const part = { partSeconds: 1, periodSeconds: 2 };
    expect(usageDerivation(standard(0, 0, '0.5'), { used: 9n, billed: 3n, part })).toMatchObject({
      formula: 'round((round(units × unitPrice)) × partSeconds ÷ periodSeconds) − billed',
      inputs: { 'unitPrice 1–': '0.5', billed: 3, ...part },
    });
    expect(partOf(10n, 1, 3)).toBe(3n);
  });
});
