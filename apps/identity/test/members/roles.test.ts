import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteRole, editRole, grantOf, listRoles, newRole, updateMemberRole } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';
import { type Company, newCompany } from '../company.js';

let t: TestService;
let company: Company;
const clock = new MovableClock();
beforeAll(async () => {
  t = await testService(identity, { clock });
});
afterAll(() => t.close());
beforeEach(async () => {
  company = await newCompany(t);
  await t.emitted();
});

const read = [{ group: 'plan', permissions: ['read'] }];
const write = [{ group: 'plan', permissions: ['write'] }];
/** Distinct ideographs of three bytes each, which do not compress. */
const scriptOf = (length: number) =>
  String.fromCodePoint(...Array.from({ length }, (_, at) => 0x4e00 + ((at * 7_919) % 20_000)));
const list = async () => (await t.done(listRoles, {}, company.key)).merchantRoles;

describe('a role', () => {
  it('is created with its permissions in their order, each once', async () => {
    const permissions = [
      { group: 'user', permissions: ['write', 'read', 'read'] },
      { group: 'plan', permissions: ['access'] },
      { group: 'user', permissions: ['download'] },
      { group: 'invoice', permissions: [] },
    ];
    const { merchantRole } = await t.done(newRole, { role: 'Sales', permissions }, company.key);
    expect(merchantRole).toEqual({
      id: expect.any(Number),
      merchantId: company.merchantId,
      createTime: clock.now(),
      role: 'Sales',
      permissions: [
        { group: 'plan', permissions: ['access'] },
        { group: 'user', permissions: ['read', 'write', 'download'] },
      ],
    });
    const [created, logged] = await t.emitted();
    expect(created).toMatchObject({ type: 'role.created', version: 1, data: merchantRole });
    expect(logged?.data).toMatchObject({ target: `Role(${merchantRole.id})`, content: 'New' });
    expect(await t.done(listRoles, {}, company.key)).toEqual({ merchantRoles: [merchantRole], total: 1 });
  });

  it.each([
    [[{ group: 'plan', permissions: ['fly'] }], '/permissions/0/permissions/0', '"fly" is not'],
    [[...read, { group: 'planes', permissions: ['read'] }], '/permissions/1/group', '"planes" is not'],
    [[{ group: 'plan' }], '/permissions/0/permissions', 'is required'],
    [[{ group: 7, permissions: [] }], '/permissions/0/group', 'must be one of'],
    ['all', '/permissions', 'must be a list'],
  ])('has permissions that exist: %j is refused', async (permissions, path, message) => {
    const refused = await t.call(newRole, { role: 'Sales', permissions }, company.key);
    expect(refused).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path, message: expect.stringContaining(message) }],
    });
  });

  it('has a name that an index can hold, in any script', async () => {
    const named = (length: number) => t.call(newRole, { role: scriptOf(length), permissions: read }, company.key);
    expect(await named(2_000)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/role' }] });
    expect(await named(255)).toMatchObject({ ok: true });
    expect(await named(256)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/role' }] });
  });

  it('has a name of its own, whatever its case; of 64 at once one is made', async () => {
    const all = await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        t.call(newRole, { role: at % 2 ? 'sales' : 'Sales ', permissions: read }, company.key),
      ),
    );
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    expect(all.find(({ ok }) => !ok)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/role' }] });
    expect(await list()).toHaveLength(1);
    const other = await t.done(newRole, { role: 'Other', permissions: read }, company.key);
    const renamed = { id: other.merchantRole.id, role: 'SALES', permissions: read };
    expect(await t.call(editRole, renamed, company.key)).toMatchObject({ slug: 'invalid_parameters' });
    expect(await t.call(newRole, { role: ' ', permissions: read }, company.key)).toMatchObject({
      slug: 'invalid_parameters',
    });
  });

  it('is one of at most 100', async () => {
    for (let at = 0; at < 99; at++) await t.done(newRole, { role: `Role ${at}`, permissions: [] }, company.key);
    const two = await Promise.all(['x', 'y'].map(role => t.call(newRole, { role, permissions: read }, company.key)));
    expect(two.filter(({ ok }) => ok)).toHaveLength(1);
    expect(two.find(({ ok }) => !ok)).toMatchObject({ slug: 'too_many_roles' });
    expect(await list()).toHaveLength(100);
  });
});

