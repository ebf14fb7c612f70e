import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Caller, type Db, systemCaller, type Tx } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { MemberSessions } from '../../src/member-sessions/member-sessions.js';
import { SetupTokens } from '../../src/members/setup-tokens.js';
import { type Member, members } from '../../src/members/tables.js';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';

let t: TestService;
let db: Db;
let caller: Caller;
let memberId: number;
const clock = new MovableClock();
const laptop = { name: 'Firefox on Linux', ip: '192.0.2.1' };
const phone = { name: 'Safari on iOS', ip: '192.0.2.2' };

beforeAll(async () => {
  t = await testService(identity, { clock });
  db = t.db;
});
afterAll(() => t.close());

let merchants = 0;
beforeEach(async () => {
  const email = `owner-${++merchants}@example.com`;
  const made = await t.app.get(Merchants).create({ name: 'Acme', email }, 'boot');
  caller = systemCaller(made.merchantId, 'test', Number.POSITIVE_INFINITY);
  memberId = made.memberId;
  await t.emitted();
});

/** Runs a transaction with the locked member, as a command would. */
const withMember = <T extends object>(run: (tx: Tx, member: Member) => Promise<T>) =>
  db.write(caller, async tx => {
    const member = await tx.lock(members, { id: memberId }, 'member_not_found');
    const result = await run(tx, member);
    tx.log(`Member(${memberId})`, 'Test');
    return result;
  });
const sessions = () => t.app.get(MemberSessions);
const login = (device = laptop, totpVerified = false) =>
  withMember((tx, member) => sessions().open(tx, member, { device, totpVerified }));
const seconds = () => Math.floor(clock.wall() / 1000);
const ask = async (after?: object) => {
  const reply = await t.bus.request('cmd.identity.platform.callers', JSON.stringify({ after }), t.callerOf());
  return JSON.parse(reply.bytes.toString()) as JSONWebKeySet & {
    version: number;
    members: { id: number; sessions: { sid: string; expireTime: number }[] }[];
    next: object | null;
  };
};
const published = async () => (await ask()).members.find(({ id }) => id === memberId);

