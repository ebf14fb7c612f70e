import { describe, expect, it } from '@jest/globals';
import type { DiscountProblem } from '@recur/contracts';
import { min, Rejected, sum } from '@recur/kernel';
import fc from 'fast-check';
import { promoCreditsBack } from '../../src/invoices/domain/items.js';
import { type PromoTerms, promoOn, promoReturned } from '../../src/pricing/credit.js';
import {
  type CodeUse,
  type DiscountCode,
  type DiscountTerms,
  discountOfPart,
  discountOn,
  discountProblem,
  discountsCycle,
  isDiscountable,
} from '../../src/pricing/discount.js';
import { priceLines } from '../../src/pricing/price.js';
import { line, rate } from './samples.js';

const percentage = (bps: number): DiscountTerms => ({ kind: 'percentage', percentage: bps });
const fixed = (amount: bigint): DiscountTerms => ({ kind: 'fixed', amount });
const promo = (over: Partial<PromoTerms> = {}): PromoTerms => ({
  balance: 1_000_000n,
  exchangeRate: 100n,
  decimals: 2,
  ...over,
});

describe('the order of reductions', () => {
  it('is discount, promo credit, tax', () => {
    const { lines, amounts, promoCredits } = priceLines([line(10_000n, rate(20))], {
      discount: percentage(5000),
      promo: promo({ balance: 10n }),
    });
    expect(lines).toMatchObject([{ discountAmount: 5000n, promoAmount: 1000n, net: 4000n, tax: 800n, amount: 4800n }]);
    expect(amounts).toEqual({
      promoAmount: 1000n,
      discountAmount: 5000n,
      taxAmount: 800n,
      totalAmountExcludingTax: 4000n,
      totalAmount: 4800n,
      originAmount: 10_800n,
    });
    expect(promoCredits).toBe(10n);
  });

  it('takes promo credit over what the discount leaves', () => {
    const { lines } = priceLines([line(1000n), line(1000n, rate(0), { discountable: false })], {
      discount: fixed(500n),
      promo: promo({ balance: 3n }),
    });
    expect(lines.map(({ discountAmount, promoAmount }) => [discountAmount, promoAmount])).toEqual([
      [500n, 100n],
      [0n, 200n],
    ]);
  });
});

describe('discount', () => {
  it.each([
    ['33.33 %', percentage(3333), 666n],
    ['50 %', percentage(5000), 1000n],
    ['fixed 2500', fixed(2500n), 1999n],
  ])('of a base of 1999: %s', (_, terms, amount) => {
    expect(discountOn(1999n, terms)).toBe(amount);
    expect(priceLines([line(1999n)], { discount: terms }).amounts.discountAmount).toBe(amount);
  });

  it('is on the positive lines that the code covers, and shared over them by largest remainder', () => {
    const { lines } = priceLines(
      [line(100n), line(-50n), line(100n), line(1000n, rate(0), { discountable: false }), line(100n)],
      { discount: fixed(100n) },
    );
    expect(lines.map(({ discountAmount }) => discountAmount)).toEqual([34n, 0n, 33n, 0n, 33n]);
  });

  it('covers the plan, recurring add-ons and metered lines alone', () => {
    const kinds = ['plan', 'addon', 'metered', 'onetimeAddon', 'lateUsage', 'carried', 'credit', 'manual'] as const;
    expect(kinds.filter(isDiscountable)).toEqual(['plan', 'addon', 'metered']);
  });

  it('an upgrade from 1000 less 500 to 2000 with 40 % left credits 200 and charges 800 less 200', () => {
    const paid = priceLines([line(1000n)], { discount: fixed(500n) });
    expect(paid.amounts.totalAmount).toBe(500n);
    const discount = discountOfPart(fixed(500n), {
      newItemsBase: 2000n,
      keptShares: 0n,
      leftSeconds: 4n,
      periodSeconds: 10n,
    });
    const change = priceLines([line(-200n), line(800n)], { discount });
    expect(change.amounts).toMatchObject({ discountAmount: 200n, totalAmount: 400n });
  });

  it('a second add-on of 500 at half of the period, under 300 off plan and add-on, credits 200 and charges 500 less 50', () => {
    const paid = priceLines([line(1000n), line(500n)], { discount: fixed(300n) });
    expect(paid.lines.map(({ discountAmount }) => discountAmount)).toEqual([200n, 100n]);
    const discount = discountOfPart(fixed(300n), {
      newItemsBase: 2000n,
      keptShares: 200n,
      leftSeconds: 1n,
      periodSeconds: 2n,
    });
    expect(discount).toEqual(fixed(50n));
    expect(priceLines([line(-200n), line(500n)], { discount }).amounts).toMatchObject({
      discountAmount: 50n,
      totalAmount: 250n,
    });
  });

  it('of a change is the percentage as it is', () => {
    const change = { newItemsBase: 1n, keptShares: 0n, leftSeconds: 1n, periodSeconds: 2n };
    expect(discountOfPart(percentage(2500), change)).toEqual(percentage(2500));
  });

  it('with cycleLimit 3 is on invoices 1, 2 and 3, and not on 4', () => {
    expect([0, 1, 2, 3].map(finished => discountsCycle(3, finished))).toEqual([true, true, true, false]);
    expect(discountsCycle(0, 1000)).toBe(true);
  });
});

