import { describe, expect, it } from '@jest/globals';
import type { CreditableLine } from '../../../src/invoices/domain/items.js';
import { type DiscountTerms, discountOfParts } from '../../../src/pricing/discount.js';
import { changeItems, type PaidPeriod, type TermsChange } from '../../../src/subscriptions/domain/change-items.js';
import {
  creditItem,
  finalItems,
  fullItem,
  partItem,
  type ShownItem,
} from '../../../src/subscriptions/domain/items-to-bill.js';
import { rate } from '../../pricing/samples.js';
import { addon, amountsOf, calculated, dates, day, paidLines, plan, terms, thirtyDays } from './change-samples.js';

const half: DiscountTerms = { kind: 'percentage', percentage: 5000 };

interface Given {
  from: ShownItem[];
  to: ShownItem[];
  at: number;
  periods?: PaidPeriod[];
  /** Lines in force; by default those of the full periods. */
  lines?: CreditableLine[];
  discount?: DiscountTerms;
  tax?: number;
}

function changed({ from, to, at, periods = [thirtyDays], lines, discount, tax = 0 }: Given) {
  const given: TermsChange = {
    from: terms(from),
    to: terms(to),
    at,
    periods,
    sold:
      lines ??
      periods.flatMap((period, i) =>
        paidLines(
          from.map(item => fullItem(item, period)),
          { tax: rate(tax), ...(discount && { discount }) },
          `in_${i + 1}`,
        ),
      ),
  };
  const bill = changeItems(given);
  const reduced = discount && discountOfParts(discount, bill.discountBases);
  return {
    ...bill,
    document: calculated(bill.items, { tax: rate(tax), ...(reduced && { discount: reduced }) }),
  };
}

