import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { requestLoginCode } from '@recur/contracts';
import { blockedBy, ownProcess } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import type { Merchant } from '../portal.js';
import { invalid, type Letters, makeLetters, password, wrong } from './letters.js';

let l: Letters;
let owner: Merchant;
let member: Merchant;
beforeAll(async () => {
  l = await makeLetters();
});
afterAll(() => l.close());
beforeEach(async () => {
  owner = await l.p.merchant();
  member = await l.member(owner);
  await l.p.t.emitted();
  l.news();
});

const entered = ({ merchantId, memberId }: Merchant) => ({
  ok: true,
  data: { merchantMember: { id: memberId, merchantId } },
});
const required = { ok: false, slug: 'totp_required', issues: [] };

describe('a code for signing in', () => {
  it('comes by e-mail and signs in once, whatever the case of the address', async () => {
    expect(await l.request(requestLoginCode, ` ${member.email.toUpperCase()}`)).toEqual({ ok: true, data: {} });
    const [mail = '', ...more] = l.news();
    expect(more).toEqual([]);
    expect(mail).toMatch(/^From: Acme <in@acme\.example>\r$/m);
    expect(mail).toContain(`To: ${member.email}`);
    expect(mail).toMatch(/^Subject: Your sign-in code\r$/m);
    expect(mail).toContain('It works once, within 10 minutes.');
    const verificationCode = l.codeIn(mail);
    expect(verificationCode).toMatch(/^\d{8}$/);
    const input = { email: member.email.toUpperCase(), verificationCode: ` ${verificationCode} ` };
    const answer = await l.login(input);
    expect(answer).toMatchObject(entered(member));
    expect(decodeJwt(answer.ok ? answer.data.token : '')).toMatchObject({ sub: String(member.memberId) });
    expect(await l.login(input)).toEqual(invalid);
    expect(await l.logged()).toEqual(['SignInByCode']);
  });

  it('is replaced by the next one', async () => {
    const { email } = member;
    const [first, second] = [await l.loginCode(email), await l.loginCode(email)];
    if (first !== second) expect(await l.login({ email, verificationCode: first })).toEqual(invalid);
    expect(await l.login({ email, verificationCode: second })).toMatchObject(entered(member));
  });

  it('is over after ten minutes', async () => {
    const { email } = member;
    const last = await l.loginCode(email);
    l.p.clock.advance(599);
    expect(await l.login({ email, verificationCode: last })).toMatchObject(entered(member));
    const late = await l.loginCode(email);
    l.p.clock.advance(600);
    expect(await l.login({ email, verificationCode: late })).toEqual(invalid);
  });

  it('has five tries', async () => {
    const { email } = member;
    const code = await l.loginCode(email);
    for (let by = 1; by <= 4; by++)
      expect(await l.login({ email, verificationCode: wrong(code, by) })).toEqual(invalid);
    expect(await l.login({ email, verificationCode: code })).toMatchObject(entered(member));
    const next = await l.loginCode(email);
    for (let by = 1; by <= 5; by++)
      expect(await l.login({ email, verificationCode: wrong(next, by) })).toEqual(invalid);
    expect(await l.login({ email, verificationCode: next })).toEqual(invalid);
  });

  it('sets no password, and one for a password signs nobody in', async () => {
    const { email } = member;
    const login = await l.loginCode(email);
    expect(await l.setPassword({ email, verificationCode: login, newPassword: 'battery staple' })).toEqual(invalid);
    const forget = await l.passwordCode(email);
    expect(await l.login({ email, verificationCode: forget })).toEqual(invalid);
    expect(await l.login({ email, verificationCode: login })).toMatchObject(entered(member));
    expect(await l.setPassword({ email, verificationCode: forget, newPassword: 'battery staple' })).toMatchObject({
      ok: true,
    });
  });

  it('is sent to nobody else, and nobody can tell', async () => {
    const [suspended, invited] = [await l.member(owner), await l.p.invited(owner.merchantId)];
    await l.p.suspend(suspended.memberId);
    // the owner signs in through the identity provider alone
    expect(await l.p.oauthLogin(owner.merchantId, { email: owner.email })).toMatchObject({ ok: true });
    for (const email of [
      'nobody@example.com',
      suspended.email,
      invited.email,
      owner.email,
      'no e-mail',
      'x'.repeat(2_000),
    ]) {
      expect(await l.request(requestLoginCode, email)).toEqual({ ok: true, data: {} });
      expect([email, l.news()]).toEqual([email, []]);
      for (let tries = 4; tries >= 0; tries--) {
        expect(await l.login({ email, verificationCode: '12345678' })).toEqual(invalid);
        expect(await l.triesLeft(email)).toBe(tries);
      }
      expect(await l.login({ email, verificationCode: '12345678' })).toEqual(invalid);
    }
  });

  it('of a member who is suspended meanwhile is refused', async () => {
    const code = await l.loginCode(member.email);
    await l.p.suspend(member.memberId);
    expect(await l.login({ email: member.email, verificationCode: code })).toEqual(invalid);
  });

  it('stays good while a two-factor code is missing or wrong', async () => {
    const { email } = member;
    const { codeOf } = await l.withTotp(member);
    const verificationCode = await l.loginCode(email);
    for (let at = 0; at < 6; at++) expect(await l.login({ email, verificationCode })).toEqual(required);
    expect(await l.login({ email, verificationCode, totpCode: wrong(codeOf()).slice(2) })).toEqual(required);
    expect(await l.triesLeft(email)).toBe(5);
    expect(await l.login({ email, verificationCode: wrong(verificationCode), totpCode: codeOf() })).toEqual(invalid);
    expect(await l.login({ email, verificationCode, totpCode: codeOf() })).toMatchObject(entered(member));
    expect(await l.login({ email, verificationCode })).toEqual(invalid);
  });

  it('does not pass the lock of two-factor codes', async () => {
    const { email } = member;
    const { codeOf } = await l.withTotp(member);
    const verificationCode = await l.loginCode(email);
    const guess = { email, verificationCode, totpCode: wrong(codeOf()).slice(2) };
    for (let at = 0; at < 5; at++) expect(await l.login(guess)).toEqual(required);
    expect(await l.login({ ...guess, totpCode: codeOf() })).toMatchObject({ ok: false, slug: 'totp_locked' });
  });

  it('is answered again under the same Idempotency-Key, and to no other request', async () => {
    const { email } = member;
    const verificationCode = await l.loginCode(email);
    const first = await l.login({ email, verificationCode }, { idempotencyKey: 'again' });
    expect(first).toMatchObject(entered(member));
    expect(await l.login({ email, verificationCode }, { idempotencyKey: 'again' })).toMatchObject({
      ...first,
      replayOf: expect.any(String),
    });
    expect(await l.login({ email, verificationCode: wrong(verificationCode) }, { idempotencyKey: 'again' })).toEqual(
      invalid,
    );
  });
});