describe('a discount code', () => {
  const code: DiscountCode = {
    code: 'MAY',
    active: true,
    terms: percentage(1000),
    currency: '',
    startTime: 100,
    endTime: 200,
    userScope: 'all',
    planApply: 'all',
    planIds: [7],
    planGroups: ['pro'],
    upgradeOnly: false,
    upgradeLongerOnly: false,
    userLimit: 0,
    quantity: 0,
  };
  const use: CodeUse = {
    now: 150,
    currency: 'EUR',
    mainPlanId: 7,
    planGroups: ['pro'],
    paidInvoices: 0,
    operation: 'create',
    usesByUser: 5,
    uses: 5,
  };
  const problem = (over: Partial<DiscountCode>, facts: Partial<CodeUse> = {}) =>
    discountProblem({ ...code, ...over }, { ...use, ...facts });

  it.each<[string | undefined, Partial<DiscountCode>, Partial<CodeUse>, DiscountProblem?]>([
    [undefined, {}, {}],
    ['Discount code MAY is not active', { active: false }, {}, 'inactive'],
    ['Discount code MAY is not valid yet', {}, { now: 99 }, 'early'],
    ['Discount code MAY has expired', {}, { now: 200 }, 'expired'],
    [undefined, { endTime: 0 }, { now: 10_000 }],
    ['Discount code MAY is in USD, not in EUR', { terms: fixed(5n), currency: 'USD' }, {}, 'currency'],
    [undefined, { terms: fixed(5n), currency: 'EUR' }, {}],
    [undefined, { planApply: 'listed' }, {}],
    ['Discount code MAY does not apply to plan 8', { planApply: 'listed' }, { mainPlanId: 8 }, 'plan'],
    ['Discount code MAY does not apply to plan 7', { planApply: 'allButListed' }, {}, 'plan'],
    [undefined, { planApply: 'groups' }, {}],
    ['Discount code MAY does not apply to plan 7', { planApply: 'groups' }, { planGroups: [] }, 'plan'],
    ['Discount code MAY does not apply to plan 7', { planApply: 'allButGroups' }, {}, 'plan'],
    ['Discount code MAY is for new customers only', { userScope: 'newUsers' }, { paidInvoices: 1 }, 'new_customers'],
    ['Discount code MAY is for existing customers only', { userScope: 'renewalsOnly' }, {}, 'existing_customers'],
    ['Discount code MAY is for upgrades only', { upgradeOnly: true }, {}, 'upgrades'],
    [undefined, { upgradeOnly: true }, { operation: 'upgrade' }],
    [
      'Discount code MAY is for upgrades to a longer interval only',
      { upgradeLongerOnly: true },
      { operation: 'upgrade' },
      'longer_upgrades',
    ],
    [undefined, { upgradeLongerOnly: true }, { operation: 'longerUpgrade' }],
    ['Discount code MAY was used 5 times', { userLimit: 5 }, {}, 'used'],
    ['Discount code MAY is used up', { quantity: 5 }, {}, 'used_up'],
  ])('%s', (message, over, facts, ...[word]) => {
    expect(problem(over, facts)).toEqual(message && { problem: word, message });
  });
});

