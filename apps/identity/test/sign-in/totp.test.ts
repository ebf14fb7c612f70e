import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  clearMemberTotp,
  confirmTotpKey,
  deleteTotpDevice,
  type Operation,
  resetTotp,
  totpKey,
  totpType,
} from '@recur/contracts';
import type { TestCaller } from '@recur/platform/testing';
import { generateSync } from 'otplib';
import { stepOfCode } from '../../src/sign-in/totp-codes.js';
import { type Merchant, makePortal, type Portal } from '../portal.js';

let p: Portal;
let owner: Merchant;
beforeAll(async () => {
  p = await makePortal();
});
afterAll(() => p.t.close());
beforeEach(async () => {
  owner = await p.merchant();
  // each test has a time step of its own
  p.clock.advance(30);
});

const seconds = () => p.clock.now();
const codeOf = (secret: string, steps = 0) => generateSync({ secret, epoch: seconds() + 30 * steps });
const wrong = (secret: string) => {
  const near = [-1, 0, 1].map(steps => codeOf(secret, steps));
  return ['000000', '111111', '222222', '333333'].find(code => !near.includes(code)) ?? '';
};
const call = (operation: Operation, input: object, as: TestCaller = p.as(owner)) => p.t.call(operation, input, as);
const login = (totpCode?: string, as: TestCaller = {}) =>
  p.oauthLogin(owner.merchantId, { email: owner.email }, { ...as, ...(totpCode !== undefined && { totpCode }) });
const contents = async () =>
  (await p.t.emitted())
    .filter(({ type }) => type === 'operation.logged')
    .map(({ data }) => (data as { content: string }).content);
const required = { ok: false, slug: 'totp_required', issues: [] };
const locked = { ok: false, slug: 'totp_locked', issues: [] };

/** Turns the owner's codes on, which uses the current code. */
async function turnOn(type = 1) {
  const key = await p.t.done(totpKey, { totpType: type }, p.as(owner));
  const on = await p.t.done(confirmTotpKey, { totpCode: codeOf(key.totpKey) }, p.as(owner));
  p.clock.advance(30);
  await p.t.emitted();
  return { ...on, secret: key.totpKey };
}

