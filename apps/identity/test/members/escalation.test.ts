import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  allows,
  anyMember,
  anyUser,
  deleteAuthProvider,
  deleteRole,
  editAuthProvider,
  editRole,
  everything,
  grantOf,
  inviteMember,
  newApiKey,
  newAuthProvider,
  newRole,
  type Operation,
  oauthLogin,
  oauthSetup,
  operations,
  type Permission,
  passwordSetup,
  permissionActions,
  permissionGroups,
  updateMemberRole,
  updateOauth,
} from '@recur/contracts';
import { MovableClock, type TestCaller, type TestService, testService } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import { identity } from '../../src/service.js';
import { byGroup, type Company, newCompany } from '../company.js';
import { hmac, signed } from '../issuers.js';

const clock = new MovableClock();
const secret = 'a-shared-secret-of-32-characters';
const issuer = 'https://idp.example.com';
const audience = 'portal';

let t: TestService;
let company: Company;
beforeAll(async () => {
  t = await testService(identity, { clock });
});
afterAll(() => t.close());
beforeEach(async () => {
  company = await newCompany(t);
});

/** A token of the provider, signed with its shared secret. */
const tokenOf = (email: string, key = secret, sub = email) =>
  signed(
    { alg: 'HS256' },
    { iss: issuer, aud: audience, sub, email, iat: clock.now(), exp: clock.now() + 300 },
    hmac(key),
  );
const sender = (identityToken: string) => ({ ip: '192.0.2.1', userAgent: 'Firefox', identityToken });
const login = (email: string, token = tokenOf(email)) =>
  t.call(oauthLogin, { email }, { merchantId: company.merchantId, sender: sender(token) });
const emailOf = async (id: number) => String((await t.rows('select email from members where id = $1', [id]))[0]?.email);
const all: Permission[] = permissionGroups.flatMap(group =>
  permissionActions.map((action): Permission => `${group}.${action}`),
);

/** A set-up member with a password and these permissions, signed in. */
async function member(...permissions: Permission[]) {
  const roleId = await company.role(...permissions);
  const { memberId, setupToken } = await company.invite(roleId);
  const email = await emailOf(memberId);
  await t.done(passwordSetup, { email, setupToken, newPassword: 'correct horse' }, { merchantId: 0 });
  const { caller } = await company.signIn(memberId);
  return { memberId, email, roleId, caller };
}
type Attacker = Awaited<ReturnType<typeof member>>;

/** Calls as the gateway lets a member with these permissions: refused where the operation needs another one. */
async function tryAs(attacker: Attacker, operation: Operation, input: object, more: TestCaller = {}) {
  const grant = await grantNow(attacker.memberId);
  if (!allows(grant, operation.permission)) return { ok: false as const, slug: 'permission_denied' };
  return t.call(operation, input, { ...attacker.caller, ...more });
}

/** The grant of a member by its roles. */
async function grantNow(id: number): Promise<string> {
  const [row] = await t.rows('select is_owner, role_ids from members where id = $1', [id]);
  if (row?.is_owner) return everything;
  const roles = await t.rows('select permissions from roles where id = any($1)', [row?.role_ids]);
  return grantOf(roles.flatMap(role => role.permissions as { group: string; permissions: string[] }[]));
}

/** The grant that a successful sign-in answers; '' for a refused one. */
const grantIn = async (result: { ok: boolean }) =>
  result.ok ? grantNow(Number(decodeJwt((result as unknown as { data: { token: string } }).data.token).sub)) : '';

/** Members worth becoming: the owner, not linked yet, and one that may do everything that roles can permit. */
async function victims() {
  const [ownerEmail, full] = await Promise.all([emailOf(company.ownerId), member(...all)]);
  return { ownerEmail, full };
}