describe('the lines of a change', () => {
  it('a second seat with 20 of 30 days left of a period that was free by a code credits nothing and charges 9600', () => {
    const period = thirtyDays;
    const lines = paidLines([fullItem(plan(7200n), period)], { discount: { kind: 'percentage', percentage: 10_000 } });
    const { items, ended } = changed({ from: [plan(7200n)], to: [plan(7200n, 2)], at: 10 * day, lines });
    expect(amountsOf(items)).toEqual([0n, 9600n]);
    expect(ended).toEqual(lines);
  });

  it('a change with 12 of 30 days left under a lasting 50 % credits 2000 of 5000 and charges 8000 less 4000', () => {
    const { items, document } = changed({ from: [plan(10_000n)], to: [plan(20_000n)], at: 18 * day, discount: half });
    expect(amountsOf(items)).toEqual([-2000n, 8000n]);
    expect(document.lines.map(line => line.discountAmount)).toEqual([0n, 4000n]);
    expect(document.amounts.totalAmount).toBe(2000n);
  });

  it('upgrades to 2000 on day 10 and to 4000 on day 20 of 30 credit 667 and charge 1333 each', () => {
    const first = changed({ from: [plan(1000n)], to: [plan(2000n)], at: 10 * day });
    expect(amountsOf(first.items)).toEqual([-667n, 1333n]);
    const lines = paidLines(first.items, {}, 'in_2');
    const second = changed({ from: [plan(2000n)], to: [plan(4000n)], at: 20 * day, lines });
    expect(amountsOf(second.items)).toEqual([-667n, 1333n]);
    expect(second.items[0]?.source?.lineId).toBe('in_2_2');
  });

  it('a fourth seat at 333 for a third of the period credits 333 and charges 444', () => {
    const { items } = changed({ from: [plan(333n, 3)], to: [plan(333n, 4)], at: 20 * day });
    expect(amountsOf(items)).toEqual([-333n, 444n]);
    expect(items.map(({ quantity }) => quantity)).toEqual([1, 1]);
    expect(items[1]?.derivation?.inputs).toMatchObject({ unitAmount: 333, quantity: 4 });
  });

  it('a stub 04-10..04-25 of 3000, charged 1500; after 5 days to 6000: −1000 + 2000', () => {
    const [stub, full] = [dates('2026-04-10', '2026-04-25'), dates('2026-04-10', '2026-05-10')];
    const charge = partItem(plan(3000n), stub, full);
    expect(amountsOf([charge])).toEqual([1500n]);
    const { items } = changed({
      from: [plan(3000n)],
      to: [plan(6000n)],
      at: stub.start + 5 * day,
      periods: [{ ...stub, full }],
      lines: paidLines([charge]),
    });
    expect(amountsOf(items)).toEqual([-1000n, 2000n]);
  });

  it('an upgrade from 1000 to 2000 on 15 March, in a period from 28 February to 31 March, credits 516 and charges 1032', () => {
    const period = dates('2026-02-28', '2026-03-31');
    const { start: at } = dates('2026-03-15', '2026-03-31');
    const { items } = changed({ from: [plan(1000n)], to: [plan(2000n)], at, periods: [{ ...period, full: period }] });
    expect(amountsOf(items)).toEqual([-516n, 1032n]);
  });

  it('bills only the items that changed: the plan first, then add-ons by id, a credit before its charge', () => {
    const { items } = changed({
      from: [plan(1000n), addon(20, 300n), addon(3, 300n), addon(4, 300n)],
      to: [plan(2000n), addon(20, 300n, 2), addon(3, 300n), addon(5, 600n)],
      at: 15 * day,
    });
    expect(items.map(({ key, kind }) => [key, kind])).toEqual([
      ['plan', 'credit'],
      ['plan', 'plan'],
      ['addon:4', 'credit'],
      ['addon:5', 'addon'],
      ['addon:20', 'credit'],
      ['addon:20', 'addon'],
    ]);
    expect(amountsOf(items)).toEqual([-500n, 1000n, -150n, 300n, -150n, 300n]);
  });

  it('credits at most what is left of a line, at the rate and category of the line', () => {
    const [line] = paidLines([fullItem(plan(1000n), thirtyDays)], { tax: rate(19) });
    const lines = [{ ...(line as CreditableLine), creditedNet: 900n }];
    const { items, document } = changed({ from: [plan(1000n)], to: [plan(2000n)], at: 15 * day, lines, tax: 20 });
    expect(amountsOf(items)).toEqual([-100n, 1000n]);
    expect(document.lines.map(each => each.tax)).toEqual([-19n, 200n]);
  });

  it('returns the promo share of the unused time in credits, floored', () => {
    const [line] = paidLines([fullItem(plan(1000n), thirtyDays)]);
    const item = creditItem(
      { ...(line as CreditableLine), promo: { credits: 30n, refunded: 0n, share: 100n, total: 300n } },
      20 * day,
    );
    expect(item.source).toMatchObject({ lineId: 'in_1_1', invoiceId: 'in_1', promoCredits: 3n });
  });

  it('another interval: the old is credited, a new period starts at the full price', () => {
    const newPeriod = { start: 15 * day, end: 380 * day };
    const lines = paidLines([fullItem(plan(1000n), thirtyDays), fullItem(addon(3, 500n), thirtyDays)]);
    const to = terms([plan(12_000n, 2), addon(3, 6000n)], { interval: { unit: 'year', count: 1 } });
    const from = terms([plan(1000n), addon(3, 500n)]);
    const { items, ended } = changeItems({
      from,
      to,
      at: 15 * day,
      periods: [thirtyDays],
      newPeriod,
      sold: lines,
    });
    expect(amountsOf(items)).toEqual([-500n, -250n, 24_000n, 6000n]);
    expect(items.slice(2).map(({ period, quantity }) => [period, quantity])).toEqual([
      [newPeriod, 2],
      [newPeriod, 1],
    ]);
    expect(ended).toHaveLength(2);
  });

  it('replaces lines that an equal change left with the first change of one of their items', () => {
    const lines = paidLines([fullItem(plan(1000n), thirtyDays)]);
    const from = [plan(500n, 1, 2), addon(3, 500n)];
    const { items } = changed({ from, to: [plan(500n, 1, 2), addon(3, 2000n)], at: 15 * day, lines });
    expect(items.map(({ key, unitAmount }) => [key, unitAmount])).toEqual([
      ['plan', -500n],
      ['plan', 250n],
      ['addon:3', 1000n],
    ]);
  });
});

