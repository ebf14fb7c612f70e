import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  grantOf,
  inviteMember,
  listMembers,
  newAuthProvider,
  passwordSetup,
  resumeMember,
  suspendMember,
  updateMemberRole,
} from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { MemberSessions } from '../../src/member-sessions/member-sessions.js';
import { SetupTokens } from '../../src/members/setup-tokens.js';
import { identity } from '../../src/service.js';
import { link } from '../../src/sign-in/oauth-accounts.js';
import { deploymentProvider } from '../../src/sign-in/provider-keys.js';
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

const typesAndContents = async () =>
  (await t.emitted()).map(({ type, data }) =>
    type === 'operation.logged' ? (data as { content: string }).content : type,
  );
const redeem = async (id: number, token: string) =>
  (await company.withMember(id, async tx => ({ taken: await t.app.get(SetupTokens).redeem(tx, id, token) }))).taken;

describe('an invitation', () => {
  it('makes a member with its roles, whose token is shown this once', async () => {
    const role = await company.role('plan.read');
    await t.emitted();
    const input = { email: 'Eve@Example.com', firstName: 'Eve', roleIds: [role, role] };
    const { memberId, setupToken, setupTokenExpireTime } = await t.done(inviteMember, input, company.key);
    expect(setupToken).toMatch(/^[\w-]{43}$/);
    expect(setupTokenExpireTime).toBe(clock.now() + 259_200);
    const [created, logged] = await t.emitted();
    expect(created).toMatchObject({ type: 'member.created', version: 1, aggregateId: String(memberId) });
    expect(created?.data).toEqual({
      id: memberId,
      merchantId: company.merchantId,
      email: 'Eve@Example.com',
      firstName: 'Eve',
      lastName: '',
      mobile: '',
      isOwner: false,
      roleIds: [role],
      status: 0,
      totpType: 0,
      createTime: clock.now(),
    });
    expect(logged?.data).toMatchObject({ target: `Member(${memberId})`, content: 'Invite' });
    const { merchantMembers } = await t.done(listMembers, { email: 'eve@' }, company.key);
    expect(merchantMembers).toMatchObject([
      {
        id: memberId,
        isOwner: false,
        isBlankPasswd: true,
        deviceList: [],
        currentDeviceIdentity: '',
        oauthAccounts: [],
      },
    ]);
    expect(merchantMembers[0]?.MemberRoles).toMatchObject([
      { id: role, permissions: [{ group: 'plan', permissions: ['read'] }] },
    ]);
    expect(merchantMembers[0]?.MemberGroupPermission).toEqual({ plan: { group: 'plan', permissions: ['read'] } });
    const everything = await t.rows('select t::text from outbox t union all select t::text from setup_tokens t');
    expect(JSON.stringify(everything)).not.toContain(setupToken);
  });

  it('is not for the owner who has signed in, whom an API key may invite before', async () => {
    const { email = '' } = (await t.done(listMembers, {}, company.key)).merchantMembers[0] ?? {};
    const invite = () => t.call(inviteMember, { email, roleIds: [] }, company.key);
    expect(await invite()).toMatchObject({ ok: true });
    await t.rows('delete from setup_tokens where member_id = $1', [company.ownerId]);
    const settings = { issuer: 'https://idp.example.com', audience: 'x', secret: 's'.repeat(32) };
    const source = deploymentProvider(newAuthProvider.input.parse(settings));
    const identity = { issuer: source.issuer, subject: 'owner', provider: 'idp', source };
    await company.withMember(company.ownerId, tx =>
      link(tx, company.ownerId, { ...identity, email, emailVerified: true, name: '', image: '' }),
    );
    expect(await invite()).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/email' }] });
  });

  it('again, for one who was not set up, gives it a new token, and the roles and names of now', async () => {
    const [one, two] = [await company.role('plan.read'), await company.role('plan.write')];
    const email = 'again@example.com';
    const first = await t.done(inviteMember, { email, firstName: 'Ann', lastName: 'Lee', roleIds: [one] }, company.key);
    await t.emitted();
    const second = await t.done(
      inviteMember,
      { email: 'AGAIN@example.com', firstName: 'Anne', roleIds: [two] },
      company.key,
    );
    expect(second.memberId).toBe(first.memberId);
    expect(await typesAndContents()).toEqual(['member.updated', 'Invite']);
    const { merchantMembers } = await t.done(listMembers, { email }, company.key);
    expect(merchantMembers).toMatchObject([{ firstName: 'Anne', lastName: 'Lee', MemberRoles: [{ id: two }] }]);
    expect(await redeem(first.memberId, first.setupToken)).toBe(false);
    const setup = { email, setupToken: second.setupToken, newPassword: 'correct horse' };
    await t.done(passwordSetup, setup, { merchantId: 0 });
    expect(await t.call(inviteMember, { email, roleIds: [] }, company.key)).toMatchObject({
      ok: false,
      slug: 'invalid_parameters',
      issues: [{ path: '/email', message: 'A member with this e-mail exists already' }],
    });
  });

  it('is how an owner who was made by an operator sets itself up; it keeps everything', async () => {
    const [owner] = await t.rows('select email from members where id = $1', [company.ownerId]);
    const input = { email: String(owner?.email), roleIds: [] };
    // a member who may invite the owner could sign in as it
    const actor = { kind: 'member', id: String(company.ownerId + 1), display: 'ada@example.com' } as const;
    const asMember = await t.call(inviteMember, input, { ...company.key, actor });
    expect(asMember).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/email' }] });
    const { memberId, setupToken } = await t.done(inviteMember, input, company.key);
    expect(memberId).toBe(company.ownerId);
    expect(await redeem(memberId, setupToken)).toBe(true);
  });

  it('of one e-mail 64 times at once makes one member, of whom one token holds', async () => {
    const input = { email: 'Many@example.com', roleIds: [] };
    const all = await Promise.all(Array.from({ length: 64 }, () => t.call(inviteMember, input, company.key)));
    const made = all.flatMap(result => (result.ok ? [result.data] : []));
    const refused = all.flatMap(result => (result.ok ? [] : [result.slug]));
    expect(refused).toEqual([]);
    expect(new Set(made.map(({ memberId }) => memberId)).size).toBe(1);
    expect(await t.rows(`select 1 from members where email_key = 'many@example.com'`)).toHaveLength(1);
    const taken = [];
    for (const { memberId, setupToken } of made) taken.push(await redeem(memberId, setupToken));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  it("takes another merchant's e-mail, and refuses its roles as ones that do not exist", async () => {
    const other = await newCompany(t);
    const theirs = await other.role('plan.read');
    await t.done(inviteMember, { email: 'theirs@example.com', roleIds: [] }, other.key);
    expect(await t.call(inviteMember, { email: 'Theirs@example.com', roleIds: [] }, company.key)).toMatchObject({
      ok: true,
    });
    await t.emitted();
    const refused = [];
    for (const id of [theirs, 999_999]) {
      refused.push(await t.call(inviteMember, { email: 'new@example.com', roleIds: [id] }, company.key));
    }
    expect(refused[0]).toEqual(refused[1]);
    expect(refused[0]).toMatchObject({ slug: 'role_not_found' });
    expect(await t.emitted()).toEqual([]);
  });

  it('with an Idempotency-Key answers the same token again', async () => {
    const input = { email: 'keyed@example.com', roleIds: [] };
    const caller = { ...company.key, idempotencyKey: 'k' };
    const first = await t.done(inviteMember, input, caller);
    expect(await t.call(inviteMember, input, caller)).toMatchObject({ data: first, replayOf: expect.any(String) });
    const [stored] = await t.rows(`select form, answer from idempotency where key = 'k'`);
    expect(stored?.form).toBe('sealed');
    expect(stored?.answer).not.toContain(first.setupToken);
  });
});

describe('a list of members', () => {
  it('is newest first, and filtered by part of an e-mail, part of a name, role and time', async () => {
    const role = await company.role('plan.read');
    clock.advance(10);
    const since = clock.now();
    for (const [email, firstName, lastName, roleIds] of [
      ['a@one.example', 'Ada', 'King', [role]],
      ['b@two.example', 'Bob', 'Stone', []],
    ] as const) {
      await t.done(
        inviteMember,
        { email: `${company.merchantId}-${email}`, firstName, lastName, roleIds: [...roleIds] },
        company.key,
      );
    }
    const names = async (filter: object) =>
      (await t.done(listMembers, filter, company.key)).merchantMembers.map(({ firstName }) => firstName);
    expect(await names({})).toEqual(['Bob', 'Ada', '']);
    expect(await names({ email: 'ONE.ex' })).toEqual(['Ada']);
    expect(await names({ searchKey: 'da ki' })).toEqual(['Ada']);
    expect(await names({ searchKey: 'two.example' })).toEqual(['Bob']);
    expect(await names({ searchKey: '%' })).toEqual([]);
    expect(await names({ roleIds: [role, 999] })).toEqual(['Ada']);
    expect(await names({ createTimeStart: since })).toEqual(['Bob', 'Ada']);
    expect(await names({ createTimeEnd: since - 1 })).toEqual(['']);
    const page = await t.done(listMembers, { page: 1, count: 1 }, company.key);
    expect([page.total, page.merchantMembers.map(({ firstName }) => firstName)]).toEqual([3, ['Ada']]);
  });

  it('shows nobody of another merchant', async () => {
    const other = await newCompany(t);
    const { merchantMembers } = await t.done(listMembers, {}, other.key);
    expect(merchantMembers.map(({ id }) => id)).toEqual([other.ownerId]);
  });
});

describe('the roles of a member', () => {
  it('are replaced, and gateways are told what it may do now', async () => {
    const [one, two] = [await company.role('plan.read'), await company.role('invoice.write', 'plan.read')];
    const { memberId } = await company.invite(one);
    await company.signIn(memberId);
    expect((await company.published(memberId))?.grant).toBe(grantOf([{ group: 'plan', permissions: ['read'] }]));
    await t.emitted();
    await t.done(updateMemberRole, { memberId, roleIds: [two, one] }, company.key);
    expect(await typesAndContents()).toEqual(['member.updated', 'callers.changed', 'UpdateRole']);
    expect((await company.published(memberId))?.grant).toBe(
      grantOf([
        { group: 'plan', permissions: ['read'] },
        { group: 'invoice', permissions: ['write'] },
      ]),
    );
    await t.done(updateMemberRole, { memberId, roleIds: [one, two, one] }, company.key);
    expect(await t.emitted()).toEqual([]);
    await t.done(updateMemberRole, { memberId, roleIds: [two] }, company.key);
    expect(await typesAndContents()).toEqual(['member.updated', 'UpdateRole']);
  });

  it('are not those of the owner, and not of a merchant next door', async () => {
    const other = await newCompany(t);
    const [own, theirs] = [await company.role('plan.read'), await other.role('plan.read')];
    const { memberId } = await company.invite();
    const foreign = await other.invite();
    const ask = (member: number, ...roleIds: number[]) =>
      t.call(updateMemberRole, { memberId: member, roleIds }, company.key);
    expect(await ask(company.ownerId, own)).toMatchObject({ slug: 'owner_protected' });
    expect(await ask(foreign.memberId, own)).toEqual(await ask(999_999, own));
    expect(await ask(foreign.memberId, own)).toMatchObject({ slug: 'member_not_found' });
    expect(await ask(memberId, theirs)).toEqual(await ask(memberId, 999_999));
    expect(await ask(memberId, own, theirs)).toMatchObject({ slug: 'role_not_found' });
  });
});

describe('suspension', () => {
  it('ends all sessions; resuming lets it sign in again; each once', async () => {
    const { memberId } = await company.invite();
    await company.signIn(memberId);
    await company.signIn(memberId, { name: 'Safari', ip: '192.0.2.2' });
    await t.emitted();
    await t.done(suspendMember, { memberId }, company.key);
    const events = await t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['member.updated', 'callers.changed', 'operation.logged']);
    expect(events[0]?.data).toMatchObject({ id: memberId, status: 2 });
    expect(events[1]?.data).toMatchObject({ members: [{ id: memberId, sessions: [] }] });
    expect(await company.published(memberId)).toBeUndefined();
    const { merchantMembers } = await t.done(listMembers, {}, company.key);
    const member = merchantMembers.find(({ id }) => id === memberId);
    expect(member?.deviceList.map(({ status }) => status)).toEqual([false, false]);
    await t.done(suspendMember, { memberId }, company.key);
    expect(await t.emitted()).toEqual([]);
    await t.done(resumeMember, { memberId }, company.key);
    expect(await typesAndContents()).toEqual(['member.updated', 'Resume']);
    await t.done(resumeMember, { memberId }, company.key);
    expect(await t.emitted()).toEqual([]);
  });

  it('is not for the owner, not by oneself, and not across merchants', async () => {
    const other = await newCompany(t);
    const { memberId } = await company.invite(await company.role('admin.write'));
    const { caller } = await company.signIn(memberId);
    const owned = { memberId: company.ownerId };
    expect(await t.call(suspendMember, owned, company.key)).toMatchObject({ slug: 'owner_protected' });
    expect(await t.call(suspendMember, { memberId }, caller)).toMatchObject({ slug: 'self_suspension' });
    for (const operation of [suspendMember, resumeMember]) {
      const theirs = await t.call(operation, { memberId: other.ownerId }, company.key);
      expect(theirs).toMatchObject({ slug: 'member_not_found' });
      expect(theirs).toEqual(await t.call(operation, { memberId: 999_999 }, company.key));
    }
  });

  it('that races with logins leaves no session', async () => {
    const { memberId } = await company.invite();
    const device = (at: number) => ({ name: 'Firefox', ip: `192.0.2.${at}` });
    const logins = Array.from({ length: 16 }, (_, at) =>
      company.withMember(memberId, async (tx, member) => {
        if (member.status === 'suspended') return {};
        return t.app.get(MemberSessions).open(tx, member, { device: device(at), totpVerified: false });
      }),
    );
    await Promise.all([...logins, t.done(suspendMember, { memberId }, company.key)]);
    expect(await company.published(memberId)).toBeUndefined();
    expect(await t.rows('select 1 from live_sessions where member_id = $1', [memberId])).toEqual([]);
  });
});