describe('an e-mail that several merchants have', () => {
  it('lists them once the code is right, which then signs in at the one that is chosen', async () => {
    const other = await l.p.merchant();
    const { email } = member;
    const there = await l.member(other, email);
    const verificationCode = await l.loginCode(email);
    expect(await l.login({ email, verificationCode: wrong(verificationCode) })).toEqual(invalid);
    for (let at = 0; at < 6; at++) {
      expect(await l.login({ email, verificationCode })).toMatchObject({
        slug: 'invalid_parameters',
        issues: [
          { path: '/merchantId', message: `${owner.merchantId}: Acme` },
          { path: '/merchantId', message: `${other.merchantId}: Acme` },
        ],
      });
    }
    const { merchantId } = there;
    expect(await l.login({ email, verificationCode, merchantId: merchantId + 1_000 })).toEqual(invalid);
    expect(await l.login({ email, verificationCode, merchantId })).toMatchObject(entered(there));
    expect(await l.login({ email, verificationCode, merchantId: owner.merchantId })).toEqual(invalid);
  });
});

describe('many at once', () => {
  const attempts = (verificationCode: string) =>
    Promise.all(Array.from({ length: 64 }, () => l.login({ email: member.email, verificationCode })));

  it('with wrong codes take five tries, and the code is void', async () => {
    const code = await l.loginCode(member.email);
    const answers = await attempts(wrong(code));
    expect(answers.filter(({ ok }) => ok)).toEqual([]);
    expect(await l.triesLeft(member.email)).toBe(0);
    expect(await l.login({ email: member.email, verificationCode: code })).toEqual(invalid);
  });

  it('are counted before they are compared: a right code that waits while others take the last try is refused', async () => {
    const code = await l.loginCode(member.email);
    const { answer } = await l.p.t.db.write(l.p.caller(owner.merchantId), async tx => {
      await tx.run('update mailed_codes set tries_left = 0 where email = $1', [member.email]);
      const [process] = await tx.run(ownProcess, []);
      const answer = l.login({ email: member.email, verificationCode: code });
      while ((await blockedBy(l.p.t, process?.pid)).length === 0);
      tx.log(`Member(${member.memberId})`, 'Test');
      return { answer: [answer] };
    });
    expect(await Promise.all(answer)).toEqual([invalid]);
  });

  it('with the right code sign in once', async () => {
    const code = await l.loginCode(member.email);
    const answers = await attempts(code);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(answers.filter(({ ok }) => !ok)).toEqual(Array.from({ length: 63 }, () => invalid));
    const sessions = await l.p.t.rows('select 1 from live_sessions where member_id = $1', [member.memberId]);
    // the one of the setup was of the same device
    expect(sessions).toHaveLength(1);
    expect(await l.p.login({ email: member.email, password })).toMatchObject({ ok: true });
  });
});
