import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { requestLoginCode, requestPasswordCode } from '@recur/contracts';
import { type Merchant, makePortal } from '../portal.js';
import { invalid, type Letters, makeLetters, password, wrong } from './letters.js';

let l: Letters;
let owner: Merchant;
beforeAll(async () => {
  l = await makeLetters();
});
afterAll(() => l.close());
beforeEach(async () => {
  owner = await l.p.merchant();
  await l.p.t.emitted();
  l.news();
});

const done = { ok: true, data: {} };
const newPassword = 'battery staple';

describe('a code for a password', () => {
  it('sets another one and ends all sessions of the member', async () => {
    const { email, memberId } = await l.member(owner);
    await l.p.login({ email, password }, { sender: { ip: '192.0.2.9', userAgent: 'Safari' } });
    await l.p.t.emitted();
    const verificationCode = await l.passwordCode(email);
    expect(await l.setPassword({ email: email.toUpperCase(), verificationCode, newPassword })).toEqual(done);
    const events = await l.p.t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['member.updated', 'callers.changed', 'operation.logged']);
    expect(events[2]?.data).toMatchObject({ actor: { kind: 'member' }, content: 'SetPasswordByCode' });
    expect(await l.p.t.rows('select 1 from live_sessions where member_id = $1', [memberId])).toEqual([]);
    expect(await l.p.login({ email, password })).toEqual(invalid);
    expect(await l.p.login({ email, password: newPassword })).toMatchObject({ ok: true });
    expect(await l.setPassword({ email, verificationCode, newPassword: 'once more then' })).toEqual(invalid);
  });

  it('leaves two-factor codes on', async () => {
    const member = await l.member(owner);
    const { email } = member;
    await l.withTotp(member);
    const verificationCode = await l.passwordCode(email);
    expect(await l.setPassword({ email, verificationCode, newPassword })).toEqual(done);
    expect(await l.p.login({ email, password: newPassword })).toMatchObject({ slug: 'totp_required' });
  });

  it('sets the first one of a member who was invited, whose setup token is void then', async () => {
    const { email, setupToken } = await l.p.invited(owner.merchantId);
    const verificationCode = await l.passwordCode(email);
    expect(await l.setPassword({ email, verificationCode, newPassword })).toEqual(done);
    expect(await l.p.setPassword({ email, setupToken, newPassword: 'of the inviter' })).toEqual(invalid);
    expect(await l.p.login({ email, password: newPassword })).toMatchObject({ ok: true });
    expect(
      await l.p.t.rows('select 1 from member_emails where merchant_id = $1 and pending', [owner.merchantId]),
    ).toHaveLength(1);
  });

  it('is no way around an identity provider', async () => {
    expect(await l.p.oauthLogin(owner.merchantId, { email: owner.email })).toMatchObject({ ok: true });
    expect(await l.request(requestPasswordCode, owner.email)).toEqual(done);
    expect(l.news()).toEqual([]);
  });

  it('for one that links an identity meanwhile sets nothing', async () => {
    const verificationCode = await l.passwordCode(owner.email);
    expect(await l.p.oauthLogin(owner.merchantId, { email: owner.email })).toMatchObject({ ok: true });
    expect(await l.setPassword({ email: owner.email, verificationCode, newPassword })).toEqual(invalid);
  });

  it('is not used up by a common password', async () => {
    const { email } = await l.member(owner);
    const verificationCode = await l.passwordCode(email);
    for (let at = 0; at < 6; at++) {
      expect(await l.setPassword({ email, verificationCode, newPassword: 'password' })).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/newPassword' }],
      });
    }
    expect(await l.setPassword({ email, verificationCode, newPassword })).toEqual(done);
  });

  it('has five tries, and sets one password of many at once', async () => {
    const { email } = await l.member(owner);
    const void_ = await l.passwordCode(email);
    for (let by = 1; by <= 5; by++) {
      expect(await l.setPassword({ email, verificationCode: wrong(void_, by), newPassword })).toEqual(invalid);
    }
    expect(await l.setPassword({ email, verificationCode: void_, newPassword })).toEqual(invalid);
    const verificationCode = await l.passwordCode(email);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, at) =>
        l.setPassword({ email, verificationCode, newPassword: `${newPassword} ${at}` }),
      ),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
  });

  it('asks for the merchant where several have the e-mail, and is answered again under its key', async () => {
    const { email } = await l.member(owner);
    const { merchantId } = await l.member(await l.p.merchant(), email);
    const verificationCode = await l.passwordCode(email);
    expect(await l.setPassword({ email, verificationCode, newPassword })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/merchantId' }, { path: '/merchantId' }],
    });
    const input = { email, verificationCode, newPassword, merchantId };
    expect(await l.setPassword(input, { idempotencyKey: 'set' })).toEqual(done);
    expect(await l.setPassword(input, { idempotencyKey: 'set' })).toMatchObject({
      ...done,
      replayOf: expect.anything(),
    });
    expect(await l.p.login({ email, password: newPassword })).toMatchObject({
      data: { merchantMember: { merchantId } },
    });
    expect(await l.p.login({ email, password })).toMatchObject({ ok: true });
  });
});

describe('without a mail server', () => {
  it('codes are refused, whoever the address is of', async () => {
    const p = await makePortal();
    const { email } = await p.merchant();
    for (const operation of [requestLoginCode, requestPasswordCode]) {
      for (const address of [email, 'nobody@example.com']) {
        expect(await p.call(operation, { email: address }, { merchantId: 0 })).toEqual({
          ok: false,
          slug: 'mail_not_configured',
          issues: [],
        });
      }
    }
    await p.t.close();
  });
});
