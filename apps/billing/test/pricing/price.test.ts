import { describe, expect, it, jest } from '@jest/globals';
import { bizType } from '@recur/contracts';
import { MAX_AMOUNT, Rejected, ratio, SCALE, sum } from '@recur/kernel';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { newDraft } from '../../src/invoices/domain/draft.js';
import { type LineItem, price, priceWith, requestedRate } from '../../src/pricing/price.js';

const item = (unitAmountExcludingTax: bigint, quantity = 1): LineItem => ({ unitAmountExcludingTax, quantity });
const abs = (value: bigint) => (value < 0n ? -value : value);

describe('price, worked examples', () => {
  it('three at 19.99 and one at 5.00 are taxed with 8.25 % of their sum', () => {
    const { lines, amounts } = price([item(1999n, 3), item(500n)], 825);
    expect(lines.map(line => line.amountExcludingTax)).toEqual([5997n, 500n]);
    expect(lines.map(line => line.tax)).toEqual([495n, 41n]);
    expect(lines.map(line => line.amount)).toEqual([6492n, 541n]);
    expect(amounts).toEqual({
      promoAmount: 0n,
      discountAmount: 0n,
      taxAmount: 536n,
      totalAmountExcludingTax: 6497n,
      totalAmount: 7033n,
      originAmount: 7033n,
    });
  });

  it('the same with 10.00 of promo credit', () => {
    const { lines, amounts } = price([item(1999n, 3), item(500n)], 825, 1000n);
    expect(lines).toEqual([
      {
        amountExcludingTax: 5997n,
        promoAmount: 923n,
        discountAmount: 0n,
        tax: 419n,
        amount: 5493n,
        originAmount: 6416n,
      },
      {
        amountExcludingTax: 500n,
        promoAmount: 77n,
        discountAmount: 0n,
        tax: 35n,
        amount: 458n,
        originAmount: 535n,
      },
    ]);
    expect(lines.map(line => line.amount - line.tax)).toEqual([5074n, 423n]);
    expect(amounts).toEqual({
      promoAmount: 1000n,
      discountAmount: 0n,
      taxAmount: 454n,
      totalAmountExcludingTax: 5497n,
      totalAmount: 5951n,
      originAmount: 6951n,
    });
  });

  it('a credit line carries negative tax, as −5.00 beside 20.00 at 8.25 %', () => {
    const { lines, amounts } = price([item(2000n), item(-500n)], 825);
    expect(lines.map(line => line.tax)).toEqual([165n, -41n]);
    expect(amounts).toMatchObject({ taxAmount: 124n, totalAmount: 1624n });
  });

  it('+10.00 and −10.00 at 8.25 % come to nothing, and so does their tax', () => {
    const { lines, amounts } = price([item(1000n), item(-1000n)], 825);
    expect(lines.map(line => line.tax)).toEqual([83n, -83n]);
    expect(amounts).toMatchObject({ taxAmount: 0n, totalAmountExcludingTax: 0n, totalAmount: 0n });
  });

  it('the discount first, then promo credit over what is left, and neither on a credit line', () => {
    const { lines, amounts } = price([item(1000n), item(-200n), item(1000n)], 1000, 1n, 500n);
    expect(lines.map(line => line.promoAmount)).toEqual([1n, 0n, 0n]);
    expect(lines.map(line => line.discountAmount)).toEqual([250n, 0n, 250n]);
    expect(lines.map(line => line.tax)).toEqual([75n, -20n, 75n]);
    expect(amounts).toMatchObject({ totalAmountExcludingTax: 1299n, taxAmount: 130n, totalAmount: 1429n });
    expect(amounts.originAmount).toBe(1429n + 501n);
    const half = [item(1000n), { ...item(1000n), discountable: false }];
    const rates = half.map(() => requestedRate(0));
    const covered = priceWith(half, rates, { discount: 500n, promo: 300n });
    expect(covered.lines.map(line => [line.discountAmount, line.promoAmount])).toEqual([
      [500n, 100n],
      [0n, 200n],
    ]);
  });
});

