import { describe, expect, it } from '@jest/globals';
import { creditTransactionType } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type CreditAccount, creditMoves, distributeCredit, postEntry } from '../../src/pricing/credit.js';
import { isCreditNote } from '../../src/pricing/credit-note.js';
import { priceLines } from '../../src/pricing/price.js';
import { belowMinimum, reconcileAmount, settle } from '../../src/pricing/settle.js';
import { line, rate } from './samples.js';

const account = (balance: bigint): CreditAccount => ({ type: 'main', currency: 'EUR', balance });

describe('main credit', () => {
  it('leaves a payment of 1200 for a total of 4800 and a balance of 3600', () => {
    expect(settle(4800n, 3600n, 0n)).toEqual({ creditSpent: 3600n, creditGiven: 0n, due: 1200n, amountDue: 1200n });
  });

  it('pays the whole where it can', () => {
    expect(settle(4800n, 5000n, 50n)).toMatchObject({ creditSpent: 4800n, due: 0n });
  });

  it('is held back so that the rest is not below the minimum', () => {
    expect(settle(4800n, 4780n, 50n)).toMatchObject({ creditSpent: 4750n, due: 50n });
    expect(settle(4800n, 4750n, 50n)).toMatchObject({ creditSpent: 4750n, due: 50n });
    expect(settle(40n, 10n, 50n)).toMatchObject({ creditSpent: 0n, due: 40n });
  });

  it('is not spent where user or config says no', () => {
    expect(settle(4800n, 0n, 0n)).toMatchObject({ creditSpent: 0n, due: 4800n });
  });
});

describe('a negative total', () => {
  it('holds what a downgrade at half of the month credits, 3600; of the next cycle of 4800, 1200 are charged', () => {
    const { amounts } = priceLines([line(-5000n, rate(20)), line(2000n, rate(20))]);
    expect(amounts).toMatchObject({ totalAmountExcludingTax: -3000n, taxAmount: -600n, totalAmount: -3600n });
    expect(isCreditNote(amounts)).toBe(true);
    const settled = settle(amounts.totalAmount, 0n, 0n);
    expect(settled).toEqual({ creditSpent: 0n, creditGiven: 3600n, due: 0n, amountDue: -3600n });
    const [credited] = postEntry(account(0n), 'adminChange', settled.creditGiven);
    const next = priceLines([line(4000n, rate(20))]).amounts.totalAmount;
    expect(settle(next, credited.balance, 0n)).toMatchObject({ creditSpent: 3600n, due: 1200n });
  });

  it('is sent back up to what is refundable, newest first, and the rest to main credit', () => {
    const invoices = [
      { invoiceId: 'in_3', refundable: 1000n },
      { invoiceId: 'in_2', refundable: 0n },
      { invoiceId: 'in_1', refundable: 500n },
    ];
    expect(distributeCredit(1200n, invoices)).toEqual({
      refunds: [
        { invoiceId: 'in_3', amount: 1000n },
        { invoiceId: 'in_1', amount: 200n },
      ],
      toMainCredit: 0n,
    });
    expect(distributeCredit(3600n, invoices).toMainCredit).toBe(2100n);
  });
});

describe('a credit account', () => {
  it('chains its entries', () => {
    const [recharged, first] = postEntry(account(0n), 'recharge', 500n);
    const [spent, second] = postEntry(recharged, 'payout', -200n);
    expect([first, second]).toEqual([
      { move: 'recharge', delta: 500n, before: 0n, after: 500n },
      { move: 'payout', delta: -200n, before: 500n, after: 300n },
    ]);
    expect(spent).toEqual(account(300n));
  });

  it('never becomes negative, and refuses a delta of the wrong sign', () => {
    expect(() => postEntry(account(1n), 'payout', -2n)).toThrow('a balance of -1 after payout');
    for (const [move, delta] of [
      ['payout', 1n],
      ['refund', -1n],
      ['adminChange', 0n],
    ] as const) {
      expect(() => postEntry(account(9n), move, delta)).toThrow(RangeError);
    }
  });

  it('has the transaction types of the API', () => {
    expect(Object.keys(creditMoves).sort()).toEqual(Object.keys(creditTransactionType).sort());
  });
});

describe('money that does not fit', () => {
  it('is an overpayment above the amount due, and an accepted underpayment below it', () => {
    expect(reconcileAmount(1000n, 1000n, false)).toEqual({ overpayment: 0n, underpayment: 0n });
    expect(reconcileAmount(1000n, 1200n, false)).toEqual({ overpayment: 200n, underpayment: 0n });
    expect(reconcileAmount(1000n, 990n, true)).toEqual({ overpayment: 0n, underpayment: 10n });
  });

  it('is refused below it, with the difference', () => {
    const refusal = attempt(() => reconcileAmount(1000n, 990n, false));
    expect(refusal).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/amountReceived', message: 'is 990: 10 less than the 1000 due' }],
    });
    expect(attempt(() => reconcileAmount(1000n, 0n, true))).toBeInstanceOf(Rejected);
  });
});

describe('below the minimum', () => {
  it('leaves a proration of 15 below the minimum of 50 to the next cycle, which is 1015 then', () => {
    const proration = priceLines([line(15n)]);
    expect(belowMinimum(proration.amounts.totalAmount, 50n, 'subscription')).toBe('defer');
    const next = priceLines([line(15n, rate(0), { discountable: false }), line(1000n)]);
    expect(next.amounts.totalAmountExcludingTax).toBe(1015n);
    expect(belowMinimum(next.amounts.totalAmount, 50n, 'subscription')).toBe('collect');
  });

  it('is refused for a first invoice and any other, and is no matter where nothing is due', () => {
    expect(belowMinimum(49n, 50n, 'firstInvoice')).toBe('refuse');
    expect(belowMinimum(49n, 50n, 'other')).toBe('refuse');
    expect(belowMinimum(50n, 50n, 'other')).toBe('collect');
    expect(belowMinimum(0n, 50n, 'subscription')).toBe('collect');
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
