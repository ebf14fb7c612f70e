import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  creditAccountType,
  creditDetail,
  decrementPromoCredit,
  editCreditConfig,
  incrementPromoCredit,
  listCreditAccounts,
  listCreditConfigs,
  listCreditTransactions,
  newCreditConfig,
} from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
  for (const id of [2, 3, 4, 5, 6]) s.knowUser(id);
});
afterAll(() => s.t.close());

const increment = (userId: number, amount: number, over: object = {}) =>
  s.t.done(incrementPromoCredit, { userId, amount, currency: 'EUR', ...over });
const decrement = (userId: number, amount: number, over: object = {}) =>
  s.t.call(decrementPromoCredit, { userId, amount, currency: 'EUR', ...over });

describe('promo_credit_increment and _decrement', () => {
  it('make the account at its first use, and book with name, description and actor', async () => {
    await s.t.emitted();
    const actor = { kind: 'member', id: '7', display: 'ada@example.com' } as const;
    const gift = { userId: 1, amount: 50, currency: 'eur', name: 'Gift', description: 'Sorry' };
    const { UserPromoCreditAccount: account, creditTransaction } = await s.t.done(incrementPromoCredit, gift, {
      actor,
    });
    expect(account).toMatchObject({
      type: creditAccountType.promo,
      userId: 1,
      currency: 'EUR',
      amount: 50,
      currencyAmount: 5000,
    });
    expect(creditTransaction).toMatchObject({
      creditId: account.id,
      accountType: creditAccountType.promo,
      transactionType: 6,
      userId: 1,
      by: 'ada@example.com',
      name: 'Gift',

      deltaAmount: 50,
      deltaCurrencyAmount: 5000,
      creditAmountBefore: 0,
      creditAmountAfter: 50,
      exchangeRate: 100,
    });
    const [event, log, ...more] = await s.t.emitted();
    expect(event).toMatchObject({ type: 'credit.account.updated', aggregateId: String(account.id), version: 1 });
    expect(event?.data).toEqual(account);
    expect(log).toMatchObject({ data: { target: `CreditAccount(${account.id})`, content: 'Increment' } });
    expect(more).toEqual([]);
    expect(await decrement(1, 20)).toMatchObject({
      ok: true,
      data: {
        UserPromoCreditAccount: { amount: 30, totalIncrementAmount: 50, totalDecrementAmount: -20 },
        creditTransaction: { deltaAmount: -20, deltaCurrencyAmount: -2000, creditAmountBefore: 50, by: 'key_...test' },
      },
    });
  });

  it('take no more than there is', async () => {
    const { UserPromoCreditAccount: account } = await increment(2, 5);
    expect(await decrement(2, 6)).toMatchObject({
      slug: 'credit_insufficient',
      message: `Credit account ${account.id} holds 5 credits: cannot take 6`,
    });
    expect(await decrement(2, 6, { currency: 'USD' })).toMatchObject({
      slug: 'credit_insufficient',
      message: 'The user holds no credits: cannot take 6',
    });
    expect(await s.t.call(incrementPromoCredit, { userId: 999, amount: 1, currency: 'EUR' })).toMatchObject({
      slug: 'user_not_found',
    });
    expect(await decrement(999, 1)).toMatchObject({ slug: 'user_not_found' });
  });

  it('answer a repeat under the same idempotencyKey as the first, whatever happened since', async () => {
    const first = await increment(3, 10, { idempotencyKey: 'k' });
    await increment(3, 7);
    await s.t.emitted();
    expect(await increment(3, 10, { idempotencyKey: 'k' })).toEqual(first);
    expect(await s.t.emitted()).toEqual([]);
    for (const over of [{ userId: 2 }, { amount: 11 }, { currency: 'USD' }]) {
      expect(
        await s.t.call(incrementPromoCredit, { userId: 3, amount: 10, currency: 'EUR', idempotencyKey: 'k', ...over }),
      ).toMatchObject({ slug: 'idempotency_reused' });
    }
    expect(await decrement(3, 10, { idempotencyKey: 'k' })).toMatchObject({ slug: 'idempotency_reused' });
    const stranger = await s.stranger(16);
    const other = await s.t.call(
      incrementPromoCredit,
      { userId: 1, amount: 1, currency: 'EUR', idempotencyKey: 'k' },
      stranger,
    );
    expect(other).toMatchObject({ ok: true });
  });

  it('at once under one key change once', async () => {
    const answers = await Promise.all(Array.from({ length: 16 }, () => increment(4, 10, { idempotencyKey: 'race' })));
    expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.UserPromoCreditAccount.amount).toBe(10);
  });

  it('at once leave a balance that is what one after the other leaves', async () => {
    await increment(5, 10);
    const taken = await Promise.all(Array.from({ length: 16 }, () => decrement(5, 3)));
    expect(taken.filter(({ ok }) => ok)).toHaveLength(3);
    const { creditAccounts } = await s.t.done(listCreditAccounts, { userId: 5 });
    expect(creditAccounts).toMatchObject([{ amount: 1, totalIncrementAmount: 10, totalDecrementAmount: -9 }]);
  });

  it('refuse what is beyond 2^53−1', async () => {
    const { UserPromoCreditAccount: account } = await increment(6, 1);
    await s.t.rows('update credit_accounts set balance = $1, total_increment = $1 where credit_id = $2', [
      Number.MAX_SAFE_INTEGER,
      account.id,
    ]);
    expect(await s.t.call(incrementPromoCredit, { userId: 6, amount: 1, currency: 'EUR' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/amount' }],
    });
    await s.t.rows('update credit_accounts set balance = 1, total_increment = 1 where credit_id = $1', [account.id]);
  });
});

