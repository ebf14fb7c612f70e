import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { verify } from '@node-rs/argon2';
import { decodeJwt } from 'jose';
import { SetupTokens } from '../../src/members/setup-tokens.js';
import { IdentityTokens } from '../../src/sign-in/identity-tokens.js';
import { type Merchant, makePortal, type Portal } from '../portal.js';

let p: Portal;
let owner: Merchant;
beforeAll(async () => {
  p = await makePortal();
});
afterAll(() => p.t.close());
beforeEach(async () => {
  owner = await p.merchant();
  await p.t.emitted();
});

const invalid = { ok: false, slug: 'credential_invalid', issues: [] };
const logged = async () =>
  (await p.t.emitted())
    .filter(({ type }) => type === 'operation.logged')
    .map(({ data, actor }) => [actor.kind, (data as { content: string }).content]);
const done = <T extends { ok: boolean }>(result: T) => {
  if (!result.ok) throw new Error(JSON.stringify(result));
  return (result as T & { data: { merchantMember: Record<string, unknown>; token: string } }).data;
};
const verifications = () => p.t.app.get(IdentityTokens).verifications;

describe('oauth/login', () => {
  it('links the owner by its e-mail the first time, as its own doing, and opens a session', async () => {
    const { merchantMember, token } = done(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: 'u1' }));
    expect(merchantMember).toMatchObject({
      id: owner.memberId,
      email: owner.email,
      isOwner: true,
      isBlankPasswd: true,
      oauthAccounts: [{ provider: 'idp', providerId: 'u1', email: owner.email, emailVerified: true }],
      deviceList: [{ name: 'Firefox on Linux', ipAddress: '192.0.2.1', currentDevice: true, status: true }],
    });
    expect(decodeJwt(token)).toMatchObject({ sub: String(owner.memberId), merchant: owner.merchantId });
    expect(await logged()).toEqual([['member', 'LinkIdentity, SignIn']]);
    const again = done(await p.oauthLogin(owner.merchantId, { email: owner.email.toUpperCase(), sub: 'u1' }));
    expect(again.merchantMember).toMatchObject({ oauthAccounts: [{ providerId: 'u1' }] });
    expect(await logged()).toEqual([['member', 'SignIn']]);
  });

  it('knows a member by issuer and subject from then on, whatever its e-mail', async () => {
    done(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: 'u2' }));
    const moved = done(await p.oauthLogin(owner.merchantId, { email: 'married@example.com', sub: 'u2' }));
    expect(moved.merchantMember).toMatchObject({ id: owner.memberId, email: owner.email });
    expect(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: 'thief' })).toEqual(invalid);
  });

  it('refuses all alike, after one verification each', async () => {
    const { merchantId } = owner;
    done(await p.oauthLogin(merchantId, { email: owner.email, sub: 'u3' }));
    const pending = await p.invited(merchantId);
    const suspended = await p.invited(merchantId);
    done(await p.oauthSetup(merchantId, suspended, suspended));
    await p.suspend(suspended.memberId);
    const other = await p.merchant();
    done(await p.oauthLogin(other.merchantId, { email: other.email }));
    const attempts: Record<string, () => Promise<unknown>> = {
      'an unknown e-mail': () => p.oauthLogin(merchantId, { email: 'nobody@example.com' }),
      'a wrong token': () => p.oauthLogin(merchantId, owner, { identityToken: p.token(owner, { aud: 'other' }) }),
      'no token at all': () => p.oauthLogin(merchantId, owner, { identityToken: '' }),
      'the token of another e-mail': () => p.oauthLogin(merchantId, owner, { identityToken: p.token(pending) }),
      'an identity that is not linked': () => p.oauthLogin(merchantId, { email: owner.email, sub: 'u4' }),
      'a member who is not set up': () => p.oauthLogin(merchantId, pending),
      'a suspended member': () => p.oauthLogin(merchantId, suspended),
      "another merchant's member": () => p.oauthLogin(merchantId, { email: other.email }),
    };
    await p.t.emitted();
    for (const [name, attempt] of Object.entries(attempts)) {
      const before = verifications();
      expect([name, await attempt()]).toEqual([name, invalid]);
      expect([name, verifications() - before]).toEqual([name, 1]);
    }
    expect(await p.t.emitted()).toEqual([]);
  });

  it('answers a repeat with the same token, and never to the token of somebody else', async () => {
    const identityToken = p.token(owner);
    const as = { idempotencyKey: 'once', identityToken };
    const first = done(await p.oauthLogin(owner.merchantId, owner, as));
    const second = await p.oauthLogin(owner.merchantId, owner, as);
    expect(second).toMatchObject({ ok: true, replayOf: expect.any(String), data: first });
    const other = p.token(owner, { jti: 'another' });
    expect(await p.oauthLogin(owner.merchantId, owner, { ...as, identityToken: other })).toMatchObject({
      slug: 'idempotency_reused',
    });
    p.clock.advance(400);
    expect(await p.oauthLogin(owner.merchantId, owner, as)).toEqual(invalid);
    const all = await p.t.rows('select t::text from idempotency t');
    for (const secret of [first.token, identityToken]) expect(JSON.stringify(all)).not.toContain(secret);
  });

  it('links one identity of 64 that come at once for a member', async () => {
    const attempts = Array.from({ length: 64 }, (_, at) =>
      p.oauthLogin(owner.merchantId, { email: owner.email, sub: `race-${at % 2}` }),
    );
    const results = await Promise.all(attempts);
    expect(results.filter(({ ok }) => ok)).toHaveLength(32);
    for (const result of results) if (!result.ok) expect(result).toEqual(invalid);
    const rows = await p.t.rows('select subject from oauth_accounts where member_id = $1', [owner.memberId]);
    expect(rows).toHaveLength(1);
  });
});

