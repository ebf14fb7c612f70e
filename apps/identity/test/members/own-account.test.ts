import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { logoutMember, memberProfile, resetPassword, updateMember } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import { memberAggregate } from '../../src/members/aggregates.js';
import { memberLine } from '../../src/passwords/lines.js';
import { Passwords } from '../../src/passwords/passwords.js';
import { identity } from '../../src/service.js';
import { type Company, newCompany, type SignedIn } from '../company.js';

let t: TestService;
let company: Company;
let memberId: number;
let laptop: SignedIn;
let phone: SignedIn;
const clock = new MovableClock();
beforeAll(async () => {
  t = await testService(identity, { clock });
});
afterAll(() => t.close());
beforeEach(async () => {
  company = await newCompany(t);
  ({ memberId } = await company.invite(await company.role('my-account.read')));
  laptop = await company.signIn(memberId);
  phone = await company.signIn(memberId, { name: 'Safari', ip: '192.0.2.2' });
  await t.emitted();
});

const profile = async (caller = laptop.caller) => (await t.done(memberProfile, {}, caller)).merchantMember;
const live = async () => (await company.published(memberId))?.sessions.map(({ sid }) => sid) ?? [];

describe('a profile', () => {
  it('is that of the member who asks, and says which device that is from', async () => {
    const member = await profile();
    expect(member).toMatchObject({ id: memberId, isBlankPasswd: true, MemberRoles: [{}], status: 0 });
    expect(Object.keys(member.MemberGroupPermission)).toEqual(['my-account']);
    const current = member.deviceList.find(({ currentDevice }) => currentDevice);
    expect(current).toMatchObject({ name: 'Firefox', identity: member.currentDeviceIdentity, status: true });
    expect(member.deviceList).toHaveLength(2);
    expect((await profile(phone.caller)).currentDeviceIdentity).not.toBe(member.currentDeviceIdentity);
  });

  it('changes by what is sent alone', async () => {
    const edit = { firstName: 'Ada', mobile: '+44 20' };
    const { merchantMember } = await t.done(updateMember, edit, laptop.caller);
    expect(merchantMember).toMatchObject({ ...edit, lastName: '', currentDeviceIdentity: expect.stringMatching(/./) });
    expect((await t.emitted()).map(({ type, data }) => [type, data])).toMatchObject([
      ['member.updated', { id: memberId, firstName: 'Ada', mobile: '+44 20' }],
      ['operation.logged', { target: `Member(${memberId})`, content: 'Update', actor: laptop.caller.actor }],
    ]);
    await t.done(updateMember, { firstName: 'Ada' }, laptop.caller);
    expect(await t.emitted()).toEqual([]);
    expect(await profile()).toMatchObject(edit);
    await t.done(updateMember, { firstName: '' }, laptop.caller);
    expect(await profile()).toMatchObject({ firstName: '', mobile: '+44 20' });
    expect(await t.call(updateMember, { firstName: 5 }, laptop.caller)).toMatchObject({ slug: 'invalid_parameters' });
  });
});

describe('a logout', () => {
  it('ends the session that asks and no other, once', async () => {
    await t.done(logoutMember, {}, laptop.caller);
    const events = await t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['callers.changed', 'operation.logged']);
    expect(events[0]?.data).toMatchObject({ members: [{ id: memberId, sessions: [{ sid: phone.sid }] }] });
    expect(await live()).toEqual([phone.sid]);
    await t.done(logoutMember, {}, laptop.caller);
    expect(await t.emitted()).toEqual([]);
    expect((await profile(phone.caller)).deviceList.map(({ name, status }) => [name, status]).sort()).toEqual([
      ['Firefox', false],
      ['Safari', true],
    ]);
  });
});

describe('a password', () => {
  const reset = (oldPassword: string, newPassword: string) =>
    t.call(resetPassword, { oldPassword, newPassword }, laptop.caller);
  const setPassword = (password: string) =>
    company.withMember(memberId, async (tx, member) => {
      const passwordHash = await t.app.get(Passwords).hash(password, memberLine(1, memberId));
      tx.step(memberAggregate, { ...member, passwordHash }, 'member.updated');
      return {};
    });
  const refused = { slug: 'invalid_parameters', issues: [{ path: '/oldPassword' }] };

  it('is replaced by who knows it; all sessions end but a fresh one of the device that asks', async () => {
    await setPassword('correct horse');
    await t.emitted();
    expect(await reset('wrong horse', 'battery staple')).toMatchObject(refused);
    expect(await live()).toHaveLength(2);
    expect(await t.emitted()).toEqual([]);
    const { token } = await t.done(
      resetPassword,
      { oldPassword: 'correct horse', newPassword: 'battery staple' },
      laptop.caller,
    );
    const { sid } = decodeJwt(token);
    expect(await live()).toEqual([sid]);
    // whoever else has the token of the calling session is signed out too
    expect([laptop.sid, phone.sid]).not.toContain(sid);
    const current = (await profile({ ...laptop.caller, session: String(sid) })).deviceList.filter(
      ({ currentDevice }) => currentDevice,
    );
    expect(current).toMatchObject([{ name: 'Firefox', ipAddress: '192.0.2.1', status: true }]);
    const events = await t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['member.updated', 'callers.changed', 'operation.logged']);
    expect(JSON.stringify(events)).not.toMatch(/argon2|horse|staple/);
    expect(await reset('correct horse', 'something else')).toMatchObject(refused);
    expect((await reset('battery staple', 'something else')).ok).toBe(true);
    expect((await profile()).isBlankPasswd).toBe(false);
  });

  it('is replaced once under one key, and a repeat gets the answer of then', async () => {
    await setPassword('correct horse');
    await t.emitted();
    const input = { oldPassword: 'correct horse', newPassword: 'battery staple' };
    const once = { ...laptop.caller, idempotencyKey: 'reset' };
    expect(await t.call(resetPassword, input, once)).toMatchObject({ ok: true });
    expect(await t.emitted()).toHaveLength(3);
    expect(await t.call(resetPassword, input, once)).toMatchObject({ ok: true, replayOf: expect.any(String) });
    expect(await t.emitted()).toEqual([]);
    const other = { ...input, oldPassword: 'wrong horse' };
    expect(await t.call(resetPassword, other, once)).toMatchObject({ slug: 'idempotency_reused' });
    expect(await t.call(resetPassword, input, laptop.caller)).toMatchObject(refused);
  });

  it('that a member has not cannot be replaced, and a new one has 8 to 128 characters', async () => {
    expect(await reset('', 'battery staple')).toMatchObject(refused);
    for (const short of ['1234567', 'x'.repeat(129)]) {
      expect(await reset('', short)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/newPassword' }] });
    }
  });

  it('is replaced once, of several who know it at once', async () => {
    await setPassword('correct horse');
    const all = await Promise.all(['one', 'two', 'three'].map(word => reset('correct horse', `password ${word}`)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
  });
});

it('are the affairs of members alone, even where a gateway let others through', async () => {
  for (const operation of [memberProfile, updateMember, logoutMember]) {
    expect(await t.call(operation, {}, company.key)).toMatchObject({ slug: 'permission_denied' });
  }
  const passwords = { oldPassword: 'x', newPassword: 'long enough' };
  expect(await t.call(resetPassword, passwords, company.key)).toMatchObject({ slug: 'permission_denied' });
});
