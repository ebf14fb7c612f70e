import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Actor,
  emptyOf,
  MemberShort,
  newUser,
  type OperationLogged,
  operationLogList,
  services,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';
import { logged } from './log-scene.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const entries = (merchantId = 15) =>
  t.rows('select * from operation_logs where merchant_id = $1 order by id', [merchantId]);

describe('the operation log', () => {
  it('keeps who did what, to which target, and when', async () => {
    const member: Actor = { kind: 'member', id: '7', display: 'ada@example.com' };
    const ids = { userId: 3, planId: 4, invoiceId: 'in_1', subscriptionId: 'sub_1', discountCode: 'TEN' };
    const events = [logged({ ids }), logged({ actor: member, target: 'Plan(4)', content: 'Activate' })];
    await t.deliver('billing', events);
    const empty = { user_id: '0', plan_id: '0', invoice_id: '', subscription_id: '', discount_code: '' };
    expect(await entries()).toMatchObject([
      {
        create_time: String(events[0]?.at),
        opt_account_type: 2,
        opt_account_id: 'hash',
        opt_account: 'key_...123456',
        member_id: '0',
        opt_target: 'Invoice(in_1)',
        opt_content: 'New',
        user_id: '3',
        plan_id: '4',
        invoice_id: 'in_1',
        subscription_id: 'sub_1',
        discount_code: 'TEN',
      },
      {
        ...empty,
        create_time: String(events[1]?.at),
        opt_account_type: 0,
        opt_account_id: '7',
        opt_account: 'ada@example.com',
        member_id: '7',
        opt_target: 'Plan(4)',
        opt_content: 'Activate',
      },
    ]);
  });

  it('takes each event once, however often and in whatever order it comes', async () => {
    const events = Array.from({ length: 20 }, () => logged({}, 16));
    await t.deliver('catalog', [...[...events, ...events].reverse(), ...events]);
    const [consumer] = t.consumers.filter(({ what }) => what.name === 'identity-log-catalog');
    const together = Array.from({ length: 300 }, () => logged({}, 16));
    await consumer?.receive(16, [...together, ...events, ...together]);
    const rows = await entries(16);
    expect(rows).toHaveLength(320);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(320);
    expect(new Set(rows.map(row => row.create_time)).size).toBe(320);
  });

  it('hears every service, its own included, and nothing but operation.logged', async () => {
    const consumptions = t.consumers.map(({ what }) => what).filter(({ name }) => name.startsWith('identity-log-'));
    expect(consumptions.map(({ from, subject, order }) => [from, subject, order])).toEqual(
      services.map(from => [from, 'operation.logged', 'alone']),
    );
    expect(new Set(consumptions.map(({ name }) => name)).size).toBe(services.length);
    for (const from of services) await t.deliver(from, [logged({}, 17)]);
    expect(await entries(17)).toHaveLength(services.length);
    await t.emitted();
    const { user } = await t.done(newUser, { email: 'logged@example.com' }, { merchantId: 18 });
    await t.deliver('identity', await t.emitted());
    expect(await entries(18)).toMatchObject([
      { opt_target: `User(${user.id})`, opt_content: 'New', user_id: String(user.id) },
    ]);
  });

  it('emits nothing of its own', async () => {
    await t.emitted();
    await t.deliver('billing', [logged({}, 19)]);
    expect(await t.emitted()).toEqual([]);
  });

  it('is read by its merchant only', async () => {
    const seen = await t.db.read(t.callerOf({ merchantId: 16 }), reader =>
      reader.query('select distinct merchant_id from operation_logs', []),
    );
    expect(seen).toEqual([{ merchant_id: '16' }]);
  });
});

