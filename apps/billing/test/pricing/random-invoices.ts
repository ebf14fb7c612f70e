import fc from 'fast-check';
import type { ComposeLine, Reductions } from '../../src/pricing/price.js';
import type { TaxRate } from '../../src/pricing/tax.js';
import { rate, reverseCharge } from './samples.js';

/** Lines and reductions of a random invoice or credit note. */
export interface Given {
  items: ComposeLine[];
  reductions: Reductions;
}

const components = [
  { jurisdiction: 'US-NY', ratePpm: 40_000 },
  { jurisdiction: 'New York City', ratePpm: 45_000 },
  { jurisdiction: 'MCTD', ratePpm: 3_750 },
];
const rates: readonly TaxRate[] = [
  rate(0),
  rate(7),
  rate(8.25),
  rate(8.875, { components }),
  rate(19),
  rate(22),
  rate(100),
  reverseCharge,
];
const unit = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 50_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -50_000, max: 0 }) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 1_000_000_000 }) },
);
const item: fc.Arbitrary<ComposeLine> = fc
  .tuple(unit, fc.integer({ min: 1, max: 40 }), fc.nat(rates.length - 1), fc.boolean())
  .map(([amount, quantity, at, discountable]) => ({
    unitAmountExcludingTax: BigInt(amount),
    quantity,
    discountable,
    rate: rates[at] ?? rate(0),
  }));
const discount = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: 0, max: 10_000 }).map(percentage => ({ kind: 'percentage' as const, percentage })),
  fc.nat(200_000).map(amount => ({ kind: 'fixed' as const, amount: BigInt(amount) })),
);
const promo = fc.option(
  fc
    .tuple(fc.nat(5000), fc.integer({ min: 1, max: 2000 }), fc.constantFrom(0, 2, 3))
    .map(([balance, exchangeRate, decimals]) => ({
      balance: BigInt(balance),
      exchangeRate: BigInt(exchangeRate),
      decimals,
    })),
  { nil: undefined },
);
export const given: fc.Arbitrary<Given> = fc
  .tuple(fc.array(item, { minLength: 1, maxLength: 6 }), discount, promo)
  .map(([items, off, credits]) => ({
    items,
    reductions: { ...(off && { discount: off }), ...(credits && { promo: credits }) },
  }));

/** Cuts of a whole, in thousandths of what is left. */
export const cuts = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 5 });
