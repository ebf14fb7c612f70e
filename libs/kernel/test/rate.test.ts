import { describe, expect, it } from '@jest/globals';
import { currencies } from '@recur/contracts';
import fc from 'fast-check';
import { crossRate, exchange, MAX_AMOUNT, RATE_DIGITS, type Rate, rateNumber, rateOf, rateText } from '../src/index.js';

const one = 10n ** BigInt(RATE_DIGITS);
const abs = (value: bigint) => (value < 0n ? -value : value);
const exponents = [...currencies];
const convert = (amount: bigint, rate: string, from: string, to: string) =>
  exchange(amount, rateOf(rate), currencies.get(from) ?? 0, currencies.get(to) ?? 0);

describe('a rate', () => {
  it.each<[string | number, Rate]>([
    ['1', one],
    ['149.5', 149_500_000_000_000n],
    [0.0021, 2_100_000_000n],
    [1e-7, 100_000n],
    [1.5e-11, 15n],
    ['0.000000000001', 1n],
    ['1.50000000000000', 1_500_000_000_000n],
    [1e9, one * 10n ** 9n],
    [0, 0n],
  ])('is read from %p', (decimal, rate) => {
    expect(rateOf(decimal)).toBe(rate);
  });

  it.each(['', '.5', '1.', '-1', '+1', '1,5', '0x1', ' 1', '1e999', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, -0.5])(
    'is not read from %p',
    decimal => {
      expect(() => rateOf(decimal)).toThrow(RangeError);
    },
  );

  it.each(['0.0000000000001', 1e-13, '1.0000000000001'])(
    'has no more than 12 fractional digits, as %p has',
    decimal => {
      expect(() => rateOf(decimal)).toThrow(RangeError);
    },
  );

  it('is written as it was read, without zeros at its end', () => {
    expect(['149.50', '10', '0.0021', '0'].map(text => rateText(rateOf(text)))).toEqual(['149.5', '10', '0.0021', '0']);
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), rate => rateOf(rateText(rate)) === rate));
  });
});

describe('a cross rate', () => {
  it('is rounded once, to 12 digits', () => {
    expect(rateText(crossRate(rateOf('3'), rateOf('1')))).toBe('0.333333333333');
    expect(rateText(crossRate(rateOf('3'), rateOf('2')))).toBe('0.666666666667');
    expect(rateText(crossRate(rateOf('1.0456'), rateOf('163.21')))).toBe('156.092195868401');
    expect(() => crossRate(0n, one)).toThrow(RangeError);
  });

  const rate = fc.bigInt({ min: 1n, max: 10n ** 17n });

  it('is the nearest to the exact one, and what is shown is what is used', () => {
    fc.assert(
      fc.property(rate, rate, (from, to) => {
        const cross = crossRate(from, to);
        expect(rateOf(rateNumber(cross))).toBe(cross);
        // one more unit in the last place of a double, where the number has no room for 12 digits
        const inexact = cross < 100n * one ? 0n : cross / 2n ** 52n + 1n;
        expect(2n * abs(cross * from - to * one)).toBeLessThanOrEqual(from * (1n + 2n * inexact));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('an exchange', () => {
  it('scales between minor units', () => {
    expect(convert(1_000n, '0.0021', 'JPY', 'KWD')).toBe(2_100n);
    expect(convert(100n, '149.5', 'USD', 'JPY')).toBe(150n);
    expect(convert(-100n, '149.5', 'USD', 'JPY')).toBe(-150n);
    expect(convert(1n, '0.0001', 'USD', 'CLF')).toBe(0n);
    expect(convert(1n, '0.005', 'USD', 'CLF')).toBe(1n);
    expect(convert(0n, '149.5', 'USD', 'JPY')).toBe(0n);
  });

  /** The specification, independent of the implementation: the integer nearest to the exact quotient. */
  function isNearest(converted: bigint, amount: bigint, rate: Rate, from: number, to: number): boolean {
    const exact = { over: amount * rate * 10n ** BigInt(to), under: one * 10n ** BigInt(from) };
    const apart = 2n * abs(converted * exact.under - exact.over);
    const awayFromZero = abs(converted) * exact.under > abs(exact.over);
    return apart < exact.under || (apart === exact.under && awayFromZero);
  }

  it('is the nearest whole number for every pair of currencies, halves away from zero', () => {
    const amount = fc.oneof(fc.bigInt({ min: -MAX_AMOUNT, max: MAX_AMOUNT }), fc.constantFrom(1n, -1n, 50n, -50n));
    const rate = fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 21n }), fc.constantFrom(one / 2n, one / 20n, one));
    const pairs = exponents.flatMap(([from]) => exponents.map(([to]) => [from, to] as const));
    expect(pairs).toHaveLength(currencies.size ** 2);
    const sample = fc.sample(fc.tuple(amount, rate), 2 * pairs.length);
    const far = pairs.flatMap(([from, to], at) =>
      [sample[at], sample[at + pairs.length]].flatMap(asked => {
        const [value = 0n, by = 0n] = asked ?? [];
        const [source, target] = [currencies.get(from) ?? 0, currencies.get(to) ?? 0];
        return isNearest(exchange(value, by, source, target), value, by, source, target) ? [] : [[from, to, value, by]];
      }),
    );
    expect(far).toEqual([]);
  });

  it('would be found out if it rounded a half to the even', () => {
    expect(isNearest(2n, 250n, one, 2, 0)).toBe(false);
    expect(isNearest(3n, 250n, one, 2, 0)).toBe(true);
    expect(isNearest(-2n, -250n, one, 2, 0)).toBe(false);
  });
});
