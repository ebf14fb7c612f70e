import { describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import { creditNoteOf } from '../../src/pricing/credit-note.js';
import { priceLines } from '../../src/pricing/price.js';
import {
  acceptUnderpayment,
  creditedNet,
  creditLine,
  type RefundLedger,
  type RefundSplit,
  refundable,
  refundFrom,
  undoRefund,
} from '../../src/pricing/refund.js';
import { ledgerOf, line, rate, reverseCharge } from './samples.js';

/** Refunds amounts one after the other. */
function refundAll(ledger: RefundLedger, amounts: readonly bigint[]): { left: RefundLedger; made: RefundSplit[] } {
  let left = ledger;
  const made = amounts.map(amount => {
    const [next, refunded] = refundFrom(left, amount);
    left = next;
    return refunded;
  });
  return { left, made };
}

const seats = priceLines([line(1999n, rate(8.25), { quantity: 3 }), line(500n, rate(8.25))]);

describe('refunds', () => {
  it('T 7033, X 536, refunds 2000, 2000, 3033: tax 152, 153, 231', () => {
    const { left, made } = refundAll(ledgerOf(seats), [2000n, 2000n, 3033n]);
    expect(made.map(({ tax }) => tax)).toEqual([152n, 153n, 231n]);
    expect(refundable(left)).toBe(0n);
    for (const { net, tax, refunded } of left.lines) expect(refunded).toEqual({ net, tax });
  });

  it('T 33499, X 5583, refunds 8200, 6900, 10200, 8199: tax 1367, 1150, 1700, 1366', () => {
    const invoice = priceLines([line(27_916n, rate(20))]);
    expect(invoice.amounts).toMatchObject({ taxAmount: 5583n, totalAmount: 33_499n });
    const { made } = refundAll(ledgerOf(invoice), [8200n, 6900n, 10_200n, 8199n]);
    expect(made.map(({ tax }) => tax)).toEqual([1367n, 1150n, 1700n, 1366n]);
  });

  it('refunds of 2000 and 3951 of a total of 5951 give back 336 and 664 of 1000 promo credits', () => {
    const invoice = priceLines([line(1999n, rate(8.25), { quantity: 3 }), line(500n, rate(8.25))], {
      promo: { balance: 1000n, exchangeRate: 1n, decimals: 2 },
    });
    expect(invoice).toMatchObject({ promoCredits: 1000n, amounts: { totalAmount: 5951n } });
    const { made } = refundAll(ledgerOf(invoice), [2000n, 3951n]);
    expect(made.map(({ promoCredits }) => promoCredits)).toEqual([336n, 664n]);
  });

  it('a year of 144000 changed at half with a credit note of 43200, of which −72000 are its lines: refundable 72000', () => {
    const year = priceLines([line(120_000n, rate(20))]);
    const change = priceLines([line(-60_000n, rate(20)), line(24_000n, rate(20))]);
    expect([year, change].map(({ amounts }) => amounts.totalAmount)).toEqual([144_000n, -43_200n]);
    const { net = 0n, tax = 0n } = change.lines[0] ?? {};
    const ledger = creditLine(ledgerOf(year), 'in_1_1', { net: -net, tax: -tax });
    expect(refundable(ledger)).toBe(72_000n);
    expect(refundFrom(ledger, 72_000n)[1]).toMatchObject({ net: 60_000n, tax: 12_000n });
  });

  it('adds to creditedNet, so that what was refunded is not credited again', () => {
    const [left] = refundFrom(ledgerOf(seats), 2000n);
    const credited = left.lines.map(creditedNet);
    expect(credited.reduce((total, net) => total + net)).toBe(1848n);
    left.lines.forEach((refunded, i) => {
      expect(credited[i]).toBeLessThanOrEqual(refunded.net);
    });
  });

  it('goes to the payments first, and then to main credit', () => {
    const ledger = ledgerOf(seats, { paid: 5000n, creditSpent: 2033n });
    const { left, made } = refundAll(ledger, [4000n, 2000n]);
    expect(made.map(({ toPayments, toMainCredit }) => [toPayments, toMainCredit])).toEqual([
      [4000n, 0n],
      [1000n, 1000n],
    ]);
    const [undone] = [undoRefund(left, made[0] as RefundSplit)];
    expect(refundFrom(undone, 4000n)[1]).toMatchObject({ toPayments: 4000n, toMainCredit: 0n });
  });

  it('of more than is refundable is refused, naming it', () => {
    const [left] = refundFrom(ledgerOf(seats), 7000n);
    for (const amount of [34n, 0n, -1n]) {
      expect(attempt(() => refundFrom(left, amount))).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/refundAmount', message: `is ${amount}: 33 of invoice in_1 is refundable` }],
      });
    }
  });

  it('that failed leaves the invoice as it was', () => {
    const ledger = ledgerOf(seats);
    const [left, made] = refundFrom(ledger, 2000n);
    expect(undoRefund(left, made)).toEqual(ledger);
  });

  it('gives back groups of opposite signs exactly', () => {
    const mixed = priceLines([line(-5000n, rate(20)), line(8000n, reverseCharge)]);
    const { left, made } = refundAll(ledgerOf(mixed), [700n, 700n, 600n]);
    expect(made.map(({ tax }) => tax)).toEqual([-350n, -350n, -300n]);
    for (const { net, tax, refunded } of left.lines) expect(refunded).toEqual({ net, tax });
  });

  it('gives back lines that cancel each other out', () => {
    const even = priceLines([line(1000n, rate(8.25)), line(-1000n, rate(8.25)), line(10n)]);
    const { left } = refundAll(ledgerOf(even), [4n, 6n]);
    for (const { net, tax, refunded } of left.lines) expect(refunded).toEqual({ net, tax });
  });
});

describe('a transfer that is too low', () => {
  it('is a credit note "Bank charges" with its share of the tax, and what was received stays refundable', () => {
    const ledger = ledgerOf(seats, { paid: 7000n });
    const [left, shares] = acceptUnderpayment(ledger, 33n);
    expect(creditNoteOf('in_1', shares)).toMatchObject({ totalAmount: -33n, taxAmount: -3n });
    expect(refundable(left)).toBe(7000n);
    const { left: done, made } = refundAll(left, [1000n, 6000n]);
    expect(made.reduce((tax, each) => tax + each.tax, 0n)).toBe(533n);
    for (const { net, tax, refunded } of done.lines) expect(refunded).toEqual({ net, tax });
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    if (error instanceof Rejected) return error;
    throw error;
  }
}