describe('price refuses', () => {
  it('lines that add up to less than nothing', () => {
    expect(issuesOf(() => price([item(100n), item(-101n)], 825))).toEqual([
      { path: '/lines', message: 'The lines add up to -1: a total may not be negative' },
    ]);
  });

  it('each line whose amount leaves ±(2^53−1), by name', () => {
    const huge = item(10n ** 12n, 1_000_000);
    const paths = issuesOf(() => price([item(1n), huge, item(1n), huge], 0)).map(({ path }) => path);
    expect(paths).toEqual(['/lines/1/unitAmountExcludingTax', '/lines/3/unitAmountExcludingTax']);
  });

  it('a line that only its tax takes over the edge', () => {
    expect(price([item(MAX_AMOUNT)], 0).amounts.totalAmount).toBe(MAX_AMOUNT);
    expect(issuesOf(() => price([item(0n), item(MAX_AMOUNT)], 1))).toMatchObject([
      { path: '/lines/1/unitAmountExcludingTax' },
    ]);
  });

  it('the line with which the invoice goes over the edge', () => {
    const lines = [item(1n), item(MAX_AMOUNT - 1n), item(0n), item(1n), item(1n)];
    expect(issuesOf(() => price(lines, 0))).toMatchObject([{ path: '/lines/3/unitAmountExcludingTax' }]);
    expect(price([...lines, item(-2n)], 0).amounts.totalAmount).toBe(MAX_AMOUNT);
  });

  it('reductions that the caller did not cap, as a mistake of ours', () => {
    const lines = [item(1000n), item(-100n)];
    expect(() => price(lines, 0, 500n, 401n)).toThrow(RangeError);
    expect(() => price(lines, 0, -1n)).toThrow(RangeError);
    expect(() => price(lines, 0, 0n, -1n)).toThrow(RangeError);
    expect(price(lines, 825, 500n, 400n).amounts.totalAmount).toBe(0n);
  });
});