/** The grants that an attacker can act with after it has tried each operation. */
const attempts: Record<string, (attacker: Attacker) => Promise<string[]>> = {
  'role.new': async attacker => {
    const made = await tryAs(attacker, newRole, { role: 'Mine', permissions: byGroup(all) });
    const id = made.ok ? (made.data as { merchantRole: { id: number } }).merchantRole.id : 0;
    await tryAs(attacker, updateMemberRole, { memberId: attacker.memberId, roleIds: [id] });
    return [await grantNow(attacker.memberId)];
  },
  'role.edit': async attacker => {
    await tryAs(attacker, editRole, { id: attacker.roleId, role: 'Mine', permissions: byGroup(all) });
    return [await grantNow(attacker.memberId)];
  },
  'role.delete': async attacker => {
    await tryAs(attacker, deleteRole, { id: attacker.roleId });
    return [await grantNow(attacker.memberId)];
  },
  'member.update_role': async attacker => {
    const roleId = await company.role(...all);
    await tryAs(attacker, updateMemberRole, { memberId: attacker.memberId, roleIds: [roleId] });
    return [await grantNow(attacker.memberId)];
  },
  'member.new': async attacker => {
    const roleId = await company.role(...all);
    const waiting = await company.invite(roleId);
    const reached: string[] = [];
    for (const [email, roleIds] of [
      ['accomplice@example.com', [roleId]],
      [await emailOf(waiting.memberId), [attacker.roleId]],
      [await emailOf(company.ownerId), []],
    ] as const) {
      const invited = await tryAs(attacker, inviteMember, { email, roleIds });
      if (!invited.ok) continue;
      const { setupToken } = invited.data as { setupToken: string };
      const input = { email, setupToken, newPassword: 'stolen horse' };
      reached.push(await grantIn(await t.call(passwordSetup, input, { merchantId: 0 })));
    }
    return reached;
  },
  'apikey.new': async attacker => ((await tryAs(attacker, newApiKey, {})).ok ? [everything] : []),
  'auth.provider_new': async attacker => {
    const { ownerEmail, full } = await victims();
    await tryAs(attacker, newAuthProvider, { issuer, audience, secret });
    return [await grantIn(await login(ownerEmail)), await grantIn(await login(full.email))];
  },
  'auth.provider_edit': async attacker => {
    const { full, ownerEmail } = await victims();
    const input = { issuer, audience, secret: 's'.repeat(32) };
    const { authProvider } = await t.done(newAuthProvider, input, company.key);
    for (const [id, email] of [
      [company.ownerId, ownerEmail],
      [full.memberId, full.email],
    ] as const) {
      const { caller } = await company.signIn(id);
      const token = tokenOf(email, input.secret);
      await t.done(updateOauth, { email }, { ...caller, sender: sender(token) });
    }
    await tryAs(attacker, editAuthProvider, { authProviderId: authProvider.id, secret });
    return [await grantIn(await login(ownerEmail)), await grantIn(await login(full.email))];
  },
  'auth.provider_delete': async attacker => {
    const { full } = await victims();
    const input = { issuer, audience, secret: 's'.repeat(32) };
    const { authProvider } = await t.done(newAuthProvider, input, company.key);
    const as = { ...full.caller, sender: sender(tokenOf(full.email, input.secret)) };
    await t.done(updateOauth, { email: full.email }, as);
    await tryAs(attacker, deleteAuthProvider, { authProviderId: authProvider.id });
    await tryAs(attacker, newAuthProvider, { issuer, audience, secret });
    return [await grantIn(await login(full.email))];
  },
};

/** Operations of identity that write, and give nobody a permission: they end or hide something, or need a credential. */
const harmless = [
  'merchant.update',
  'apikey.revoke',
  'member.update',
  'member.suspend',
  'member.resume',
  'member.logout',
  // one's own credentials, for which the present one is needed
  'member.reset_password',
  'member.update_oauth',
  'member.clear_oauth',
  'member.get_totp_key',
  'member.confirm_totp_key',
  'member.reset_totp',
  'member.delete_totp_device',
  // takes a second factor away, which is no use without the first
  'member.clear_member_totp',
  // signing in needs a token, a password or a setup token
  'auth.oauth_login',
  'auth.oauth_setup',
  'auth.login',
  'auth.password_setup',
  // or a code that only the member's mailbox is sent
  'auth.login_otp',
  'auth.login_otp_verify',
  'auth.password_forget_otp',
  'auth.password_forget_otp_verify',
];
const writes = operations.filter(
  ({ service, effect, permission }) =>
    service === 'identity' && effect === 'write' && permission !== anyUser && !permission.startsWith('user.'),
);

const isPermission = (permission: Operation['permission']): permission is Permission =>
  permission !== anyMember && permission !== anyUser;

describe('permissions that a member does not hold', () => {
  it('every operation that writes credentials, roles, members or providers is tried', () => {
    const known = [...Object.keys(attempts), ...harmless].sort();
    const names = writes.map(({ name }) => name).filter(name => !name.startsWith('session.'));
    expect(names.sort()).toEqual(known);
  });

  it.each(Object.keys(attempts))('are not gained by %s, with any one permission', async name => {
    for (const permission of [
      ...new Set(writes.flatMap(({ permission }) => (isPermission(permission) ? [permission] : []))),
    ]) {
      company = await newCompany(t);
      const attacker = await member(permission);
      const held = await grantNow(attacker.memberId);
      const reached = (await attempts[name]?.(attacker)) ?? [];
      const gained = reached.flatMap(grant => all.filter(one => allows(grant, one) && !allows(held, one)));
      expect([permission, gained]).toEqual([permission, []]);
    }
  });
});

