import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CreditAccount, creditAccountType, emptyOf, getUser, listUsers, newUser } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

let told = 0;
/** Billing tells of an account. */
const tell = (data: Partial<CreditAccount>, version = 1) =>
  t.deliver('billing', [
    {
      id: `ev_credit_${++told}`,
      type: 'credit.account.updated',
      merchantId: 15,
      aggregate: 'creditAccount',
      version,
      aggregateId: String(data.id),
      at: 1,
      requestId: 'r',
      traceparent: '',
      actor: { kind: 'system', id: '', display: '' },
      data: { ...emptyOf(CreditAccount), currency: 'EUR', ...data },
    },
  ]);

it('shows the credit accounts of a user, as billing tells of them', async () => {
  const { id } = (await t.done(newUser, { email: 'ada@example.com' })).user;
  const other = (await t.done(newUser, { email: 'bob@example.com' })).user;
  const shown = async () => {
    const { creditAccounts, promoCreditAccounts } = (await t.done(getUser, { userId: id })).user;
    return [creditAccounts.map(({ amount }) => amount), promoCreditAccounts.map(({ amount }) => amount)];
  };
  expect(await shown()).toEqual([[], []]);
  await tell({ id: 1, userId: id, type: creditAccountType.main, amount: 3600 });
  await tell({ id: 2, userId: id, type: creditAccountType.promo, amount: 50 });
  await tell({ id: 3, userId: other.id, type: creditAccountType.main, amount: 7 });
  await tell({ id: 4, userId: id, type: creditAccountType.main, currency: 'USD', amount: 100 });
  expect(await shown()).toEqual([[3600, 100], [50]]);
  await tell({ id: 1, userId: id, type: creditAccountType.main, amount: 2400 }, 2);
  await tell({ id: 1, userId: id, type: creditAccountType.main, amount: 9 }, 1);
  expect(await shown()).toEqual([[2400, 100], [50]]);
  const { userAccounts } = await t.done(listUsers, { page: 0, count: 20 });
  expect(userAccounts.map(({ creditAccounts }) => creditAccounts.map(({ amount }) => amount))).toEqual([
    [7],
    [2400, 100],
  ]);
});
