import { describe, expect, it } from '@jest/globals';
import { sum } from '@recur/kernel';
import fc from 'fast-check';
import { type Account, type Posting, post, type Transaction } from '../../../src/credits/domain/account.js';
import { creditTerms, defaultTerms, worthOf } from '../../../src/credits/domain/config.js';
import { type CreditMove, creditMoves } from '../../../src/pricing/credit.js';

const fresh = (over: Partial<Account> = {}): Account => ({
  merchantId: 15,
  creditId: 1,
  userId: 2,
  type: 'promo',
  currency: 'EUR',
  createTime: 1,
  version: 0,
  balance: 0n,
  totalIncrement: 0n,
  totalDecrement: 0n,
  lastSequence: 0,
  terms: defaultTerms,
  ...over,
});
const entry = { id: 1, transactionId: 'ct_1', now: 100 };

const postings = fc.array(
  fc.record({
    move: fc.constantFrom(...(Object.keys(creditMoves) as CreditMove[])),
    delta: fc.bigInt({ min: -1_000_000n, max: 1_000_000n }),
  }),
  { maxLength: 40 },
);

/** Books what can be booked; what cannot must leave the account as it is. */
function booked(account: Account, all: readonly Posting[]): [Account, Transaction[]] {
  return all.reduce<[Account, Transaction[]]>(
    ([current, entries], posting) => {
      try {
        const [next, transaction] = post(current, posting, entry);
        return [next, [...entries, transaction]];
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return [current, entries];
      }
    },
    [account, []],
  );
}

describe('the ledger of an account', () => {
  it('chains without a gap, sums to the balance, and is never negative', () => {
    fc.assert(
      fc.property(postings, all => {
        const [account, entries] = booked(fresh(), all);
        let [previous, sequence] = [0n, 0];
        for (const { before, after, delta, move, ...numbered } of entries) {
          const sign = creditMoves[move];
          if (before !== previous || after !== before + delta || after < 0n) throw new Error('the chain is broken');
          if (delta === 0n || delta * sign < 0n) throw new Error(`${delta} for ${move}`);
          if (numbered.sequence !== ++sequence) throw new Error('a number is left out');
          previous = after;
        }
        if (sum(entries.map(({ delta }) => delta)) !== account.balance) throw new Error('the sum is not the balance');
        if (account.totalIncrement + account.totalDecrement !== account.balance) throw new Error('the totals differ');
        if (account.lastSequence !== entries.length) throw new Error('the last number differs');
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes what is returned in any order and ends where it began', () => {
    const spends = fc.array(fc.bigInt({ min: 1n, max: 1_000n }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(spends, fc.infiniteStream(fc.nat()), (amounts, choices) => {
        const total = sum(amounts);
        let account = fresh({ balance: total, totalIncrement: total });
        const [waiting, spent] = [[...amounts], [] as bigint[]];
        while (waiting.length + spent.length > 0) {
          const choice = choices.next().value ?? 0;
          const spends = waiting.length > 0 && (spent.length === 0 || choice % 2 === 0);
          const [amount = 0n] = (spends ? waiting : spent).splice(choice % (spends ? waiting : spent).length, 1);
          if (spends) spent.push(amount);
          const posting: Posting = spends ? { move: 'payout', delta: -amount } : { move: 'refund', delta: amount };
          [account] = post(account, posting, entry);
        }
        if (account.balance !== total) throw new Error(`${account.balance} of ${total}`);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the rate of the account, unless another is given', () => {
    const rich = fresh({ terms: { ...defaultTerms, exchangeRate: 50n } });
    expect(post(rich, { move: 'refund', delta: 1n }, entry)[1]).toMatchObject({ exchangeRate: 50n, createTime: 100 });
    expect(post(rich, { move: 'refund', delta: 1n, exchangeRate: 30n }, entry)[1].exchangeRate).toBe(30n);
  });
});

describe('the worth of credits', () => {
  it.each([
    ['main', 4999n, 100n, 2, 4999n],
    ['promo', 50n, 100n, 2, 5000n],
    ['promo', 5n, 1000n, 2, 5000n],
    ['promo', 30n, 30n, 0, 9n],
    ['promo', 3n, 30n, 0, 0n],
    ['promo', 1n, 1n, 3, 10n],
  ] as const)('%s: %s at %s with %s decimals is %s', (type, amount, rate, decimals, worth) => {
    expect(worthOf(type, amount, rate, decimals)).toBe(worth);
  });
});

it('an account without a config allows payout and recharge, at a rate of 100', () => {
  expect(creditTerms(undefined)).toMatchObject({ payoutEnable: true, rechargeEnable: true, exchangeRate: 100n });
});
