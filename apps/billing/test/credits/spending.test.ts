import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { creditAccountType, creditTransactionType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import * as credits from '../../src/credits/spending.js';
import { promoOn } from '../../src/pricing/credit.js';
import { settle } from '../../src/pricing/settle.js';
import { billing } from '../../src/service.js';
import { within } from '../world/shop.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(billing);
});
afterAll(() => t.close());

const inTx = <T>(run: (tx: Tx) => Promise<T>) => within(t, run);

let users = 100;
/** A user with promo credits and main credit. */
async function buyer(promo: bigint, main: bigint, currency = 'EUR') {
  const userId = ++users;
  await inTx(async tx => {
    await credits.returnPromo(tx, { userId, currency, credits: promo, invoiceId: 'in_gift' });
    const type = creditTransactionType.recharge;
    await credits.addMain(tx, { userId, currency, amount: main, type, invoiceId: 'in_recharge' });
  });
  return { userId, currency };
}

const config = (type: string, currency: string, over: Record<string, unknown> = {}) => {
  const row: Record<string, unknown> = { exchange_rate: 100, payout_enable: true, ...over };
  return t.rows(
    `insert into credit_configs select 15, nextval('credit_configs_id_seq'), $1, $2, '', '', '', '', '{}', $3, false, false,
       false, $4, true, 1, 1`,
    [type, currency, row.exchange_rate, row.payout_enable],
  );
};

const balances = async (userId: number) =>
  (await t.rows('select type, balance from credit_accounts where user_id = $1 order by type desc', [userId])).map(
    ({ type, balance }) => `${type} ${balance}`,
  );

const chain = (userId: number) =>
  t.rows(
    `select account_type as type, sequence::integer, move, delta::integer, before::integer, after::integer, invoice_id
     from credit_transactions where user_id = $1 order by account_type desc, credit_id, sequence`,
    [userId],
  );

describe('promo credit', () => {
  it('takes 50 credits at the rate 100 for 5000 of 5050', async () => {
    const { userId, currency } = await buyer(80n, 0n);
    await t.emitted();
    const spent = await inTx(async tx => ({
      taken: await credits.spendPromo(tx, { userId, currency, base: 5050n, invoiceId: 'in_1' }),
    }));
    expect(spent.taken).toEqual({ money: 5000n, credits: 50n, rate: 100n });
    expect((await chain(userId)).at(-1)).toEqual({
      type: 'promo',
      sequence: 2,
      move: 'payout',
      delta: -50,
      before: 80,
      after: 30,
      invoice_id: 'in_1',
    });
    const [event] = await t.emitted();
    expect(event).toMatchObject({
      type: 'credit.account.updated',
      version: 2,
      data: {
        userId,
        type: creditAccountType.promo,
        amount: 30,
        currencyAmount: 3000,
        totalIncrementAmount: 80,
        totalDecrementAmount: -50,
      },
    });
  });

  it('takes 5 credits at the rate 1000 for 5000; a return is at the rate of the spending', async () => {
    await config('promo', 'USD', { exchange_rate: 1000 });
    const { userId, currency } = await buyer(80n, 0n, 'USD');
    const { taken } = await inTx(async tx => ({
      taken: await credits.spendPromo(tx, { userId, currency, base: 5050n, invoiceId: 'in_2' }),
    }));
    expect(taken).toEqual({ money: 5000n, credits: 5n, rate: 1000n });
    await t.rows(`update credit_configs set exchange_rate = 500 where currency = 'USD'`);
    await inTx(async tx => {
      await credits.returnPromo(tx, { userId, currency, credits: 5n, invoiceId: 'in_2' });
    });
    const [entry] = await t.rows(
      'select delta::integer, exchange_rate::integer as rate from credit_transactions where user_id = $1 order by sequence desc',
      [userId],
    );
    expect(entry).toEqual({ delta: 5, rate: 1000 });
    expect(await balances(userId)).toEqual(['promo 80']);
  });

  it('JPY, rate 30, base 10: 9 for 30 credits; with a balance of 3: nothing', async () => {
    await config('promo', 'JPY', { exchange_rate: 30 });
    const [rich, poor] = [await buyer(1000n, 0n, 'JPY'), await buyer(3n, 0n, 'JPY')];
    const take = (userId: number) =>
      inTx(async tx => ({
        taken: await credits.spendPromo(tx, { userId, currency: 'JPY', base: 10n, invoiceId: 'in_3' }),
      }));
    expect(await take(rich.userId)).toEqual({ taken: { money: 9n, credits: 30n, rate: 30n } });
    expect(await take(poor.userId)).toEqual({ taken: undefined });
    expect(await balances(poor.userId)).toEqual(['promo 3']);
  });

  it('takes no more than the cap, and nothing where the config allows no payout or there is no account', async () => {
    await config('promo', 'CHF', { payout_enable: false });
    const [capped, barred] = [await buyer(80n, 0n), await buyer(80n, 0n, 'CHF')];
    const take = (userId: number, currency: string, cap?: bigint) =>
      inTx(async tx => ({
        taken: await credits.spendPromo(tx, {
          userId,
          currency,
          base: 5050n,
          invoiceId: 'in_4',
          ...(cap !== undefined && { cap }),
        }),
      }));
    expect(await take(capped.userId, 'EUR', 7n)).toMatchObject({ taken: { money: 700n, credits: 7n } });
    expect(await take(capped.userId, 'EUR', 0n)).toEqual({ taken: undefined });
    expect(await take(barred.userId, 'CHF')).toEqual({ taken: undefined });
    expect(await take(999_999, 'EUR')).toEqual({ taken: undefined });
    expect(await balances(999_999)).toEqual([]);
  });
});

