import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  allocate,
  apportion,
  decimalOf,
  MAX_AMOUNT,
  Rejected,
  type Rounding,
  ratio,
  SCALE,
  safe,
  sum,
} from '../src/index.js';

const amount = fc.bigInt({ min: -MAX_AMOUNT, max: MAX_AMOUNT });
const weights = fc.array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.constant(1n)), {
  minLength: 1,
  maxLength: 40,
});
const denominator = fc.bigInt({ min: 1n, max: 10n ** 12n });
const abs = (value: bigint) => (value < 0n ? -value : value);

describe('ratio', () => {
  it.each<[Rounding, bigint, bigint]>([
    ['half-away-from-zero', 25n, 3n],
    ['half-away-from-zero', -25n, -3n],
    ['half-away-from-zero', 24n, 2n],
    ['half-away-from-zero', -24n, -2n],
    ['down', 29n, 2n],
    ['down', -29n, -2n],
    ['floor', 29n, 2n],
    ['floor', -21n, -3n],
    ['floor', -20n, -2n],
  ])('%s: %d tenths are %d', (rounding, tenths, whole) => {
    expect(ratio(tenths, 1n, 10n, rounding)).toBe(whole);
  });

  it('takes 8.25 % of 64.97 as 5.36', () => {
    expect(ratio(6497n, 825n, SCALE, 'half-away-from-zero')).toBe(536n);
  });

  it('is the nearest whole number, and symmetric', () => {
    fc.assert(
      fc.property(amount, amount, denominator, (value, numerator, below) => {
        const rounded = ratio(value, numerator, below, 'half-away-from-zero');
        expect(2n * abs(rounded * below - value * numerator)).toBeLessThanOrEqual(below);
        expect(ratio(-value, numerator, below, 'half-away-from-zero')).toBe(-rounded);
        expect(ratio(-value, numerator, below, 'down')).toBe(-ratio(value, numerator, below, 'down'));
      }),
    );
  });

  it('floors to the largest whole number that is not above', () => {
    fc.assert(
      fc.property(amount, amount, denominator, (value, numerator, below) => {
        const floored = ratio(value, numerator, below, 'floor');
        expect(floored * below).toBeLessThanOrEqual(value * numerator);
        expect((floored + 1n) * below).toBeGreaterThan(value * numerator);
      }),
    );
  });

  it('refuses a denominator that is not positive', () => {
    expect(() => ratio(1n, 1n, 0n, 'floor')).toThrow(RangeError);
    expect(() => ratio(1n, 1n, -2n, 'down')).toThrow(RangeError);
  });
});

describe('allocate', () => {
  it('gives the odd unit to the largest fraction', () => {
    expect(allocate(1000n, [5997n, 500n])).toEqual([923n, 77n]);
    expect(allocate(10n, [1n, 2n, 4n])).toEqual([1n, 3n, 6n]);
  });

  it('gives ties to the earlier', () => {
    expect(allocate(5n, [1n, 1n, 1n])).toEqual([2n, 2n, 1n]);
    expect(allocate(-5n, [1n, 1n, 1n])).toEqual([-1n, -2n, -2n]);
    expect(allocate(1n, [1n, 1n])).toEqual([1n, 0n]);
  });

  it('gives nothing to a weight of zero', () => {
    expect(allocate(7n, [0n, 2n, 0n, 2n])).toEqual([0n, 4n, 0n, 3n]);
    expect(allocate(0n, [0n, 0n])).toEqual([0n, 0n]);
    expect(allocate(0n, [])).toEqual([]);
  });

  it('refuses negative weights, and a total that nobody can take', () => {
    expect(() => allocate(1n, [2n, -1n])).toThrow(RangeError);
    expect(() => allocate(1n, [0n])).toThrow(RangeError);
    expect(() => allocate(1n, [])).toThrow(RangeError);
  });

  it('adds up exactly, each share less than a unit from the exact one', () => {
    fc.assert(
      fc.property(amount, weights, (total, parts) => {
        const whole = sum(parts);
        fc.pre(whole > 0n);
        const shares = allocate(total, parts);
        expect(sum(shares)).toBe(total);
        for (const [i, share] of shares.entries()) {
          expect(abs(share * whole - total * (parts[i] ?? 0n))).toBeLessThan(whole);
          if (parts[i] === 0n) expect(share).toBe(0n);
        }
        expect(allocate(total, [...parts, 0n])).toEqual([...shares, 0n]);
      }),
      { numRuns: 300 },
    );
  });

  it('lets equal weights differ by one unit at most, the earlier having more', () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 1, max: 50 }), (total, count) => {
        const shares = allocate(
          total,
          Array.from({ length: count }, () => 3n),
        );
        for (const [i, share] of shares.slice(1).entries()) expect([0n, 1n]).toContain((shares[i] ?? 0n) - share);
        expect((shares[0] ?? 0n) - (shares.at(-1) ?? 0n)).toBeLessThanOrEqual(1n);
      }),
    );
  });
});

describe('apportion', () => {
  it('rounds signed shares to the sum given', () => {
    expect(apportion(124n, [2000n * 825n, -500n * 825n], SCALE)).toEqual([165n, -41n]);
    expect(apportion(0n, [1000n * 825n, -1000n * 825n], SCALE)).toEqual([83n, -83n]);
  });

  it('leaves whole shares alone, and moves none by a unit or more', () => {
    fc.assert(
      fc.property(fc.array(amount, { minLength: 1, maxLength: 40 }), denominator, (numerators, below) => {
        const total = ratio(sum(numerators), 1n, below, 'half-away-from-zero');
        const shares = apportion(total, numerators, below);
        expect(sum(shares)).toBe(total);
        for (const [i, share] of shares.entries()) {
          expect(abs(share * below - (numerators[i] ?? 0n))).toBeLessThan(below);
        }
      }),
    );
  });

  it('refuses a total that is a unit or more away', () => {
    expect(() => apportion(2n, [1n], 1n)).toThrow(RangeError);
    expect(() => apportion(0n, [1n], 1n)).toThrow(RangeError);
    expect(() => apportion(1n, [1n], 0n)).toThrow(RangeError);
    expect(apportion(1n, [1n], 1n)).toEqual([1n]);
  });
});

describe('safe', () => {
  it('turns amounts that a JSON number carries exactly into numbers', () => {
    expect(safe(MAX_AMOUNT)).toBe(Number.MAX_SAFE_INTEGER);
    expect(safe(-MAX_AMOUNT)).toBe(Number.MIN_SAFE_INTEGER);
    expect(Object.is(safe(-0n), 0)).toBe(true);
  });

  it('refuses the others, naming where they came from', () => {
    for (const beyond of [MAX_AMOUNT + 1n, -MAX_AMOUNT - 1n]) {
      const refusal = thrownBy(() => safe(beyond, '/amount'));
      expect(refusal).toBeInstanceOf(Rejected);
      expect(refusal).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/amount' }] });
    }
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

it.each([
  [12345n, 2, '123.45'],
  [-5n, 2, '-0.05'],
  [1234n, 0, '1234'],
  [1n, 3, '0.001'],
  [0n, 2, '0.00'],
  [MAX_AMOUNT, 2, '90071992547409.91'],
] as const)('%s with %s decimals is %s', (units, decimals, text) => {
  expect(decimalOf(units, decimals)).toBe(text);
});