describe('oauth/setup', () => {
  it('links the identity, sets the password and signs in; the setup token works once', async () => {
    const member = await p.invited(owner.merchantId);
    await p.t.emitted();
    const given = { setupToken: member.setupToken, newPassword: 'correct horse' };
    const { merchantMember } = done(await p.oauthSetup(owner.merchantId, member, given));
    expect(merchantMember).toMatchObject({
      id: member.memberId,
      isBlankPasswd: false,
      oauthAccounts: [{ provider: 'idp', providerId: member.email }],
    });
    expect(await logged()).toEqual([['member', 'SetUp']]);
    expect(await p.oauthSetup(owner.merchantId, member, given)).toEqual(invalid);
    expect(done(await p.oauthLogin(owner.merchantId, member)).merchantMember).toMatchObject({ id: member.memberId });
    const [row] = await p.t.rows('select password_hash from members where id = $1', [member.memberId]);
    expect(await verify(String(row?.password_hash), 'correct horse')).toBe(true);
  });

  it('refuses another token, an old one, and that of another member, and takes none of them', async () => {
    const member = await p.invited(owner.merchantId);
    const other = await p.invited(owner.merchantId);
    const setup = (setupToken: string) => p.oauthSetup(owner.merchantId, member, { setupToken });
    expect(await setup('x')).toEqual(invalid);
    expect(await setup(other.setupToken)).toEqual(invalid);
    p.clock.advance(3 * 86_400);
    expect(await setup(member.setupToken)).toEqual(invalid);
    expect(await p.oauthSetup(owner.merchantId, { email: 'nobody@example.com' }, member)).toEqual(invalid);
  });

  it('refuses a password that is too short or too long', async () => {
    const member = await p.invited(owner.merchantId);
    for (const newPassword of ['1234567', 'x'.repeat(129)]) {
      const result = await p.oauthSetup(owner.merchantId, member, { ...member, newPassword });
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/newPassword' }] });
    }
  });

  it('refuses an identity that another member has, and keeps the setup token', async () => {
    done(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: 'mine' }));
    const member = await p.invited(owner.merchantId);
    const same = { email: member.email, sub: 'mine' };
    expect(await p.oauthSetup(owner.merchantId, same, member)).toMatchObject({ slug: 'oauth_account_taken' });
    expect(await p.oauthSetup(owner.merchantId, member, member)).toMatchObject({ ok: true });
  });

  it('takes one of 64 at once', async () => {
    const member = await p.invited(owner.merchantId);
    const results = await Promise.all(
      Array.from({ length: 64 }, () => p.oauthSetup(owner.merchantId, member, { setupToken: member.setupToken })),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  });

  it('is for members who have no way in yet', async () => {
    done(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: 'mine' }));
    const tokens = p.t.app.get(SetupTokens);
    const { setupToken } = await p.t.db.write(p.caller(owner.merchantId), async tx => {
      tx.log('Member', 'Test');
      return { setupToken: (await tokens.issue(tx, owner.memberId)).token };
    });
    const thief = { email: owner.email, sub: 'thief' };
    expect(await p.oauthSetup(owner.merchantId, thief, { setupToken })).toEqual(invalid);
    expect(await p.setPassword({ email: owner.email, setupToken, newPassword: 'stolen horse' })).toEqual(invalid);
  });
});
