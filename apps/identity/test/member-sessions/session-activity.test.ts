import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { memberProfile } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';
import { type Company, newCompany, type SignedIn } from '../company.js';

let t: TestService;
let company: Company;
let first: SignedIn;
let second: SignedIn;
const clock = new MovableClock();
const hours = 3_600;
beforeAll(async () => {
  t = await testService(identity, { clock });
});
afterAll(() => t.close());
beforeEach(async () => {
  // ends the sessions of earlier tests
  clock.advance(24 * hours);
  await sweep();
  company = await newCompany(t);
  first = await company.signIn(company.ownerId);
  second = await company.signIn(company.ownerId, { name: 'Safari', ip: '192.0.2.2' });
  await t.emitted();
});

/** Reports over the bus as a gateway does. */
const report = async (...sessions: { sid: string; at: number }[]) => {
  const reply = await t.bus.request('cmd.identity.platform.activity', JSON.stringify({ sessions }), t.callerOf());
  expect(reply.ok).toBe(true);
};
const sweep = () => t.work.drain();
const live = async () => (await company.published(company.ownerId))?.sessions.map(({ sid }) => sid) ?? [];
const lastActive = async () => {
  const { merchantMember } = await t.done(memberProfile, {}, first.caller);
  return merchantMember.deviceList.find(({ currentDevice }) => currentDevice)?.lastActiveTime;
};

describe('a session that is used', () => {
  it('goes on, and its device shows when it was last used', async () => {
    clock.advance(5 * hours);
    await report({ sid: first.sid, at: clock.now() }, { sid: 'nobody', at: clock.now() });
    expect(await lastActive()).toBe(clock.now());
    clock.advance(3 * hours);
    await sweep();
    expect(await live()).toEqual([first.sid]);
    const events = await t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['callers.changed', 'operation.logged']);
    expect(events[0]?.data).toMatchObject({ members: [{ id: company.ownerId, sessions: [{ sid: first.sid }] }] });
    const target = `Member(${company.ownerId})`;
    expect(events[1]?.data).toMatchObject({ actor: { kind: 'system' }, target, content: 'EndSession' });
  });

  it('was not used earlier than was known, nor later than now', async () => {
    const opened = clock.now();
    await report({ sid: first.sid, at: opened - 100 });
    expect(await lastActive()).toBe(opened);
    await report({ sid: first.sid, at: opened + 8 * hours });
    expect(await lastActive()).toBe(opened);
  });
});

describe('a session that is not used', () => {
  it('ends after 8 hours and not before', async () => {
    clock.advance(8 * hours - 1);
    await sweep();
    expect(await live()).toHaveLength(2);
    expect(await t.emitted()).toEqual([]);
    clock.advance(1);
    await sweep();
    expect(await live()).toEqual([]);
    expect(await t.rows('select 1 from live_sessions')).toEqual([]);
    const logged = (await t.emitted()).filter(({ type }) => type === 'operation.logged');
    expect(logged).toHaveLength(1);
    await sweep();
    expect(await t.emitted()).toEqual([]);
  });

  it('ends once, however many replicas look', async () => {
    clock.advance(8 * hours);
    const replicas = [t, await t.replica(), await t.replica()];
    await Promise.all(replicas.map(({ work }) => work.drain()));
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['callers.changed', 'operation.logged']);
  });

  it('ends with its tokens at the latest, however busy', async () => {
    clock.advance(24 * hours);
    await report({ sid: first.sid, at: clock.now() }, { sid: second.sid, at: clock.now() });
    await sweep();
    expect(await t.rows('select 1 from live_sessions')).toEqual([]);
  });
});