describe('codes', () => {
  it('are those of RFC 6238, of the step before, this one and the next', () => {
    // the test vectors of appendix B, cut to six digits
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    for (const [at, code] of [
      [1_111_111_111, '050471'],
      [1_111_111_109, '081804'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
    ] as const) {
      const step = Math.floor(at / 30);
      expect([-31, -30, 0, 30, 31].map(away => stepOfCode(secret, code, step * 30 + away))).toEqual([
        undefined,
        step,
        step,
        step,
        step,
      ]);
      expect(stepOfCode(secret, code, step * 30 + 60)).toBeUndefined();
    }
    for (const odd of ['', '28708', '2870822', '28708a', '２８７０８２', ' 287082', '-87082']) {
      expect(stepOfCode(secret, odd, 59)).toBeUndefined();
    }
  });

  it('are turned on with the first one of a key, and asked for from then on', async () => {
    await p.t.emitted();
    const key = await p.t.done(totpKey, { totpType: totpType.authy }, p.as(owner));
    expect(key).toMatchObject({ totpType: 3, totpKey: expect.stringMatching(/^[A-Z2-7]{32}$/) });
    expect(new URL(key.totpUrl).searchParams.get('secret')).toBe(key.totpKey);
    expect(await login()).toMatchObject({ ok: true });
    expect(await call(confirmTotpKey, { totpCode: wrong(key.totpKey) })).toEqual(required);
    const { merchantMember, recoveryCodes } = await p.t.done(
      confirmTotpKey,
      { totpCode: codeOf(key.totpKey) },
      p.as(owner),
    );
    expect(merchantMember).toMatchObject({ id: owner.memberId, totpType: 3 });
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(await contents()).toEqual(['AskTotpKey', 'LinkIdentity, SignIn', 'WrongTotpCode', 'TotpOn']);
    expect(await login()).toEqual(required);
    expect(await login('')).toEqual(required);
    expect(await login(codeOf(key.totpKey))).toEqual(required);
    p.clock.advance(30);
    const entered = await login(codeOf(key.totpKey));
    expect(entered).toMatchObject({ ok: true, data: { merchantMember: { totpType: 3 } } });
    const devices = entered.ok
      ? (entered.data as { merchantMember: { deviceList: object[] } }).merchantMember.deviceList
      : [];
    expect(devices).toMatchObject([{ lastTotpVerificationTime: seconds() }]);
  });

  it('cannot be turned on twice, or without a key', async () => {
    expect(await call(confirmTotpKey, { totpCode: '123456' })).toMatchObject({ slug: 'totp_not_asked' });
    await turnOn();
    expect(await call(totpKey, {})).toMatchObject({ slug: 'totp_on' });
    expect(await call(confirmTotpKey, { totpCode: '123456' })).toMatchObject({ slug: 'totp_on' });
    expect(await call(totpKey, { totpType: 0 })).toMatchObject({ slug: 'invalid_parameters' });
    expect(await call(totpKey, { totpType: 8 })).toMatchObject({ slug: 'invalid_parameters' });
  });

  it('are a secret of one member: another who sends the same Idempotency-Key is not told the key', async () => {
    const other = await p.invited(owner.merchantId);
    const once = { idempotencyKey: 'totp' };
    const mine = await p.t.done(totpKey, {}, { ...p.as(owner), ...once });
    expect(await p.t.done(totpKey, {}, { ...p.as(owner), ...once })).toEqual(mine);
    expect(await call(totpKey, {}, { ...p.as(other), ...once })).toEqual({
      ok: false,
      slug: 'idempotency_reused',
      issues: [],
    });
  });

  it('of the key that was asked for last count', async () => {
    const first = await p.t.done(totpKey, {}, p.as(owner));
    const second = await p.t.done(totpKey, {}, p.as(owner));
    expect(await call(confirmTotpKey, { totpCode: codeOf(first.totpKey) })).toEqual(required);
    expect(await call(confirmTotpKey, { totpCode: codeOf(second.totpKey) })).toMatchObject({ ok: true });
  });

  it('work once: of 50 sign-ins at once with one code, one succeeds; and nobody is locked out by that', async () => {
    const { secret } = await turnOn();
    const code = codeOf(secret);
    const results = await Promise.all(Array.from({ length: 50 }, () => login(code)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results) if (!result.ok) expect(result).toEqual(required);
    // an earlier step's code fails too, though it is within the window
    expect(await login(codeOf(secret, -1))).toEqual(required);
    expect(await login(codeOf(secret, 1))).toMatchObject({ ok: true });
  });

  it('are refused for 15 minutes after five that were wrong', async () => {
    const { secret } = await turnOn();
    for (let at = 0; at < 5; at++) expect(await login(wrong(secret))).toEqual(required);
    expect(await login(codeOf(secret))).toEqual(locked);
    expect(await call(resetTotp, { totpCode: codeOf(secret) })).toEqual(locked);
    expect(await contents()).toEqual(Array(5).fill('WrongTotpCode'));
    p.clock.advance(899);
    expect(await login(codeOf(secret))).toEqual(locked);
    p.clock.advance(1);
    for (let at = 0; at < 4; at++) expect(await login(wrong(secret))).toEqual(required);
    expect(await login(codeOf(secret))).toMatchObject({ ok: true });
    // a right code resets the count of wrong ones
    for (let at = 0; at < 4; at++) expect(await login(wrong(secret))).toEqual(required);
    p.clock.advance(30);
    expect(await login(codeOf(secret))).toMatchObject({ ok: true });
  });

  it('are guessed five times at most by 64 at once', async () => {
    const { secret } = await turnOn();
    const results = await Promise.all(Array.from({ length: 64 }, () => login(wrong(secret))));
    const slugs = results.map(result => (result.ok ? 'ok' : result.slug));
    expect(slugs.filter(slug => slug === 'totp_required')).toHaveLength(5);
    expect(slugs.filter(slug => slug === 'totp_locked')).toHaveLength(59);
    expect(await contents()).toEqual(Array(5).fill('WrongTotpCode'));
  });

  it('of a repeat under its key are not tried again', async () => {
    const { secret } = await turnOn();
    const identityToken = p.token({ email: owner.email });
    const as = { idempotencyKey: 'once', identityToken };
    const first = await login(codeOf(secret), as);
    expect(first).toMatchObject({ ok: true });
    for (let at = 0; at < 8; at++)
      expect(await login(codeOf(secret), as)).toMatchObject({ ok: true, replayOf: expect.any(String) });
    p.clock.advance(30);
    expect(await login(codeOf(secret))).toMatchObject({ ok: true });
    // refusals are not stored: the same idempotency key and code are tried and counted each time
    const again = { idempotencyKey: 'twice', identityToken };
    for (let at = 0; at < 5; at++) expect(await login(wrong(secret), again)).toEqual(required);
    expect(await login(wrong(secret), again)).toEqual(locked);
  });

  it('and their key stand nowhere in plain text', async () => {
    const { secret, recoveryCodes } = await turnOn();
    for (const { tablename } of await p.t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
      const everything = JSON.stringify(await p.t.rows(`select t::text from "${tablename}" t`));
      for (const canary of [secret, ...recoveryCodes]) expect(everything).not.toContain(canary);
    }
  });
});

describe('recovery codes', () => {
  it('sign in once each, in any writing', async () => {
    const { recoveryCodes, secret } = await turnOn();
    const [first = '', second = '', third = ''] = recoveryCodes;
    expect(await login(first)).toMatchObject({ ok: true });
    expect(await login(first)).toEqual(required);
    expect(await login(second.toUpperCase().replaceAll('-', ' '))).toMatchObject({ ok: true });
    const results = await Promise.all(Array.from({ length: 50 }, () => login(third)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const [row] = await p.t.rows('select recovery_hashes from member_totps where member_id = $1', [owner.memberId]);
    expect(row?.recovery_hashes).toHaveLength(7);
    expect(codeOf(secret)).toHaveLength(6);
  });
});

describe('codes are turned off', () => {
  it('by a code or a recovery code', async () => {
    const { secret } = await turnOn();
    expect(await call(resetTotp, { totpCode: wrong(secret) })).toEqual(required);
    expect(await call(resetTotp, { totpCode: codeOf(secret) })).toMatchObject({
      ok: true,
      data: { merchantMember: { totpType: 0 } },
    });
    expect(await contents()).toEqual(['WrongTotpCode', 'TotpOff']);
    expect(await login()).toMatchObject({ ok: true });
    expect(await call(resetTotp, { totpCode: 'x' })).toMatchObject({ ok: true });
    const [row] = await p.t.rows('select sealed_key, recovery_hashes from member_totps where member_id = $1', [
      owner.memberId,
    ]);
    expect(row).toEqual({ sealed_key: '', recovery_hashes: [] });
    const again = await turnOn();
    expect(await call(resetTotp, { totpCode: again.recoveryCodes[0] ?? '' })).toMatchObject({ ok: true });
  });

  it('by an admin for another member, by an API key for the owner', async () => {
    await turnOn();
    const { memberId } = owner;
    const admin = { ...owner, memberId: (await p.invited(owner.merchantId)).memberId };
    expect(await call(clearMemberTotp, { memberId }, p.as(owner))).toMatchObject({ slug: 'totp_protected' });
    expect(await call(clearMemberTotp, { memberId }, p.as(admin))).toMatchObject({ slug: 'totp_protected' });
    expect(await call(clearMemberTotp, { memberId: memberId + 10_000 })).toMatchObject({ slug: 'member_not_found' });
    const other = await p.merchant();
    expect(await call(clearMemberTotp, { memberId }, { merchantId: other.merchantId })).toMatchObject({
      slug: 'member_not_found',
    });
    expect(await contents()).not.toContain('TotpOff');
    const key = { merchantId: owner.merchantId };
    expect(await call(clearMemberTotp, { memberId }, key)).toMatchObject({ ok: true, data: {} });
    expect(await contents()).toEqual(['TotpOff']);
    expect(await call(clearMemberTotp, { memberId }, key)).toMatchObject({ ok: true });
    expect(await contents()).toEqual([]);
    expect(await login()).toMatchObject({ ok: true });
  });
});

describe('a device', () => {
  it('is forgotten with its session', async () => {
    const { secret } = await turnOn();
    const entered = await login(codeOf(secret));
    if (!entered.ok) throw new Error('not in');
    const { merchantMember } = entered.data as { merchantMember: { deviceList: { identity: string }[] } };
    const deviceIdentity = merchantMember.deviceList[0]?.identity ?? '';
    const elsewhere = await p.merchant();
    expect(await call(deleteTotpDevice, { deviceIdentity }, p.as(elsewhere))).toMatchObject({
      slug: 'device_not_found',
    });
    expect(await call(deleteTotpDevice, { deviceIdentity })).toMatchObject({
      ok: true,
      data: { merchantMember: { deviceList: [] } },
    });
    expect(await p.t.rows('select 1 from live_sessions where member_id = $1', [owner.memberId])).toEqual([]);
    expect(await call(deleteTotpDevice, { deviceIdentity })).toMatchObject({ slug: 'device_not_found' });
  });
});