describe('member/operation_log_list', () => {
  const ids = { owner: 0, grace: 0, linus: 0, ada: 0, alan: 0 };
  let merchantId = 0;
  const names = new Map<number, string>();
  const list = (filters: object, merchant = merchantId) =>
    t.done(operationLogList, { page: 0, count: 20, ...filters }, { merchantId: merchant });
  /** The targets of the matching entries, newest first, and the total. */
  async function found(filters: object, merchant = merchantId) {
    const { merchantOperationLogs, total } = await list(filters, merchant);
    expect(total).toBe(merchantOperationLogs.length);
    return merchantOperationLogs.map(({ optTarget }) => optTarget);
  }
  const by = (id: number): Actor => ({ kind: 'member', id: String(id), display: `${names.get(id)}` });
  const addMember = async (firstName: string, lastName: string, email: string) => {
    const [row] = await t.rows(
      `insert into members select $1, nextval('members_id_seq'), $4, lower($4), $2, $3, false, 'active', 1700000000, 1
       returning id`,
      [merchantId, firstName, lastName, email],
    );
    names.set(Number(row?.id), email);
    return Number(row?.id);
  };
  const addUser = async (firstName: string, lastName: string, email: string, merchant = merchantId) =>
    (await t.done(newUser, { firstName, lastName, email }, { merchantId: merchant })).user.id;

  beforeAll(async () => {
    const made = await t.app.get(Merchants).create({ name: 'Acme', email: 'Owner@acme.example' }, 'boot');
    merchantId = made.merchantId;
    ids.owner = made.memberId;
    ids.grace = await addMember('Grace', 'Hopper', 'grace@acme.example');
    ids.linus = await addMember('Linus', '100%_sure', 'linus@else.example');
    ids.ada = await addUser('Ada', 'Lovelace', 'ada@math.example');
    ids.alan = await addUser('Alan', 'Turing', 'alan@math.example');
    const other = await addUser('Ada', 'Elsewhere', 'ada@math.example', 77);
    const entry = (target: string, data: Partial<OperationLogged>, merchant = merchantId) =>
      logged({ target, ...data }, merchant);
    const { ada, alan } = ids;
    await t.deliver('billing', [
      entry('one', { actor: by(ids.owner), ids: { userId: ada, invoiceId: 'in_1' } }),
      entry('two', { actor: by(ids.grace), ids: { userId: alan, subscriptionId: 'sub_1', planId: 4 } }),
      entry('three', { ids: { userId: ada, invoiceId: 'in_2', subscriptionId: 'sub_1' } }),
      entry('four', { actor: by(ids.grace), ids: { userId: ada, discountCode: 'TEN' } }),
      entry('five', { actor: by(ids.linus), ids: { planId: 4 } }),
      entry('theirs', { ids: { userId: other, invoiceId: 'in_1', planId: 4 } }, 77),
    ]);
  });

  it('shows every field of an entry, and the member who did it or null', async () => {
    const { merchantOperationLogs } = await list({ discountCode: 'TEN' });
    const short = { ...emptyOf(MemberShort), email: 'grace@acme.example', firstName: 'Grace', lastName: 'Hopper' };
    expect(merchantOperationLogs).toEqual([
      {
        id: expect.any(Number),
        merchantId,
        createTime: expect.any(Number),
        optAccountType: 0,
        optAccountId: String(ids.grace),
        optAccount: 'grace@acme.example',
        optTarget: 'four',
        optContent: 'New',
        memberId: ids.grace,
        userId: ids.ada,
        planId: 0,
        invoiceId: '',
        subscriptionId: '',
        discountCode: 'TEN',
        member: { ...short, id: ids.grace, merchantId, createTime: 1_700_000_000 },
      },
    ]);
    const { merchantOperationLogs: ofKey } = await list({ invoiceId: 'in_2' });
    expect(ofKey).toMatchObject([{ optAccountType: 2, optAccount: 'key_...123456', memberId: 0, member: null }]);
  });

  it('finds all, the newest first; a filter that is blank or 0 does not filter', async () => {
    const all = ['five', 'four', 'three', 'two', 'one'];
    expect(await found({})).toEqual(all);
    const blank = { memberFirstName: '', memberLastName: '', memberEmail: '', firstName: '', lastName: '', email: '' };
    expect(await found({ ...blank, subscriptionId: '', invoiceId: '', planId: 0, discountCode: '' })).toEqual(all);
  });

  it.each([
    [{ memberFirstName: 'rAc' }, ['four', 'two']],
    [{ memberLastName: 'HOPPER' }, ['four', 'two']],
    [{ memberLastName: '%_' }, ['five']],
    [{ memberEmail: 'acme' }, ['four', 'two', 'one']],
    [{ memberEmail: 'acme', memberFirstName: 'g' }, ['four', 'two']],
    [{ firstName: 'ADA' }, ['four', 'three', 'one']],
    [{ lastName: 'turin' }, ['two']],
    [{ email: '@MATH' }, ['four', 'three', 'two', 'one']],
    [{ subscriptionId: 'sub_1' }, ['three', 'two']],
    [{ invoiceId: 'in_1' }, ['one']],
    [{ planId: 4 }, ['five', 'two']],
    [{ planId: '4' }, ['five', 'two']],
    [{ discountCode: 'TEN' }, ['four']],
    [{ memberFirstName: 'grace', firstName: 'ada' }, ['four']],
    [{ memberEmail: 'acme', email: 'math', subscriptionId: 'sub_1' }, ['two']],
    [{ firstName: 'ada', invoiceId: 'in_2', subscriptionId: 'sub_1' }, ['three']],
  ])('finds by %j', async (filters, targets) => {
    expect(await found(filters)).toEqual(targets);
  });

  it.each([
    [{ memberFirstName: 'nobody' }],
    [{ email: 'nobody' }],
    [{ memberFirstName: 'grace', email: 'nobody' }],
    [{ memberFirstName: 'nobody', planId: 4 }],
    [{ memberFirstName: 'linus', firstName: 'ada' }],
    [{ subscriptionId: 'sub_' }],
    [{ invoiceId: 'IN_1' }],
    [{ planId: 5 }],
    [{ discountCode: 'ten' }],
  ])('finds nothing by %j', async filters => {
    expect(await list(filters)).toEqual({ merchantOperationLogs: [], total: 0 });
  });

  it("finds no entry of another merchant, nor by another merchant's names", async () => {
    expect(await found({ firstName: 'ada' }, 77)).toEqual(['theirs']);
    expect(await found({ invoiceId: 'in_1' }, 77)).toEqual(['theirs']);
    expect(await found({ lastName: 'elsewhere' })).toEqual([]);
    expect(await found({ memberFirstName: 'grace' }, 77)).toEqual([]);
  });

  it('finds by the names of today', async () => {
    await t.rows(`update members set last_name = 'Murray' where id = $1`, [ids.grace]);
    expect(await found({ memberLastName: 'murray' })).toEqual(['four', 'two']);
    expect(await found({ memberLastName: 'hopper' })).toEqual([]);
  });

  it('shows each entry on one page, whatever the filter, also of those of one second', async () => {
    const many = await addUser('Many', 'Entries', 'many@example.com');
    const grace = by(ids.grace);
    const at = 1_800_000_000;
    const events = Array.from({ length: 45 }, (_, n) => ({
      ...logged({ actor: grace, target: `${n}`, ids: { userId: many, planId: 9 } }, merchantId),
      at: at + Math.floor(n / 10),
    }));
    await t.deliver('catalog', events);
    for (const filter of [
      {},
      { planId: 9 },
      { firstName: 'many' },
      { memberEmail: 'acme' },
      { memberFirstName: 'gr' },
    ]) {
      const pages = await Promise.all([0, 1, 2].map(page => list({ ...filter, page, count: 15 })));
      const shown = pages.flatMap(({ merchantOperationLogs }) => merchantOperationLogs);
      expect(new Set(shown.map(({ id }) => id)).size).toBe(45);
      const newestFirst = [...shown].sort((a, b) => b.createTime - a.createTime || b.id - a.id);
      expect(shown).toEqual(newestFirst);
      expect(new Set(shown.map(({ optTarget }) => optTarget)).size).toBe(45);
    }
  });

  it('refuses a page that is too deep or too large', async () => {
    const refused = async (paging: object) => {
      const result = await t.call(operationLogList, paging, { merchantId });
      return result.ok ? [] : result.issues.map(({ path }) => path);
    };
    expect(await refused({ page: 100, count: 100 })).toEqual(['/page']);
    expect(await refused({ page: -1, count: 1_001 })).toEqual(['/page', '/count']);
    expect((await t.call(operationLogList, { page: 99, count: 100 }, { merchantId })).ok).toBe(true);
  });
});
