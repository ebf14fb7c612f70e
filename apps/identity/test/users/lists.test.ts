import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyOf, Gateway, listUsers, newUser, searchUsers, type User, updateUser } from '@recur/contracts';
import { type MovableClock, type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';

let t: TestService;
const all: User[] = [];
const start = 1_768_478_400;

beforeAll(async () => {
  t = await testService(identity);
  const people = [
    { email: 'Ada@Example.com', firstName: 'Ada', lastName: 'Lovelace', externalUserId: 'ext-1' },
    { email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper', externalUserId: 'EXT-1' },
    { email: 'alan@other.org', firstName: 'Alan', lastName: 'Turing' },
    { email: '100%_sure@other.org', firstName: 'A_a', lastName: 'B%b' },
    { email: 'zoe@example.com', firstName: 'Zoë', lastName: 'Ønsk' },
  ];
  for (const person of people) {
    all.push((await t.done(newUser, person)).user);
    (t.clock as MovableClock).advance(60);
  }
  await t.done(newUser, { email: 'ada@example.com', firstName: 'Ada' }, { merchantId: 16 });
});
afterAll(() => t.close());

/** The positions in `all` of the users in an answer. */
async function listed(input: object, merchantId?: number): Promise<number[]> {
  const { userAccounts, total } = await t.done(listUsers, { page: 0, count: 20, ...input }, { merchantId });
  expect(total).toBe(userAccounts.length);
  return userAccounts.map(({ id }) => all.findIndex(user => user.id === id));
}
const search = async (searchKey?: string, merchantId?: number) =>
  (await t.done(searchUsers, { searchKey }, { merchantId })).userAccounts.map(({ email }) => email);

describe('user/list', () => {
  it('has the newest first, whole', async () => {
    expect(await listed({})).toEqual([4, 3, 2, 1, 0]);
    const { userAccounts } = await t.done(listUsers, { page: 4, count: 1 });
    expect(userAccounts).toEqual([
      { ...all[0], creditAccounts: [], promoCreditAccounts: [], gateway: null, planId: 0 },
    ]);
  });

  it('finds texts by any part in any case, and takes every character as itself', async () => {
    expect(await listed({ email: 'EXAMPLE' })).toEqual([4, 1, 0]);
    expect(await listed({ email: 'a', firstName: 'A', lastName: 'u' })).toEqual([2]);
    expect(await listed({ firstName: 'zoë' })).toEqual([4]);
    expect(await listed({ lastName: 'ønsk' })).toEqual([4]);
    expect(await listed({ email: '%_' })).toEqual([3]);
    expect(await listed({ firstName: '_', lastName: '%' })).toEqual([3]);
    expect(await listed({ email: `' or true --` })).toEqual([]);
    expect(await listed({ email: 'ada' }, 17)).toEqual([]);
  });

  it('finds a search key in e-mail, whole name, external id, company and as an id', async () => {
    await t.done(updateUser, { userId: all[2]?.id, companyName: 'Bletchley Ltd' });
    expect(await listed({ searchKey: 'ada love' })).toEqual([0]);
    expect(await listed({ searchKey: 'ext-1' })).toEqual([1, 0]);
    expect(await listed({ searchKey: 'bletchley' })).toEqual([2]);
    expect(await listed({ searchKey: String(all[1]?.id) })).toContain(1);
    expect(await listed({ searchKey: String(all[1]?.id), email: 'grace' })).toEqual([1]);
    expect(await listed({ searchKey: '999999999999999' })).toEqual([]);
    expect(await listed({ searchKey: 'ada', lastName: 'hopper' })).toEqual([]);
    // the former text no longer matches
    await t.done(updateUser, { userId: all[2]?.id, companyName: '' });
    expect(await listed({ searchKey: 'bletchley' })).toEqual([]);
  });

  it('finds an external id and an id as a whole', async () => {
    expect(await listed({ externalUserId: 'ext-1' })).toEqual([0]);
    expect(await listed({ externalUserId: 'ext' })).toEqual([]);
    expect(await listed({ userId: all[3]?.id })).toEqual([3]);
    expect(await listed({ userId: all[3]?.id }, 16)).toEqual([]);
  });

  it('filters by when users were created, both ends included', async () => {
    const range = { createTimeStart: start + 60, createTimeEnd: start + 120 };
    expect(await listed(range)).toEqual([2, 1]);
    expect(await listed({ createTimeStart: start + 121 })).toEqual([4, 3]);
    expect(await listed({ createTimeEnd: start - 1 })).toEqual([]);
  });

  it('filters by status and by gateway', async () => {
    const gateway = { ...emptyOf(Gateway), gatewayId: 3 };
    await t.rows(`update users set status = 'suspended' where id = $1`, [all[1]?.id]);
    await t.rows(`update users set gateway_id = id % 2 + 3 where id in ($1, $2)`, [all[0]?.id, all[1]?.id]);
    await t.rows(`insert into gateway_copies values (15, 3, false, $1, 1)`, [JSON.stringify(gateway)]);
    expect(await listed({ status: [2] })).toEqual([1]);
    expect(await listed({ status: [0] })).toEqual([4, 3, 2, 0]);
    expect(await listed({ status: [2, 0] })).toEqual([4, 3, 2, 1, 0]);
    expect(await listed({ status: [1] })).toEqual([]);
    expect(await listed({ gatewayIds: [3, 4] })).toEqual([1, 0]);
    const { userAccounts } = await t.done(listUsers, { page: 0, count: 20, gatewayIds: '3' });
    expect(userAccounts).toMatchObject([{ gatewayId: 3, gateway }]);
  });

  it('does not filter by what is blank', async () => {
    const blank = { userId: 0, email: '', searchKey: '', externalUserId: '', subscriptionId: '', createTimeEnd: 0 };
    const none = { status: [], gatewayIds: [], planIds: [], subStatus: [], deleteInclude: true };
    expect(await listed({ ...blank, ...none, sortField: '', sortType: '' })).toEqual([4, 3, 2, 1, 0]);
  });

  it('is sorted as asked, page by page', async () => {
    expect(await listed({ sortField: 'createTime', sortType: 'asc' })).toEqual([0, 1, 2, 3, 4]);
    const pages = await Promise.all([0, 1, 2].map(page => t.done(listUsers, { sortType: 'asc', page, count: 2 })));
    expect(pages.map(({ total }) => total)).toEqual([5, 5, 5]);
    expect(pages.flatMap(({ userAccounts }) => userAccounts.map(({ id }) => id))).toEqual(all.map(({ id }) => id));
    expect(await t.call(listUsers, { sortField: 'passwordHash' })).toMatchObject({ slug: 'invalid_parameters' });
    expect(await t.call(listUsers, { page: 100, count: 100 })).toMatchObject({ issues: [{ path: '/page' }] });
  });
});

describe('user/search', () => {
  it('answers the newest that fit, and all the newest without a key', async () => {
    expect(await search('example')).toEqual(['zoe@example.com', 'grace@example.com', 'Ada@Example.com']);
    expect(await search(String(all[3]?.id))).toContain('100%_sure@other.org');
    expect(await search('nobody at all')).toEqual([]);
    expect(await search()).toHaveLength(5);
    expect(await search('', 16)).toEqual(['ada@example.com']);
  });

  it('answers the newest 100 also where more fit than a search finds', async () => {
    const many = (from: number, count: number, email: string, company: string) =>
      t.rows(
        `insert into users (merchant_id, id, email, email_key, external_user_id, first_name, last_name, phone, address,
           language, status, type, billing_type, gateway_id, profile, create_time, version)
         select 18, n, $1 || n, n, 'e' || n, 'Jo', 'Lu', '', '', '', 'active', 1, 1, 0,
           jsonb_build_object('companyName', $2::text), n, 1 from generate_series($3::integer, $3::integer + $4 - 1) n`,
        [email, company, from, count],
      );
    await many(1_000_000, 10_500, 'Many', 'Wide Co');
    const last = (word: string, to: number) => Array.from({ length: 100 }, (_, at) => `${word}${to - at}`);
    for (const key of ['many', 'jo lu', 'wide co']) expect(await search(key, 18)).toEqual(last('Many', 1_010_499));
    expect(await search('jo lu x', 18)).toEqual([]);
    // makes them older than the newest users scanned first
    await many(1_020_000, 10_000, 'New', 'Narrow');
    for (const key of ['many', 'wide co']) expect(await search(key, 18)).toEqual(last('Many', 1_010_499));
    expect(await search('jo lu', 18)).toEqual(last('New', 1_029_999));
    expect(await t.call(listUsers, { searchKey: 'many' }, { merchantId: 18 })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/searchKey' }],
    });
  });
});