describe('a session', () => {
  it('comes with a token that verifies with what gateways are told, and tells them of the member', async () => {
    const { merchantMember, token } = await login();
    const { keys, version } = await ask();
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys }), {
      algorithms: ['EdDSA'],
      issuer: 'recur',
      audience: 'recur',
      currentDate: new Date(clock.wall()),
    });
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'member+jwt', kid: keys[0]?.kid });
    expect(payload).toEqual({
      iss: 'recur',
      aud: 'recur',
      sub: String(memberId),
      merchant: caller.merchantId,
      env: 'sandbox',
      iat: seconds(),
      exp: seconds() + 86_400,
      callers: version,
      sid: expect.stringMatching(/^[\w-]{22}$/),
      perm: expect.stringMatching(/^[\w-]{43}$/),
    });
    const [changed] = (await t.emitted()).filter(({ type }) => type === 'callers.changed');
    const email = merchantMember.email;
    const access = {
      id: memberId,
      merchantId: caller.merchantId,
      email,
      grant: '*',
      sessions: [{ sid: payload.sid, expireTime: seconds() + 86_400 }],
    };
    expect(changed).toMatchObject({ version, data: { keys: [], revoked: [], ending: [], members: [access] } });
    expect(await published()).toEqual(access);
  });

  it('shows the member with its device', async () => {
    const { merchantMember } = await login(laptop, true);
    const now = seconds();
    expect(merchantMember).toMatchObject({ id: memberId, isOwner: true, isBlankPasswd: true, status: 0, totpType: 0 });
    expect(merchantMember.deviceList).toEqual([
      {
        currentDevice: true,
        identity: merchantMember.currentDeviceIdentity,
        ipAddress: laptop.ip,
        name: laptop.name,
        status: true,
        lastActiveTime: now,
        lastLoginTime: now,
        lastTotpVerificationTime: now,
      },
    ]);
    expect(Object.keys(merchantMember.MemberGroupPermission)).toHaveLength(15);
  });

  it('replaces the former one of its device, and is another on another device', async () => {
    const first = decodeJwt((await login(laptop, true)).token);
    clock.advance(60);
    const again = await login();
    const other = await login(phone);
    const sids = [first, decodeJwt(again.token), decodeJwt(other.token)].map(({ sid }) => sid);
    expect(new Set(sids).size).toBe(3);
    const [one, two] = other.merchantMember.deviceList;
    expect([one?.lastLoginTime, two?.lastLoginTime]).toEqual([seconds(), seconds()]);
    const devices = [one, two].sort((a, b) => Number(b?.currentDevice) - Number(a?.currentDevice));
    expect(devices).toMatchObject([
      { name: phone.name, lastTotpVerificationTime: 0 },
      { name: laptop.name, lastTotpVerificationTime: seconds() - 60 },
    ]);
    expect((await published())?.sessions.map(({ sid }) => sid).sort()).toEqual(sids.slice(1).sort());
  });

  it('ends for good: the device gets another one, so that no older token holds again', async () => {
    const first = decodeJwt((await login()).token);
    await withMember(async tx => ({ ended: await sessions().end(tx, memberId, String(first.sid)) }));
    expect(await published()).toBeUndefined();
    const second = await login();
    expect(decodeJwt(second.token).sid).not.toBe(first.sid);
    expect(second.merchantMember.deviceList).toHaveLength(1);
    const ended = (await t.emitted()).filter(({ type }) => type === 'callers.changed').map(({ data }) => data);
    expect(ended).toMatchObject([{}, { members: [{ id: memberId, sessions: [] }] }, {}]);
  });

  it('ends alone, or with all of the member but one', async () => {
    const own = String(decodeJwt((await login()).token).sid);
    await login(phone);
    await login({ ...phone, ip: '192.0.2.3' });
    const { count } = await withMember(async tx => ({
      count: await sessions().endThose(tx, memberId, ({ sid }) => sid !== own),
    }));
    expect(count).toBe(2);
    expect((await published())?.sessions.map(({ sid }) => sid)).toEqual([own]);
    const all = await withMember(async tx => ({ count: await sessions().endAllOf(tx, memberId) }));
    expect(all).toEqual({ count: 1 });
    expect(await published()).toBeUndefined();
    expect(await withMember(async tx => ({ ended: await sessions().end(tx, memberId, own) }))).toEqual({
      ended: false,
    });
  });

  it('is one of at most 20 that a member has; that of the device used least lately gives way', async () => {
    const first = String(decodeJwt((await login()).token).sid);
    for (let at = 0; at < 20; at++) {
      clock.advance(1);
      await login({ name: 'Many', ip: `198.51.100.${at}` });
    }
    const held = (await published())?.sessions ?? [];
    expect(held).toHaveLength(20);
    expect(held.map(({ sid }) => sid)).not.toContain(first);
  });

  it('is remembered with its device, of which 20 without a session are kept, and the one that signs in', async () => {
    const at = (ip: number) => ({ name: 'Many', ip: `198.51.100.${ip}` });
    const end = async (ip: number) => {
      const { sid } = decodeJwt((await login(at(ip))).token);
      clock.advance(1);
      await withMember(async tx => ({ ended: await sessions().end(tx, memberId, String(sid)) }));
    };
    for (let ip = 0; ip < 25; ip++) await end(ip);
    const rows = await t.rows('select ip from member_sessions where member_id = $1 and ended_time <> 0', [memberId]);
    expect(rows.length).toBeGreaterThanOrEqual(20);
    expect(rows.length).toBeLessThan(23);
    const oldest = Math.min(...rows.map(({ ip }) => Number(String(ip).split('.')[3])));
    for (let ip = 100; ip < 120; ip++) await login(at(ip));
    // the first of these is ended, and an older device is forgotten, but not the one that signs in
    const { merchantMember } = await login(at(oldest));
    expect(merchantMember.deviceList.find(({ currentDevice }) => currentDevice)?.ipAddress).toBe(at(oldest).ip);
    const kept = await t.rows('select ip from member_sessions where member_id = $1 and ended_time = 0', [memberId]);
    expect(kept.map(({ ip }) => ip)).toContain(at(oldest).ip);
    expect(kept).toHaveLength(20);
  });

  it('of one device is one that holds, however often it signs in at once', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => login()));
    expect(new Set(all.map(({ token }) => decodeJwt(token).sid)).size).toBe(16);
    expect(await t.rows('select 1 from member_sessions where member_id = $1', [memberId])).toHaveLength(1);
    expect((await published())?.sessions).toHaveLength(1);
  });

  it('is told of no more when its tokens have expired', async () => {
    await login();
    clock.advance(86_400);
    expect(await published()).toBeUndefined();
  });
});

describe('a setup token', () => {
  const issue = async () => (await withMember(tx => t.app.get(SetupTokens).issue(tx, memberId))).token;
  const redeem = async (token: string) =>
    (await withMember(async tx => ({ taken: await t.app.get(SetupTokens).redeem(tx, memberId, token) }))).taken;

  it('is taken once, of however many who show it at once, and kept nowhere', async () => {
    const token = await issue();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(await t.rows('select t::text from setup_tokens t'))).not.toContain(token);
    const taken = await Promise.all(Array.from({ length: 16 }, () => redeem(token)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await redeem(token)).toBe(false);
  });

  it('holds for 72 hours, and until a newer one is issued', async () => {
    const first = await issue();
    const second = await issue();
    expect(await redeem(first)).toBe(false);
    clock.advance(259_199);
    expect(await redeem('')).toBe(false);
    expect(await redeem(second)).toBe(true);
    const third = await issue();
    clock.advance(259_200);
    expect(await redeem(third)).toBe(false);
  });
});