describe('an edited role', () => {
  it('changes what its members may do, and gateways are told of those who are signed in', async () => {
    const [id, extra] = [await company.role('plan.read'), await company.role('user.read')];
    const [one, two, three] = [await company.invite(id, extra), await company.invite(id), await company.invite(id)];
    await company.signIn(one.memberId);
    await company.signIn(two.memberId);
    await t.emitted();
    await t.done(editRole, { id, role: 'Writers', permissions: write }, company.key);
    const [edited, changed, logged, ...more] = await t.emitted();
    expect(edited).toMatchObject({ type: 'role.updated', data: { id, role: 'Writers', permissions: write } });
    expect(logged?.data).toMatchObject({ target: `Role(${id})`, content: 'Edit' });
    expect(more).toEqual([]);
    const both = grantOf([...write, { group: 'user', permissions: ['read'] }]);
    expect(changed?.data).toMatchObject({
      members: [
        { id: one.memberId, grant: both, sessions: [{}] },
        { id: two.memberId, grant: grantOf(write), sessions: [{}] },
      ],
    });
    expect((await company.published(one.memberId))?.grant).toBe(both);
    await company.signIn(three.memberId);
    expect((await company.published(three.memberId))?.grant).toBe(grantOf(write));
  });

  it('that only changes its name tells gateways nothing; without a change nothing happens', async () => {
    const id = await company.role('plan.read');
    await company.signIn((await company.invite(id)).memberId);
    await t.emitted();
    await t.done(editRole, { id, role: 'Readers', permissions: read }, company.key);
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['role.updated', 'operation.logged']);
    await t.done(editRole, { id, role: 'Readers', permissions: [...read, ...read] }, company.key);
    expect(await t.emitted()).toEqual([]);
  });

  it('of very many members is told in several events, and in several pages of the snapshot', async () => {
    const id = await company.role('plan.read');
    const many = 2_050;
    const first = 1_000_000;
    await t.rows(
      `insert into members (merchant_id, id, email, email_key, first_name, last_name, is_owner, role_ids, status, create_time, version)
       select $1, $2 + n, 'm' || n, 'm' || n, '', '', false, array[$3::bigint], 'active', 0, 1 from generate_series(1, $4) n`,
      [company.merchantId, first, id, many],
    );
    await t.rows(
      `insert into live_sessions select 'sid' || n || '-' || device, $1, $2 + n, 'm' || n, '', $3::bigint, $3::bigint + 86400
       from generate_series(1, $4::integer) n, generate_series(1, 2) device`,
      [company.merchantId, first, clock.now(), many],
    );
    await t.emitted();
    await t.done(editRole, { id, role: 'Many', permissions: write }, company.key);
    const changed = (await t.emitted()).filter(({ type }) => type === 'callers.changed');
    const published = changed.map(({ data }) => (data as { members: { id: number; grant: string }[] }).members);
    expect(published.map(({ length }) => length)).toEqual([1_000, 1_000, 50]);
    const version = changed[0]?.version ?? 0;
    expect(changed.map(event => event.version)).toEqual([version, version + 1, version + 2]);
    expect(published.flat().every(({ grant }) => grant === grantOf(write))).toBe(true);

    const seen: number[] = [];
    for (let after: object | null | undefined; after !== null; ) {
      const reply = await t.bus.request('cmd.identity.platform.callers', JSON.stringify({ after }), t.callerOf());
      const page = JSON.parse(reply.bytes.toString()) as {
        members: { id: number; sessions: object[] }[];
        next: object;
      };
      expect(page.members.length).toBeLessThanOrEqual(1_000);
      expect(page.members.filter(({ id: member, sessions }) => member > first && sessions.length !== 2)).toEqual([]);
      seen.push(...page.members.map(({ id: member }) => member));
      after = page.next;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter(member => member > first)).toHaveLength(many);
    await t.rows('delete from live_sessions where merchant_id = $1', [company.merchantId]);
  });

  it('that races with logins, other roles and changes of members leaves gateways with what each may do', async () => {
    const [one, two] = [await company.role('plan.read'), await company.role('user.read')];
    const invited = await Promise.all(Array.from({ length: 8 }, () => company.invite(one, two)));
    const edit = (id: number, group: string, action: string) =>
      t.done(
        editRole,
        { id, role: `Role ${id} ${group}`, permissions: [{ group, permissions: [action] }] },
        company.key,
      );
    await Promise.all([
      ...invited.map(({ memberId }) => company.signIn(memberId)),
      edit(one, 'plan', 'write'),
      edit(two, 'user', 'write'),
      t.done(updateMemberRole, { memberId: invited[0]?.memberId ?? 0, roleIds: [one] }, company.key),
    ]);
    const both = grantOf([...write, { group: 'user', permissions: ['write'] }]);
    const grants = await Promise.all(invited.map(async ({ memberId }) => (await company.published(memberId))?.grant));
    expect(grants).toEqual([grantOf(write), ...Array.from({ length: 7 }, () => both)]);
  });
});