describe('credit/detail', () => {
  it('has the transactions newest first, in a chain without a gap', async () => {
    const { creditAccounts } = await s.t.done(listCreditAccounts, { userId: 1 });
    const id = creditAccounts[0]?.id;
    const { creditAccount, creditTransactions } = await s.t.done(creditDetail, { id });
    expect(creditAccount).toMatchObject({ id, amount: 30, user: { id: 1, email: 'user1@example.com' } });
    expect(creditTransactions.map(({ deltaAmount }) => deltaAmount)).toEqual([-20, 50]);
    expect(creditTransactions[0]?.creditAmountBefore).toBe(creditTransactions[1]?.creditAmountAfter);
    expect(creditTransactions[0]?.creditAmountAfter).toBe(creditAccount.amount);
  });

  it("knows no unknown account, nor another merchant's", async () => {
    const unknown = await s.t.call(creditDetail, { id: 999_999 });
    expect(unknown).toMatchObject({ slug: 'credit_account_not_found' });
    const { creditAccounts } = await s.t.done(listCreditAccounts, { userId: 1 });
    expect(await s.t.call(creditDetail, { id: creditAccounts[0]?.id }, { merchantId: 16 })).toEqual(unknown);
  });
});

describe('the lists', () => {
  it('find accounts by user and e-mail, newest first', async () => {
    const { creditAccounts, total } = await s.t.done(listCreditAccounts, {});
    expect(total).toBe(6);
    expect(creditAccounts.map(({ id }) => id)).toEqual(creditAccounts.map(({ id }) => id).toSorted((a, b) => b - a));
    expect(await s.t.done(listCreditAccounts, { email: 'USER2@example.com' })).toMatchObject({
      creditAccounts: [{ userId: 2, user: { email: 'user2@example.com' } }],
    });
    expect(await s.t.done(listCreditAccounts, { email: 'nobody@example.com' })).toEqual({
      creditAccounts: [],
      total: 0,
    });
    expect(await s.t.done(listCreditAccounts, { createTimeEnd: '1' })).toEqual({ creditAccounts: [], total: 0 });
    expect(await s.t.done(listCreditAccounts, { page: 1, count: 4, sortType: 'asc' })).toMatchObject({ total: 6 });
  });

  it('find transactions by account type, user, currency and type', async () => {
    const find = (over: object) => s.t.done(listCreditTransactions, { accountType: '2', ...over });
    const { creditTransactions, total } = await find({ userId: 1 });
    expect(total).toBe(2);
    expect(creditTransactions).toMatchObject([
      { deltaAmount: -20, adminMember: null, user: { id: 1 } },
      { deltaAmount: 50, adminMember: { id: 7, email: 'ada@example.com' }, creditAccount: { amount: 30, user: null } },
    ]);
    expect((await find({ userId: 1, transactionTypes: '6,1' })).total).toBe(2);
    expect((await find({ userId: 1, transactionTypes: [2] })).total).toBe(0);
    expect((await find({ userId: 1, currency: 'USD' })).total).toBe(0);
    expect((await find({ email: 'user2@example.com' })).total).toBe(1);
    expect((await find({ accountType: creditAccountType.main })).total).toBe(0);
    expect(await s.t.call(listCreditTransactions, { accountType: 3 })).toMatchObject({ slug: 'invalid_parameters' });
  });
});