describe('main credit', () => {
  it('takes a balance of 3600 for a total of 4800, and gives it back', async () => {
    const { userId, currency } = await buyer(0n, 3600n);
    const spend = () =>
      inTx(async tx => ({
        spent: await credits.spendMain(tx, { userId, currency, due: 4800n, minimum: 50n, invoiceId: 'in_5' }),
      }));
    expect(await spend()).toEqual({ spent: 3600n });
    expect(await spend()).toEqual({ spent: 0n });
    await inTx(async tx => {
      await credits.returnMain(tx, { userId, currency, amount: 3600n, invoiceId: 'in_5' });
    });
    expect(await chain(userId)).toMatchObject([
      { move: 'recharge', delta: 3600, before: 0, after: 3600 },
      { move: 'payout', delta: -3600, before: 3600, after: 0 },
      { move: 'refund', delta: 3600, before: 0, after: 3600 },
    ]);
  });

  it('is held back where the rest would fall below the minimum', async () => {
    const { userId, currency } = await buyer(0n, 4790n);
    const { spent } = await inTx(async tx => ({
      spent: await credits.spendMain(tx, { userId, currency, due: 4800n, minimum: 50n, invoiceId: 'in_6' }),
    }));
    expect(spent).toBe(4750n);
  });
});

describe('accounts', () => {
  it('come into being once, however many use them first', async () => {
    const userId = ++users;
    const type = creditTransactionType.refund;
    await Promise.all(
      Array.from({ length: 32 }, (_, at) =>
        inTx(async tx => {
          await credits.addMain(tx, { userId, currency: 'EUR', amount: 1n, type, invoiceId: `in_${at}` });
        }),
      ),
    );
    expect(await balances(userId)).toEqual(['main 32']);
    expect((await chain(userId)).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 32 }, (_, at) => at + 1),
    );
  });

  it('are never negative, and lose or gain nothing, whatever spends and returns at once', async () => {
    const { userId, currency } = await buyer(500n, 50_000n);
    const one = async (at: number) => {
      const invoiceId = `in_race_${at}`;
      const { promo, main } = await inTx(async tx => ({
        promo: await credits.spendPromo(tx, { userId, currency, base: BigInt(700 * (at + 1)), invoiceId }),
        main: await credits.spendMain(tx, { userId, currency, due: BigInt(900 * (at + 1)), minimum: 100n, invoiceId }),
      }));
      if (at % 2 === 0) return { promo: promo?.credits ?? 0n, main };
      await inTx(async tx => {
        await credits.returnPromo(tx, { userId, currency, credits: promo?.credits ?? 0n, invoiceId });
        await credits.returnMain(tx, { userId, currency, amount: main, invoiceId });
      });
      return { promo: 0n, main: 0n };
    };
    const kept = await Promise.all(Array.from({ length: 32 }, (_, at) => one(at)));
    const [promo, main] = [kept.reduce((sum, k) => sum + k.promo, 0n), kept.reduce((sum, k) => sum + k.main, 0n)];
    expect(await balances(userId)).toEqual([`promo ${500n - promo}`, `main ${50_000n - main}`]);
    const broken = await t.rows(
      `select * from (select *, lag(after, 1, 0::bigint) over chain as previous, row_number() over chain as place,
         sum(delta) over (partition by merchant_id, credit_id) as total from credit_transactions
         window chain as (partition by merchant_id, credit_id order by sequence)) t
       join credit_accounts a using (merchant_id, credit_id)
       where before <> previous or after <> before + delta or sequence <> place or total <> balance or after < 0`,
    );
    expect(broken).toEqual([]);
    // each spending took what it would have taken alone from the balance that it met
    const spendings = (await chain(userId)).filter(({ move }) => move === 'payout');
    expect(spendings.length).toBeGreaterThan(16);
    for (const { type, delta, before, invoice_id: invoiceId } of spendings) {
      const at = Number(String(invoiceId).split('_').at(-1));
      const promo = { balance: BigInt(Number(before)), exchangeRate: 100n, decimals: 2 };
      const alone =
        type === 'promo'
          ? promoOn(BigInt(700 * (at + 1)), promo).credits
          : settle(BigInt(900 * (at + 1)), promo.balance, 100n).creditSpent;
      expect(-Number(delta)).toBe(Number(alone));
    }
  });
});

describe('the ledger', () => {
  it('cannot be changed by the app', async () => {
    const grants = await t.rows(
      `select privilege_type as may from information_schema.table_privileges
       where table_name = 'credit_transactions' and grantee = 'billing_app' order by 1`,
    );
    expect(grants.map(({ may }) => may)).toEqual(['INSERT', 'SELECT']);
  });

  it('takes no amount of the wrong sign', async () => {
    const { userId, currency } = await buyer(1n, 1n);
    const add = (amount: bigint, type: number) =>
      inTx(async tx => {
        await credits.addMain(tx, { userId, currency, amount, type, invoiceId: 'in_7' });
      });
    await expect(add(-1n, creditTransactionType.recharge)).rejects.toThrow('a delta of -1 for recharge');
    await expect(add(1n, 99)).rejects.toThrow('no transaction type 99');
    expect(await balances(userId)).toEqual(['promo 1', 'main 1']);
  });
});