describe('a deleted role', () => {
  it("must be nobody's; then its name is free again, and it is not found", async () => {
    const { merchantRole } = await t.done(newRole, { role: 'Sales', permissions: read }, company.key);
    const { id } = merchantRole;
    const { memberId } = await company.invite(id);
    await company.invite(id);
    await t.emitted();
    expect(await t.call(deleteRole, { id }, company.key)).toMatchObject({
      slug: 'role_in_use',
      message: '2 members have this role: remove it from them first',
    });
    await company.invite();
    await t.rows('update members set role_ids = $1 where role_ids <> $1 and id <> $2', ['{}', memberId]);
    expect(await t.call(deleteRole, { id }, company.key)).toMatchObject({
      message: expect.stringContaining('1 member has'),
    });
    await t.done(updateMemberRole, { memberId, roleIds: [] }, company.key);
    await t.emitted();
    await t.done(deleteRole, { id }, company.key);
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['role.deleted', 'operation.logged']);
    expect(await list()).toEqual([]);
    for (const operation of [deleteRole, editRole]) {
      const gone = await t.call(operation, { id, role: 'Sales', permissions: read }, company.key);
      expect(gone).toMatchObject({ slug: 'role_not_found' });
    }
    expect(await t.call(updateMemberRole, { memberId, roleIds: [id] }, company.key)).toMatchObject({
      slug: 'role_not_found',
    });
    expect((await t.call(newRole, { role: 'sales', permissions: read }, company.key)).ok).toBe(true);
  });

  it('is not given to a member at the same time', async () => {
    const id = await company.role('plan.read');
    const { memberId } = await company.invite();
    const [deleted, given] = await Promise.all([
      t.call(deleteRole, { id }, company.key),
      t.call(updateMemberRole, { memberId, roleIds: [id] }, company.key),
    ]);
    expect([deleted.ok, given.ok].sort()).toEqual([false, true]);
  });
});

it("another merchant's role is one that does not exist", async () => {
  const other = await newCompany(t);
  const theirs = await other.role('plan.read');
  await t.emitted();
  for (const operation of [editRole, deleteRole]) {
    const [their, unknown] = await Promise.all(
      [theirs, 999_999].map(id => t.call(operation, { id, role: 'Mine', permissions: read }, company.key)),
    );
    expect(their).toMatchObject({ slug: 'role_not_found' });
    expect(their).toEqual(unknown);
  }
  expect(await list()).toEqual([]);
  expect(await t.emitted()).toEqual([]);
});
