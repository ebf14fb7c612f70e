import { describe, expect, it } from '@jest/globals';
import { priceLines } from '../../src/pricing/price.js';
import { commonPercentage, percentageOf, ppmOf, taxesOn } from '../../src/pricing/tax.js';
import { line, rate, reverseCharge } from './samples.js';

describe('precision', () => {
  it.each([
    [100_000n, 8.875, 8875n],
    [765_000n, 8.425, 64_451n],
  ])('net %s at %s %% is taxed %s', (net, percent, tax) => {
    expect(priceLines([line(net, rate(percent))]).amounts.taxAmount).toBe(tax);
  });

  it('a percentage becomes a rate exactly, and a rate the nearest percentage', () => {
    expect([0, 825, 10_000].map(ppmOf)).toEqual([0, 82_500, 1_000_000]);
    expect([82_500, 88_750, 84_250, 84_249, 50].map(percentageOf)).toEqual([825, 888, 843, 842, 1]);
  });
});

describe('several rates', () => {
  it('the tax of a rate is shared out to its lines: 127 on two of 333 at 19 % as 64 and 63, and 23 on one at 7 %', () => {
    const { lines, taxes, amounts, taxPercentage } = priceLines([
      line(333n, rate(19)),
      line(333n, rate(19)),
      line(333n, rate(7)),
    ]);
    expect(lines.map(({ tax }) => tax)).toEqual([64n, 63n, 23n]);
    expect(taxes).toMatchObject([
      { category: 'S', ratePpm: 190_000, net: 666n, tax: 127n, jurisdiction: 'EE', source: 'country' },
      { category: 'S', ratePpm: 70_000, net: 333n, tax: 23n, reason: 'Standard rate of EE' },
    ]);
    expect(amounts).toMatchObject({ taxAmount: 150n, totalAmount: 1149n });
    expect(taxPercentage).toBe(0);
  });

  it('−5000 at 20 % and 8000 with reverse charge: −1000 and 0, total 2000', () => {
    const { lines, amounts } = priceLines([line(-5000n, rate(20)), line(8000n, reverseCharge)]);
    expect(lines.map(({ tax }) => tax)).toEqual([-1000n, 0n]);
    expect(amounts).toMatchObject({ totalAmountExcludingTax: 3000n, taxAmount: -1000n, totalAmount: 2000n });
  });

  it('categories of the same rate are groups of their own', () => {
    const { taxes } = priceLines([line(100n, reverseCharge), line(50n, rate(0)), line(1n, reverseCharge)]);
    expect(taxes.map(({ category, net }) => [category, net])).toEqual([
      ['AE', 101n],
      ['Z', 50n],
    ]);
  });

  it('usage of June at 22 % and the fee of July at 24 % are taxed apart: 2200 and 1200 of 18400', () => {
    const { lines, amounts } = priceLines([line(10_000n, rate(22)), line(5000n, rate(24))]);
    expect(lines.map(({ tax }) => tax)).toEqual([2200n, 1200n]);
    expect(amounts.totalAmount).toBe(18_400n);
  });

  it('the percentage of the invoice is the common one, else 0', () => {
    expect(commonPercentage([])).toBe(0);
    expect(commonPercentage([rate(8.25), rate(8.25)])).toBe(825);
    expect(commonPercentage([rate(8.25), rate(8.26)])).toBe(0);
  });

  it('components are summed, rounded once, and split by largest remainder', () => {
    const components = [
      { jurisdiction: 'US-NY', ratePpm: 40_000 },
      { jurisdiction: 'New York City', ratePpm: 45_000 },
      { jurisdiction: 'MCTD', ratePpm: 3_750 },
    ];
    const { taxes, groups } = taxesOn([999n], [rate(8.875, { components })]);
    // exact: 88.66125, of which 39.96, 44.955 and 3.74625
    expect(taxes).toEqual([89n]);
    expect(groups[0]?.components.map(({ tax }) => tax)).toEqual([40n, 45n, 4n]);
  });

  it('components of different jurisdictions in one group keep their own shares', () => {
    const one = rate(8, { components: [{ jurisdiction: 'A', ratePpm: 80_000 }] });
    const two = rate(8, { components: [{ jurisdiction: 'B', ratePpm: 80_000 }] });
    const { groups } = taxesOn([1000n, 3000n], [one, two]);
    expect(groups.map(({ tax }) => tax)).toEqual([320n]);
    expect(groups[0]?.components).toEqual([
      { jurisdiction: 'A', ratePpm: 80_000, tax: 80n },
      { jurisdiction: 'B', ratePpm: 80_000, tax: 240n },
    ]);
  });

  it('refuses rates that are none', () => {
    for (const ratePpm of [-1, 0.5, 1_000_001])
      expect(() => taxesOn([1n], [{ ...rate(0), ratePpm }])).toThrow(RangeError);
    const components = [{ jurisdiction: 'A', ratePpm: 1 }];
    expect(() => taxesOn([1n], [rate(8, { components })])).toThrow('components of 1 in a rate of 80000');
  });
});
