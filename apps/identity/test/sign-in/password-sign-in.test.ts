import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { updateMerchant } from '@recur/contracts';
import { decodeJwt } from 'jose';
import { members } from '../../src/members/tables.js';
import { Passwords } from '../../src/passwords/passwords.js';
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
const checks = () => p.t.app.get(Passwords).checks;

describe('passwords', () => {
  const newPassword = 'correct horse';

  it('are set with a setup token and sign in, from nobody, to the right merchant', async () => {
    const member = await p.invited(owner.merchantId);
    const setup = { email: member.email, setupToken: member.setupToken, newPassword };
    expect(done(await p.setPassword(setup)).merchantMember).toMatchObject({ id: member.memberId });
    expect(await p.setPassword(setup)).toEqual(invalid);
    await p.t.emitted();
    const { merchantMember, token } = done(
      await p.login({ email: ` ${member.email.toUpperCase()}`, password: newPassword }),
    );
    expect(merchantMember).toMatchObject({ id: member.memberId, merchantId: owner.merchantId, oauthAccounts: [] });
    expect(decodeJwt(token)).toMatchObject({ merchant: owner.merchantId, sub: String(member.memberId) });
    expect(await logged()).toEqual([['member', 'SignIn']]);
  });

  it('are not among the most common ones, whoever sets them', async () => {
    const member = await p.invited(owner.merchantId);
    for (const common of ['password', 'Iloveyou', '12345678', 'QWERTYUIOP']) {
      for (const email of [member.email, 'nobody@example.com']) {
        expect(await p.setPassword({ ...member, email, newPassword: common })).toMatchObject({
          ok: false,
          slug: 'invalid_parameters',
          issues: [{ path: '/newPassword' }],
        });
      }
    }
    done(await p.setPassword({ ...member, newPassword }));
  });

  it('are refused all alike, after one check each', async () => {
    const [member, suspended, blank] = await Promise.all([1, 2, 3].map(() => p.invited(owner.merchantId)));
    if (!member || !suspended || !blank) throw new Error('three members');
    for (const one of [member, suspended]) done(await p.setPassword({ ...one, newPassword }));
    await p.suspend(suspended.memberId);
    await p.t.emitted();
    const attempts = [
      { email: 'nobody@example.com', password: newPassword },
      { email: member.email, password: 'wrong horse' },
      { email: suspended.email, password: newPassword },
      { email: blank.email, password: newPassword },
      { email: 'no e-mail', password: 'x' },
    ];
    for (const attempt of attempts) {
      const before = checks();
      expect([attempt, await p.login(attempt)]).toEqual([attempt, invalid]);
      expect(checks() - before).toBe(1);
    }
    expect(await p.t.emitted()).toEqual([]);
  });

  it('of nothing but spaces sign in too', async () => {
    const member = await p.invited(owner.merchantId);
    const spaces = ' '.repeat(8);
    done(await p.setPassword({ ...member, newPassword: spaces }));
    expect(await p.login({ email: member.email, password: spaces })).toMatchObject({ ok: true });
    expect(await p.login({ email: member.email, password: '' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/password' }],
    });
  });

  it('are not set by a wrong token, which is found out without the member: nobody hears whether there is one', async () => {
    const member = await p.invited(owner.merchantId);
    const as = { email: member.email, newPassword };
    const heard = await p.t.db.write(p.caller(owner.merchantId), async tx => {
      await tx.lock(members, { id: member.memberId }, 'member_not_found');
      return { setup: await p.setPassword({ ...as, setupToken: 'guessed' }) };
    });
    expect(heard.setup).toEqual(invalid);
    expect(await p.setPassword({ ...as, setupToken: member.setupToken })).toMatchObject({ ok: true });
  });

  it('of callers who send one key by chance are told apart', async () => {
    const both = await Promise.all([1, 2].map(() => p.invited(owner.merchantId)));
    for (const one of both) done(await p.setPassword({ ...one, newPassword }));
    const [a, b] = await Promise.all(
      both.map(({ email }) => p.login({ email, password: newPassword }, { idempotencyKey: 'k' })),
    );
    // within a merchant, an idempotency key is one request
    expect([a?.ok, b?.ok].filter(Boolean)).toHaveLength(1);
    const other = await p.merchant();
    const stranger = await p.invited(other.merchantId);
    done(await p.setPassword({ ...stranger, newPassword }));
    expect(await p.login({ email: stranger.email, password: newPassword }, { idempotencyKey: 'k' })).toMatchObject({
      ok: true,
    });
  });

  it('cannot be guessed from what is kept of a request', async () => {
    const member = await p.invited(owner.merchantId);
    done(await p.setPassword({ ...member, newPassword }));
    const input = { email: member.email, password: newPassword };
    const edit = { companyName: 'Renamed' };
    done(await p.login(input, { idempotencyKey: 'login' }));
    await p.t.done(updateMerchant, edit, { merchantId: owner.merchantId, idempotencyKey: 'edit' });
    const kept = async (key: string) =>
      (await p.t.rows('select fingerprint from idempotency where key = $1', [key]))[0]?.fingerprint;
    const plain = (command: string, body: object) =>
      createHash('sha256')
        .update(`${command}\n${JSON.stringify(body)}`)
        .digest('base64');
    expect(await kept('edit')).toBe(plain('merchant.update', edit));
    expect(await kept('login')).not.toBe(plain('auth.login', input));
  });

  it('stand nowhere', async () => {
    const member = await p.invited(owner.merchantId);
    done(await p.setPassword({ ...member, newPassword: 'canary-in-the-tables' }));
    done(await p.login({ email: member.email, password: 'canary-in-the-tables' }, { idempotencyKey: 'canary' }));
    const setupHash = createHash('sha256').update(member.setupToken).digest('base64url');
    expect(await p.t.rows('select 1 from setup_tokens where token_hash = $1', [setupHash])).toHaveLength(1);
    for (const { tablename } of await p.t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
      const everything = JSON.stringify(await p.t.rows(`select t::text from "${tablename}" t`));
      for (const secret of ['canary-in-the-tables', member.setupToken]) expect(everything).not.toContain(secret);
    }
  });
});