describe('price, any invoice', () => {
  const unit = fc.oneof(
    fc.bigInt({ min: -5_000n, max: 50_000n }),
    fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }),
    fc.constant(0n),
  );
  const items = fc.array(fc.record({ unitAmountExcludingTax: unit, quantity: fc.integer({ min: 1, max: 1000 }) }), {
    minLength: 1,
    maxLength: 20,
  });
  const bps = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(0, 825, 1900, 2000, 10_000));
  const parts = fc.tuple(fc.bigInt({ min: 0n, max: 1000n }), fc.bigInt({ min: 0n, max: 1000n }));
  const invoice = fc
    .tuple(items, bps, parts)
    .map(([lines, taxBps, [first, second]]) => {
      const subtotal = sum(lines.map(line => line.unitAmountExcludingTax * BigInt(line.quantity)));
      const promo = subtotal < 0n ? 0n : (subtotal * first) / 1000n;
      const discount = subtotal < 0n ? 0n : ((subtotal - promo) * second) / 1000n;
      return { lines, taxBps, subtotal, promo, discount };
    })
    .filter(({ subtotal }) => subtotal >= 0n);

  const many = sized(15_000, 100_000);

  it('adds up to the last unit', () => {
    let credits = 0;
    fc.assert(
      fc.property(invoice, given => {
        const { lines, amounts } = price(given.lines, given.taxBps, given.promo, given.discount);
        const column = (name: 'amount' | 'tax' | 'promoAmount' | 'discountAmount' | 'originAmount') =>
          sum(lines.map(line => line[name]));
        expect(column('amount')).toBe(amounts.totalAmount);
        expect(column('tax')).toBe(amounts.taxAmount);
        expect(column('promoAmount')).toBe(given.promo);
        expect(column('discountAmount')).toBe(given.discount);
        expect(column('originAmount')).toBe(amounts.originAmount);
        expect(amounts.totalAmountExcludingTax).toBe(given.subtotal - given.promo - given.discount);
        expect(amounts.totalAmount).toBe(amounts.totalAmountExcludingTax + amounts.taxAmount);
        expect(amounts.originAmount).toBe(amounts.totalAmount + amounts.promoAmount + amounts.discountAmount);
        expect(amounts.totalAmount).toBeGreaterThanOrEqual(0n);
        if (given.lines.some(line => line.unitAmountExcludingTax < 0n)) credits++;
      }),
      { numRuns: 2000 },
    );
    expect(credits).toBeGreaterThan(100);
  });

  it(`of ${many} invoices in currencies of 0, 2 and 3 decimals adds up, line by line`, () => {
    // a linear congruential generator (Numerical Recipes): cheap, and reproducible from its seed
    let state = jest.getSeed() >>> 0;
    const seed = state;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const wrong: string[] = [];
    const seen = { credits: 0, JPY: 0, USD: 0, KWD: 0 };
    for (let made = 0; made < many; made++) {
      const currency = (['JPY', 'USD', 'KWD'] as const)[random(3)] ?? 'USD';
      const lines = Array.from({ length: 1 + random(8) }, () => ({
        planId: 0,
        name: '',
        description: '',
        quantity: 1 + random(50),
        unitAmountExcludingTax: BigInt(random(200_000) - (random(4) === 0 ? 150_000 : 0)),
      }));
      const subtotal = sum(lines.map(line => line.unitAmountExcludingTax * BigInt(line.quantity)));
      if (subtotal < 0n) continue;
      const promoAmount = (subtotal * BigInt(random(1001))) / 1000n;
      const discountAmount = ((subtotal - promoAmount) * BigInt(random(1001))) / 1000n;
      const ids = { id: 1, invoiceId: 'in_1', merchantId: 1, userId: 1, gatewayId: 0, now: 0 };
      const texts = { bizType: bizType.manualInvoice, createFrom: 'Admin', invoiceName: '', currency };
      const taxBps = random(10_001);
      const invoice = newDraft({ ...ids, ...texts, taxBps, lines, promoAmount, discountAmount }, ids);
      const column = (name: 'amount' | 'tax' | 'promoAmount' | 'discountAmount' | 'originAmount') =>
        sum(invoice.lines.map(line => line[name]));
      const holds =
        column('amount') === invoice.totalAmount &&
        column('tax') === invoice.taxAmount &&
        column('promoAmount') === promoAmount &&
        column('discountAmount') === discountAmount &&
        column('originAmount') === invoice.originAmount &&
        invoice.totalAmountExcludingTax === subtotal - promoAmount - discountAmount &&
        invoice.taxAmount === ratio(invoice.totalAmountExcludingTax, BigInt(taxBps), SCALE, 'half-away-from-zero') &&
        invoice.lines.every(
          line => line.amount === line.amountExcludingTax - line.promoAmount - line.discountAmount + line.tax,
        );
      if (!holds) wrong.push(`invoice ${made} of seed ${seed}`);
      seen[currency]++;
      if (lines.some(line => line.unitAmountExcludingTax < 0n)) seen.credits++;
    }
    expect(wrong).toEqual([]);
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(many / 10);
  });

  it('gives each line its share, less than a unit from the exact one', () => {
    fc.assert(
      fc.property(invoice, ({ lines: items, taxBps, promo, discount }) => {
        const { lines, amounts } = price(items, taxBps, promo, discount);
        const rate = BigInt(taxBps);
        expect(amounts.taxAmount).toBe(ratio(amounts.totalAmountExcludingTax, rate, SCALE, 'half-away-from-zero'));
        const positive = sum(lines.map(line => (line.amountExcludingTax > 0n ? line.amountExcludingTax : 0n)));
        for (const line of lines) {
          const { amountExcludingTax: gross, promoAmount, discountAmount, tax, amount } = line;
          const net = gross - promoAmount - discountAmount;
          expect(amount).toBe(net + tax);
          expect(abs(tax * SCALE - net * rate)).toBeLessThan(SCALE);
          if (gross > 0n) {
            expect(abs(discountAmount * positive - discount * gross)).toBeLessThan(positive);
            expect(abs(promoAmount * (positive - discount) - promo * (gross - discountAmount))).toBeLessThanOrEqual(
              positive - discount,
            );
            expect(net).toBeGreaterThanOrEqual(0n);
            expect(tax).toBeGreaterThanOrEqual(0n);
          } else {
            expect([promoAmount, discountAmount]).toEqual([0n, 0n]);
            expect(tax).toBeLessThanOrEqual(0n);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never shows a negative zero', () => {
    fc.assert(
      fc.property(invoice, ({ lines: items, taxBps, promo, discount }) => {
        const { lines, amounts } = price(items, taxBps, promo, discount);
        const values: unknown[] = [...Object.values(amounts), ...lines.flatMap(line => Object.values(line))];
        for (const value of values) expect(Object.is(Number(value), -0)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

function issuesOf(run: () => unknown) {
  try {
    run();
  } catch (error) {
    if (error instanceof Rejected && error.slug === 'invalid_parameters') return error.issues;
    throw error;
  }
  throw new Error('it was accepted');
}