describe('a provider of a merchant', () => {
  it('needs admin.write to be made, changed and removed', () => {
    for (const operation of [newAuthProvider, editAuthProvider, deleteAuthProvider]) {
      expect(operation.permission).toBe('admin.write');
    }
  });

  it('never links the owner by e-mail, and does by its own session or a setup token', async () => {
    await t.done(newAuthProvider, { issuer, audience, secret }, company.key);
    const email = await emailOf(company.ownerId);
    expect(await login(email)).toMatchObject({ slug: 'credential_invalid' });
    const { caller } = await company.signIn(company.ownerId);
    await t.done(updateOauth, { email }, { ...caller, sender: sender(tokenOf(email)) });
    expect(await login(email)).toMatchObject({ ok: true });

    company = await newCompany(t);
    await t.done(newAuthProvider, { issuer, audience, secret }, company.key);
    const invited = await emailOf(company.ownerId);
    const { setupToken } = await t.done(inviteMember, { email: invited, roleIds: [] }, company.key);
    const as = { merchantId: company.merchantId, sender: sender(tokenOf(invited)) };
    expect(await t.call(oauthSetup, { email: invited, setupToken }, as)).toMatchObject({ ok: true });
  });

  it('links another member by e-mail, unless it may do more than whoever set the key', async () => {
    const admin = await member('admin.write');
    const [less, more] = [await member('admin.write'), await member('admin.write', 'invoice.write')];
    const { authProvider } = await t.done(newAuthProvider, { issuer, audience, secret }, admin.caller);
    expect(await login(less.email)).toMatchObject({ ok: true });
    expect(await login(more.email)).toMatchObject({ slug: 'credential_invalid' });
    const own = { ...more.caller, sender: sender(tokenOf(more.email)) };
    expect(await t.call(updateOauth, { email: more.email }, own)).toMatchObject({ slug: 'permission_denied' });
    // the owner, or an API key, confirms the key
    await t.done(editAuthProvider, { authProviderId: authProvider.id, secret }, company.key);
    expect(await login(more.email)).toMatchObject({ ok: true });
    expect(await login(less.email)).toMatchObject({ ok: true });
  });

  it.each<[string, object]>([
    ['key', { secret: 'x'.repeat(32) }],
    ['issuer', { issuer: 'https://other.example.com' }],
  ])('ends its links when its %s changes, and they are not made anew by e-mail', async (_, change) => {
    const { authProvider } = await t.done(newAuthProvider, { issuer, audience, secret }, company.key);
    const { email, caller } = await member('plan.read');
    expect(await login(email)).toMatchObject({ ok: true });
    const authProviderId = authProvider.id;
    await t.done(editAuthProvider, { authProviderId, name: 'Ours' }, company.key);
    expect(await login(email)).toMatchObject({ ok: true });
    await t.done(editAuthProvider, { authProviderId, ...change }, company.key);
    await t.done(editAuthProvider, { authProviderId, issuer, secret }, company.key);
    expect(await login(email)).toMatchObject({ slug: 'credential_invalid' });
    await t.done(updateOauth, { email }, { ...caller, sender: sender(tokenOf(email)) });
    expect(await login(email)).toMatchObject({ ok: true });
  });

  it('that is removed and made again with another key signs in nobody whom it had linked', async () => {
    const { authProvider } = await t.done(newAuthProvider, { issuer, audience, secret }, company.key);
    const { email } = await member('plan.read');
    expect(await login(email)).toMatchObject({ ok: true });
    await t.done(deleteAuthProvider, { authProviderId: authProvider.id }, company.key);
    const other = 'another-secret-of-32-characters!';
    await t.done(newAuthProvider, { issuer, audience, secret: other }, company.key);
    expect(await login(email, tokenOf(email, other))).toMatchObject({ slug: 'credential_invalid' });
  });
});

it('a stored answer with a secret is not given to a member who sends the key of another', async () => {
  const attacker = await member('admin.write');
  const under = { idempotencyKey: 'rotate' };
  const made = await t.done(newApiKey, {}, { merchantId: company.merchantId, ...under });
  const [full, own] = [await company.role(...all), { merchantId: company.merchantId, idempotencyKey: 'invite' }];
  const invitation = { email: 'invited@example.com', roleIds: [full] };
  const { setupToken } = await t.done(inviteMember, invitation, own);
  for (const result of [
    await tryAs(attacker, newApiKey, {}, under),
    await tryAs(attacker, inviteMember, invitation, { idempotencyKey: 'invite' }),
  ]) {
    expect(result.ok).toBe(false);
    for (const secretText of [made.apiKey, setupToken]) expect(JSON.stringify(result)).not.toContain(secretText);
  }
});