describe('promo credit', () => {
  it.each([
    ['base 5050 at rate 100', 5050n, promo(), { amount: 5000n, credits: 50n }],
    ['base 5050 at rate 1000', 5050n, promo({ exchangeRate: 1000n }), { amount: 5000n, credits: 5n }],
    ['JPY 10 at rate 30', 10n, promo({ exchangeRate: 30n, decimals: 0 }), { amount: 9n, credits: 30n }],
    [
      'JPY 10 at rate 30, with a balance of 3',
      10n,
      promo({ exchangeRate: 30n, decimals: 0, balance: 3n }),
      { amount: 0n, credits: 0n },
    ],
    ['a cap below the balance', 5050n, promo({ cap: 20n }), { amount: 2000n, credits: 20n }],
    ['no balance', 5050n, promo({ balance: 0n }), { amount: 0n, credits: 0n }],
  ])('%s', (_, base, terms, spent) => {
    expect(promoOn(base, terms)).toEqual(spent);
  });

  it('never makes a total negative: negative lines count in its base', () => {
    const { lines, amounts } = priceLines([line(1000n), line(-800n)], { promo: promo() });
    expect(lines.map(({ promoAmount }) => promoAmount)).toEqual([200n, 0n]);
    expect(amounts.totalAmount).toBe(0n);
    expect(priceLines([line(1000n), line(-1800n)], { promo: promo() }).amounts).toMatchObject({
      promoAmount: 0n,
      totalAmount: -800n,
    });
  });

  it('refuses an exchange rate below 1', () => {
    expect(() => promoOn(1n, promo({ exchangeRate: 0n }))).toThrow(Rejected as never);
  });

  it('comes back with refunds: 1000 of a total of 5951, refunds of 2000 and 3951 give back 336 and 664', () => {
    expect(promoReturned(1000n, 2000n, 5951n)).toBe(336n);
    expect(promoReturned(1000n, 5951n, 5951n) - 336n).toBe(664n);
  });

  it('comes back for unused time, floored', () => {
    expect(promoCreditsBack({ promo: { credits: 10n, refunded: 0n, share: 1n, total: 1n } }, 1n, 3n)).toBe(3n);
  });

  it('comes back once: unused time gives back at most what refunds left of the share of its line', () => {
    const back = (refunded: bigint, unused: bigint) =>
      promoCreditsBack({ promo: { credits: 10n, refunded, share: 2n, total: 3n } }, unused, 4n);
    expect([back(0n, 4n), back(0n, 2n), back(4n, 4n), back(4n, 2n), back(10n, 4n)]).toEqual([6n, 3n, 3n, 3n, 0n]);
  });

  it('never comes back twice, however a refund and the unused time of lines share it', () => {
    const amount = fc.bigInt(1n, 1000n);
    const shares = fc.array(amount, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(shares, amount, fc.bigInt(0n, 1000n), (all, credits, asked) => {
        const [total, refunded] = [sum(all), min(asked, credits)];
        const back = all.map(share => promoCreditsBack({ promo: { credits, refunded, share, total } }, 9n, 10n));
        expect(sum(back) + refunded).toBeLessThanOrEqual(credits);
      }),
    );
  });
});

describe('semantics §6: 3 × 19.99 and 5.00 at 8.25 % with 10.00 of promo credit', () => {
  it('come to 5951, as 5493 and 458', () => {
    const { lines, amounts } = priceLines([line(1999n, rate(8.25), { quantity: 3 }), line(500n, rate(8.25))], {
      promo: promo({ balance: 10n }),
    });
    expect(lines.map(({ promoAmount, tax, amount }) => [promoAmount, tax, amount])).toEqual([
      [923n, 419n, 5493n],
      [77n, 35n, 458n],
    ]);
    expect(amounts).toMatchObject({ totalAmount: 5951n, totalAmountExcludingTax: 5497n, originAmount: 6951n });
  });
});