describe('the discount on the charge lines of a change', () => {
  it('an upgrade from 1000 less 500 to 2000 with 40 % left credits 200 and charges 800 less 200', () => {
    const fixed: DiscountTerms = { kind: 'fixed', amount: 500n };
    const { items, document } = changed({ from: [plan(1000n)], to: [plan(2000n)], at: 18 * day, discount: fixed });
    expect(amountsOf(items)).toEqual([-200n, 800n]);
    expect(document.lines.map(line => line.discountAmount)).toEqual([0n, 200n]);
    expect(document.amounts.totalAmountExcludingTax).toBe(400n);
  });

  it('a second add-on of 500 at half of the period, under 300 off plan and add-on, credits 200 and charges 500 less 50', () => {
    const { items, document } = changed({
      from: [plan(1000n), addon(3, 500n)],
      to: [plan(1000n), addon(3, 500n, 2)],
      at: 15 * day,
      discount: { kind: 'fixed', amount: 300n },
    });
    expect(amountsOf(items)).toEqual([-200n, 500n]);
    expect(document.lines.map(line => line.discountAmount)).toEqual([0n, 50n]);
  });
});

describe('documents of changes', () => {
  it('a downgrade from 10000 to 4000 at half of the month comes to −3600 with its tax of −600', () => {
    const { items, document } = changed({ from: [plan(10_000n)], to: [plan(4000n)], at: 15 * day, tax: 20 });
    expect(amountsOf(items)).toEqual([-5000n, 2000n]);
    expect(document.amounts).toMatchObject({ taxAmount: -600n, totalAmount: -3600n });
  });

  it('an upgrade to 2000 one day before a period that is paid bills both periods: 1241 with tax of 207', () => {
    const next: PaidPeriod = { start: 30 * day, end: 60 * day, full: { start: 30 * day, end: 60 * day } };
    const { items, document } = changed({
      from: [plan(1000n)],
      to: [plan(2000n)],
      at: 29 * day,
      periods: [thirtyDays, next],
      tax: 20,
    });
    expect(amountsOf(items)).toEqual([-33n, 67n, -1000n, 2000n]);
    expect(document.amounts).toMatchObject({ taxAmount: 207n, totalAmount: 1241n });
  });

  it('a deferred change at P credits a paid next period in full and charges it anew', () => {
    const next: PaidPeriod = { start: 30 * day, end: 60 * day, full: { start: 30 * day, end: 60 * day } };
    const { items } = changed({ from: [plan(2000n)], to: [plan(1000n)], at: 30 * day, periods: [next] });
    expect(amountsOf(items)).toEqual([-2000n, 1000n]);
  });
});

describe('endings', () => {
  const tenDays = { start: 0, end: 10 * day };
  const lines = paidLines([fullItem(plan(10_000n), tenDays)], { tax: rate(20) });
  const [usageItem] = [{ ...fullItem(plan(1250n), tenDays), key: 'usage:5', kind: 'metered' as const }];
  const ending = { at: 6 * day, periodEnd: 10 * day, sold: lines, usage: [usageItem] };

  it('a cancellation with 40 % left of 10000 and usage of 1250 is a credit note of 2750 and its tax of 550', () => {
    const { items, ended, dropped } = finalItems({ ...ending, prorate: true, invoiceNow: true });
    const { amounts } = calculated(items, { tax: rate(20) });
    expect(amounts).toMatchObject({ totalAmountExcludingTax: -2750n, taxAmount: -550n, totalAmount: -3300n });
    expect([ended.length, dropped.length]).toEqual([1, 0]);
  });

  it('without prorate and invoiceNow: nothing, and usage is dropped', () => {
    const { items, ended, dropped } = finalItems({ ...ending, prorate: false, invoiceNow: false });
    expect([items, ended]).toEqual([[], []]);
    expect(dropped).toEqual([usageItem]);
  });

  it('credits a paid next period in full, whatever is asked', () => {
    const next = paidLines([fullItem(plan(10_000n), { start: 10 * day, end: 20 * day })], {}, 'in_2');
    const { items } = finalItems({
      ...ending,
      sold: [...lines, ...next],
      usage: [],
      prorate: false,
      invoiceNow: false,
    });
    expect(amountsOf(items)).toEqual([-10_000n]);
  });
});
