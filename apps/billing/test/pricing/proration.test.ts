import { describe, expect, it } from '@jest/globals';
import { priceLines } from '../../src/pricing/price.js';
import { chargePart, creditUnused, prorationScale, type ServicePeriod } from '../../src/pricing/proration.js';
import { line, rate } from './samples.js';

const day = 86_400;
const days = (start: number, end: number): ServicePeriod => ({ start: start * day, end: end * day });
const dates = (start: string, end: string): ServicePeriod => ({
  start: Date.parse(`${start}T00:00:00Z`) / 1000,
  end: Date.parse(`${end}T00:00:00Z`) / 1000,
});
const month = days(0, 30);

const credit = (net: bigint, period: ServicePeriod, at: number, creditedNet = 0n) =>
  creditUnused({ net, creditedNet }, period, at).amount;
const charge = (unitAmount: bigint, quantity: number, part: ServicePeriod, period: ServicePeriod) =>
  chargePart({ unitAmount, quantity }, part, period).amount;

describe('a charge for part of a period', () => {
  it('four seats at 333 for a third of the period are 444', () => {
    expect(charge(333n, 4, days(20, 30), month)).toBe(444n);
  });

  it('a fourth seat at 333 for a third of the period credits 333 and charges 444', () => {
    expect(credit(999n, month, 20 * day)).toBe(-333n);
    expect(charge(333n, 4, days(20, 30), month)).toBe(444n);
  });

  it('a stub of 15 days of 3000 is 1500, and after 5 of them an upgrade to 6000 credits 1000 and charges 2000', () => {
    const [stub, full] = [dates('2026-04-10', '2026-04-25'), dates('2026-04-10', '2026-05-10')];
    expect(charge(3000n, 1, stub, full)).toBe(1500n);
    const { start: change } = dates('2026-04-15', '2026-04-25');
    expect(credit(1500n, stub, change)).toBe(-1000n);
    expect(charge(6000n, 1, { start: change, end: stub.end }, full)).toBe(2000n);
  });

  it('an upgrade from 1000 to 2000 on 15 March, in a period from 28 February to 31 March, credits 516 and charges 1032', () => {
    const [period, rest] = [dates('2026-02-28', '2026-03-31'), dates('2026-03-15', '2026-03-31')];
    expect(credit(1000n, period, rest.start)).toBe(-516n);
    expect(charge(2000n, 1, rest, period)).toBe(1032n);
  });

  it('is never more than the full price', () => {
    expect(charge(1000n, 1, days(0, 31), month)).toBe(1000n);
  });

  it('shows its fraction floored', () => {
    expect(prorationScale(days(20, 30), month)).toBe(3333);
  });
});

describe('a credit for unused time', () => {
  it('a second seat with 20 of 30 days left of a period that was free by a code credits nothing and charges 9600', () => {
    const paid = priceLines([line(7200n)], { discount: { kind: 'percentage', percentage: 10_000 } });
    expect(credit(paid.lines[0]?.net ?? 1n, month, 10 * day)).toBe(0n);
    expect(charge(7200n, 2, days(10, 30), month)).toBe(9600n);
  });

  it('a change with 12 of 30 days left under a lasting 50 % credits 2000 of 5000 and charges 8000 less 4000', () => {
    expect(credit(5000n, month, 18 * day)).toBe(-2000n);
    const change = priceLines([line(-2000n), line(charge(20_000n, 1, days(18, 30), month))], {
      discount: { kind: 'percentage', percentage: 5000 },
    });
    expect(change.lines.map(({ amountExcludingTax, discountAmount }) => [amountExcludingTax, discountAmount])).toEqual([
      [-2000n, 0n],
      [8000n, 4000n],
    ]);
  });

  it('upgrades to 2000 on day 10 and to 4000 on day 20 of 30 credit 667 and charge 1333 each', () => {
    expect([credit(1000n, month, 10 * day), charge(2000n, 1, days(10, 30), month)]).toEqual([-667n, 1333n]);
    expect([credit(1333n, days(10, 30), 20 * day), charge(4000n, 1, days(20, 30), month)]).toEqual([-667n, 1333n]);
  });

  it('is at most what is left of the net', () => {
    expect(credit(1000n, month, 10 * day, 800n)).toBe(-200n);
    expect(credit(1000n, month, 10 * day, 1000n)).toBe(0n);
  });

  it('has its derivation, and so has a charge', () => {
    expect(creditUnused({ net: 1000n, creditedNet: 0n }, month, 10 * day).derivation.inputs).toEqual({
      net: 1000,
      creditedNet: 0,
      unusedSeconds: 20 * day,
      periodSeconds: 30 * day,
    });
    expect(chargePart({ unitAmount: 333n, quantity: 4 }, days(20, 30), month).derivation.inputs).toEqual({
      unitAmount: 333,
      quantity: 4,
      partSeconds: 10 * day,
      periodSeconds: 30 * day,
    });
  });
});

describe('documents of changes', () => {
  it('an upgrade to 2000 one day before a period that is paid bills both periods: 1241 with tax of 207', () => {
    const [credited, charged] = [credit(1000n, month, 29 * day), charge(2000n, 1, days(29, 30), month)];
    expect([credited, charged]).toEqual([-33n, 67n]);
    const tax = rate(20);
    const { amounts } = priceLines([line(credited, tax), line(charged, tax), line(-1000n, tax), line(2000n, tax)]);
    expect(amounts).toMatchObject({ taxAmount: 207n, totalAmount: 1241n });
  });

  it('a cancellation with 40 % left of 10000 and usage of 1250 credits 2750 and its tax of 550', () => {
    const credited = credit(10_000n, days(0, 10), 6 * day);
    const { amounts } = priceLines([line(credited, rate(20)), line(1250n, rate(20))]);
    expect(amounts).toMatchObject({ totalAmountExcludingTax: -2750n, taxAmount: -550n, totalAmount: -3300n });
  });
});