describe('credit configs', () => {
  it('are one per type and currency, with defaults', async () => {
    await s.t.emitted();
    const { creditConfig } = await s.t.done(newCreditConfig, {
      type: creditAccountType.promo,
      currency: 'EUR',
      name: 'Points',
    });
    expect(creditConfig).toMatchObject({
      type: creditAccountType.promo,
      currency: 'EUR',
      name: 'Points',
      exchangeRate: 100,
      payoutEnable: 1,
      rechargeEnable: 1,
      recurring: 0,
      discountCodeExclusive: 0,
      previewDefaultUsed: 0,
      merchantId: 15,
      totalIncrementAmount: 50 + 5 + 17 + 10 + 10 + 1,
      totalDecrementAmount: -29,
    });
    const [event] = await s.t.emitted();
    expect(event).toMatchObject({ type: 'credit.config.created', version: 1 });
    expect(await s.t.call(newCreditConfig, { type: creditAccountType.promo, currency: 'EUR' })).toMatchObject({
      slug: 'credit_config_exists',
      message: 'There is a config of promo accounts in EUR',
    });
    await s.t.done(newCreditConfig, { type: creditAccountType.main, currency: 'EUR' });
    await s.t.done(newCreditConfig, {
      type: creditAccountType.promo,
      currency: 'USD',
      exchangeRate: 1000,
      metaData: '{"a":1}',
    });
  });

  it('have a rate of at least 1, and 100 for main accounts', async () => {
    for (const exchangeRate of [0, -1]) {
      expect(
        await s.t.call(newCreditConfig, { type: creditAccountType.promo, currency: 'CHF', exchangeRate }),
      ).toMatchObject({
        issues: [{ path: '/exchangeRate' }],
      });
    }
    const main = { type: creditAccountType.main, currency: 'CHF', exchangeRate: 200 };
    expect(await s.t.call(newCreditConfig, main)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/exchangeRate' }],
    });
    expect(await s.t.call(editCreditConfig, { ...main, currency: 'EUR' })).toMatchObject({
      issues: [{ path: '/exchangeRate' }],
    });
  });

  it('change where they are edited, accounts with them', async () => {
    await s.t.emitted();
    const change = { type: creditAccountType.promo, currency: 'EUR', exchangeRate: 50, recurring: 1 };
    const { creditConfig } = await s.t.done(editCreditConfig, change);
    expect(creditConfig).toMatchObject({ name: 'Points', exchangeRate: 50, recurring: 1, payoutEnable: 1 });
    expect((await s.t.emitted()).map(({ type }) => type)).toEqual(['credit.config.updated', 'operation.logged']);
    expect(await s.t.done(editCreditConfig, change)).toEqual({ creditConfig });
    expect(await s.t.emitted()).toEqual([]);
    const { creditAccounts } = await s.t.done(listCreditAccounts, { userId: 1 });
    expect(creditAccounts).toMatchObject([{ amount: 30, currencyAmount: 1500, exchangeRate: 50 }]);
    expect(await s.t.call(editCreditConfig, { type: creditAccountType.main, currency: 'USD' })).toMatchObject({
      slug: 'credit_config_not_found',
    });
  });

  it('are listed by currency and type', async () => {
    const found = async (input: object) =>
      (await s.t.done(listCreditConfigs, input)).creditConfigs.map(({ type, currency }) => `${type} ${currency}`);
    expect(await found({})).toEqual(['2 EUR', '1 EUR', '2 USD']);
    expect(await found({ currency: 'EUR', types: '1' })).toEqual(['1 EUR']);
    expect(await found({ types: [2] })).toEqual(['2 EUR', '2 USD']);
    const { creditConfigs } = await s.t.done(listCreditConfigs, { currency: 'USD' });
    expect(creditConfigs).toMatchObject([{ metaData: { a: 1 }, totalIncrementAmount: 0, totalDecrementAmount: 0 }]);
  });
});
