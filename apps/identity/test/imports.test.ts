import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ImportRow, importUsers, listUsers, newUser, type Out } from '@recur/contracts';
import { ask } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../src/service.js';

type Row = ImportRow<'UserImport'>;

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const take = (rows: readonly Row[], { dry = false, merchantId = 15 } = {}): Promise<Out<typeof importUsers>> => {
  const asked = { task: 7, dry, rows: rows.map((fields, at) => ({ row: at + 2, fields })) };
  return ask(t.bus, importUsers, asked, t.callerOf({ merchantId }));
};
const isOfUser = (type: string) => type.startsWith('user.');
const all = async () => (await t.done(listUsers, { count: 1_000 })).userAccounts;
const byEmail = async (email: string) => (await all()).find(user => user.email === email);

describe('users of a file', () => {
  it('are added, and those who are there are updated by the cells that are filled', async () => {
    const { user } = await t.done(newUser, { email: 'Ada@example.com', firstName: 'Ada', phone: '1', city: 'London' });
    const rows: Row[] = [
      { Email: 'ada@EXAMPLE.com', ExternalUserId: 'x-1', LastName: 'Lovelace', Phone: '2' },
      { Email: 'grace@example.com', FirstName: 'Grace', CountryCode: 'US', Type: 'Business', CompanyName: 'Navy' },
    ];
    const { issues, results } = await take(rows);
    expect(issues).toEqual([]);
    expect(results).toEqual([
      { row: 2, userId: user.id, isNew: false },
      { row: 3, userId: expect.any(Number), isNew: true },
    ]);
    expect(await byEmail('Ada@example.com')).toMatchObject({
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: '2',
      city: 'London',
      externalUserId: 'x-1',
    });
    expect(await byEmail('grace@example.com')).toMatchObject({
      type: 2,
      companyName: 'Navy',
      countryCode: 'US',
      countryName: 'United States',
    });
    const events = await t.emitted();
    // asked again, as after a lost answer, nothing changes
    expect(await take(rows)).toMatchObject({ issues: [], results: [{ isNew: false }, { isNew: false }] });
    const ofUsers = (all: readonly { type: string }[]) => all.map(({ type }) => type).filter(isOfUser);
    expect(ofUsers(events)).toEqual(['user.created', 'user.updated', 'user.created']);
    expect(ofUsers(await t.emitted())).toEqual([]);
  });

  it('are of their merchant alone', async () => {
    expect((await take([{ Email: 'ada@example.com', ExternalUserId: 'x-1' }], { merchantId: 16 })).issues).toEqual([]);
    expect(await byEmail('Ada@example.com')).toMatchObject({ lastName: 'Lovelace' });
  });

  it('are only judged in a dry run', async () => {
    const before = (await all()).length;
    const { issues, results } = await take([{ Email: 'new@example.com' }, { Email: 'ada@example.com' }], { dry: true });
    expect(issues).toEqual([]);
    expect(results).toMatchObject([
      { userId: 0, isNew: true },
      { userId: expect.any(Number), isNew: false },
    ]);
    expect(await all()).toHaveLength(before);
  });

  it('are none of them taken where one cannot be, and the row names its column', async () => {
    const before = await all();
    const { issues, results } = await take([
      { Email: 'fine@example.com' },
      { Email: 'no address' },
      { Email: 'b@example.com', ExternalUserId: 'x-1', Type: 'robot' },
      { Email: 'FINE@example.com' },
      { Email: 'c@example.com', ExternalUserId: 'same' },
      { Email: 'd@example.com', ExternalUserId: 'same', CountryCode: 'x'.repeat(300) },
      { Email: 'grace@example.com', ExternalUserId: 'x-1' },
    ]);
    expect(results).toEqual([]);
    const ada = await byEmail('Ada@example.com');
    expect(issues.map(({ row, column, message }) => `${row} ${column} ${message}`)).toEqual([
      expect.stringMatching(/^3 Email must be /),
      '4 Type must be individual or business',
      '5 Email is that of row 2 too',
      '7 ExternalUserId is that of row 6 too',
      `8 ExternalUserId is that of user ${ada?.id}`,
    ]);
    expect(await all()).toEqual(before);
  });

  it('of the same file, sent by many at once, are each there once', async () => {
    const rows: Row[] = Array.from({ length: 20 }, (_, at) => ({ Email: `many${at}@example.com` }));
    const taken = await Promise.all(Array.from({ length: 8 }, () => take(rows)));
    expect(taken.flatMap(({ issues }) => issues)).toEqual([]);
    const ids = new Set(taken.map(({ results }) => JSON.stringify(results.map(({ userId }) => userId))));
    expect(ids.size).toBe(1);
    expect((await all()).filter(({ email }) => email.startsWith('many'))).toHaveLength(20);
  });

  it('are an entry of the operation log', async () => {
    await t.emitted();
    await take([{ Email: 'logged@example.com' }]);
    const entries = (await t.emitted()).filter(({ type }) => type === 'operation.logged');
    expect(entries.map(({ data }) => data)).toMatchObject([{ target: 'Import(7)', content: 'Users: 1' }]);
  });
});
