import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { verify } from '@node-rs/argon2';
import { newSession, newUser } from '@recur/contracts';
import { type MovableClock, type TestService, testService } from '@recur/platform/testing';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { Passwords } from '../../src/passwords/passwords.js';
import { identity } from '../../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity, { env: { PORTAL_BASE: 'https://pay.example.com/portal' } });
  await t.done(newSession, { email: 'first@example.com' }, { merchantId: 14 });
});
afterAll(() => t.close());

const hashOf = (session: string) => createHash('sha256').update(session).digest('base64url');
const contentOf = async () =>
  (await t.emitted()).map(({ type, data }) => [type, (data as { content?: string }).content]);
const rowOf = async (userId: string) => (await t.rows('select * from users where id = $1', [userId]))[0];

describe('session/new_session', () => {
  it('makes the user that there is not, and a session of it', async () => {
    await t.emitted();
    const given = {
      email: 'Ada@Example.com',
      firstName: 'Ada',
      lastName: 'L',
      phone: '1',
      address: 'x',
      externalUserId: 'a',
    };
    const urls = { returnUrl: 'https://shop.example.com/back', cancelUrl: 'https://shop.example.com/no' };
    const made = await t.done(newSession, { ...given, ...urls, password: 'correct horse' });
    expect(made).toEqual({
      clientSession: expect.stringMatching(/^[\w-]{43}$/),
      clientToken: expect.any(String),
      email: given.email,
      externalUserId: 'a',
      url: `https://pay.example.com/portal/session/${made.clientSession}`,
      userId: expect.stringMatching(/^\d+$/),
    });
    const userId = Number(made.userId);
    expect(await t.emitted()).toMatchObject([
      { type: 'user.created', version: 1, data: { ...given, id: userId } },
      { type: 'operation.logged', data: { target: `User(${userId})`, content: 'New', ids: { userId } } },
    ]);
    const expireTime = String(t.clock.now(15) + 36_000);
    expect(await t.rows('select * from client_sessions where user_id = $1', [userId])).toEqual([
      {
        session_hash: hashOf(made.clientSession),
        merchant_id: '15',
        user_id: made.userId,
        return_url: urls.returnUrl,
        cancel_url: urls.cancelUrl,
        product_id: '0',
        plan_id: '0',
        subscription_id: '',
        vat_country_code: '',
        expire_time: expireTime,
        exchange_time: '0',
        remove_time: expireTime,
      },
    ]);
    const hash = String((await rowOf(made.userId))?.password_hash);
    expect(await verify(hash, 'correct horse')).toBe(true);
  });

  it('finds the user by its e-mail in any case, and changes nothing that is the same or blank', async () => {
    const { user } = await t.done(newUser, { email: 'Same@example.com', firstName: 'S', phone: '2' });
    await t.emitted();
    const made = await t.done(newSession, {
      email: 'same@EXAMPLE.com',
      firstName: 'S',
      phone: '',
      lastName: '',
      password: 'new one',
    });
    expect(made).toMatchObject({ userId: String(user.id), email: 'Same@example.com', externalUserId: '' });
    expect(await contentOf()).toEqual([['operation.logged', 'NewSession']]);
    expect(await rowOf(made.userId)).toMatchObject({ first_name: 'S', phone: '2', version: 1, password_hash: null });
  });

  it('overwrites what is given and new, with one event', async () => {
    const { user } = await t.done(newUser, { email: 'old@example.com', firstName: 'Old', lastName: 'Kept' });
    await t.emitted();
    const given = { email: 'old@example.com', firstName: 'New', address: 'here', externalUserId: 'linked' };
    const made = await t.done(newSession, given);
    expect(made).toMatchObject({ userId: String(user.id), externalUserId: 'linked' });
    expect(await t.emitted()).toMatchObject([
      { type: 'user.updated', version: 2, data: { ...given, lastName: 'Kept', version: 2 } },
      { type: 'operation.logged', data: { content: 'NewSession' } },
    ]);
  });

  it('finds the user by externalUserId before the e-mail, which then becomes its own', async () => {
    const { user } = await t.done(newUser, { email: 'ext@example.com', externalUserId: 'ext' });
    const { user: other } = await t.done(newUser, { email: 'held@example.com' });
    const made = await t.done(newSession, { email: 'moved@example.com', externalUserId: 'ext' });
    expect(made).toMatchObject({ userId: String(user.id), email: 'moved@example.com' });
    await t.emitted();
    expect(await t.call(newSession, { email: 'HELD@example.com', externalUserId: 'ext' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/email' }],
    });
    expect(await t.emitted()).toEqual([]);
    // without an external id, the e-mail finds its user
    expect(await t.done(newSession, { email: 'held@example.com' })).toMatchObject({ userId: String(other.id) });
  });

  it('of a user who is suspended is refused', async () => {
    const { user } = await t.done(newUser, { email: 'sus@example.com' });
    await t.rows(`update users set status = 'suspended' where id = $1`, [user.id]);
    expect(await t.call(newSession, { email: 'sus@example.com', firstName: 'x' })).toMatchObject({
      slug: 'user_inactive',
      message: `User ${user.id} is suspended: cannot open a session for it`,
    });
  });

  it('names every field that is wrong', async () => {
    const result = await t.call(newSession, { email: 'nobody', returnUrl: 'javascript:x', cancelUrl: 'ftp://x' });
    expect(result).toMatchObject({ issues: [{ path: '/email' }, { path: '/returnUrl' }, { path: '/cancelUrl' }] });
  });

  it.each([2, 64])('makes one user of %i calls at once', async times => {
    await t.emitted();
    const email = (at: number) => (at % 2 ? `RACE${times}@example.com` : `race${times}@example.com`);
    const all = await Promise.all(
      Array.from({ length: times }, (_, at) =>
        t.done(newSession, { email: email(at), externalUserId: at % 3 ? `race${times}` : undefined, firstName: 'R' }),
      ),
    );
    expect(new Set(all.map(({ userId }) => userId)).size).toBe(1);
    expect(new Set(all.map(({ clientSession }) => clientSession)).size).toBe(times);
    const events = await t.emitted();
    expect(events.filter(({ type }) => type === 'user.created')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'operation.logged')).toHaveLength(times);
    const versions = events.filter(({ aggregate }) => aggregate === 'user').map(({ version }) => version);
    expect(versions).toEqual(versions.map((_, at) => at + 1));
    expect(await t.rows('select 1 from client_sessions where user_id = $1', [all[0]?.userId])).toHaveLength(times);
  });

  it('makes one user of calls at once that share the externalUserId only', async () => {
    const all = await Promise.all(
      Array.from({ length: 16 }, (_, at) =>
        t.done(newSession, { email: `x${at}@example.com`, externalUserId: 'shared' }),
      ),
    );
    expect(new Set(all.map(({ userId }) => userId)).size).toBe(1);
    expect(await t.rows(`select 1 from users where external_user_id = 'shared'`)).toHaveLength(1);
  });

  it('answers a repeat with the same session, kept encrypted', async () => {
    const input = { email: 'again@example.com' };
    const calls = () => t.call(newSession, input, { idempotencyKey: 'again' });
    const [first, ...others] = await Promise.all(Array.from({ length: 8 }, calls));
    for (const other of [...others, await calls()]) {
      expect(other).toMatchObject({ ok: true, data: first?.ok && first.data });
    }
    const { clientSession, clientToken } = first?.ok ? first.data : { clientSession: '', clientToken: '' };
    expect(await t.rows('select 1 from client_sessions where session_hash = $1', [hashOf(clientSession)])).toHaveLength(
      1,
    );
    for (const { tablename } of await t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
      const everything = JSON.stringify(await t.rows(`select t::text from "${tablename}" t`));
      for (const secret of [clientSession, clientToken]) expect(everything).not.toContain(secret);
    }
  });
});

it('a password is hashed outside of transactions, which would hold connections while hashes wait', async () => {
  const passwords = t.app.get(Passwords);
  const { hash } = passwords;
  const open: unknown[] = [];
  const waiting = `select count(*)::int as open from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction'`;
  const spied = jest.spyOn(passwords, 'hash').mockImplementation(async (...args) => {
    open.push((await t.rows(waiting))[0]?.open);
    return hash.apply(passwords, args);
  });
  await t.done(newSession, { email: 'hashed@example.com', password: 'correct horse' });
  await t.done(newSession, { email: 'hashed@example.com', password: 'correct horse' });
  spied.mockRestore();
  expect(open).toEqual([0]);
});

describe('a client token', () => {
  it('is signed by the key that gateways know, says who the user is, and holds ten minutes', async () => {
    const { clientToken, clientSession, userId } = await t.done(newSession, { email: 'token@example.com' });
    const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf({ merchantId: 0 }));
    const { keys } = JSON.parse(reply.bytes.toString()) as JSONWebKeySet;
    const check = (seconds: number) =>
      jwtVerify(clientToken, createLocalJWKSet({ keys }), {
        algorithms: ['EdDSA'],
        issuer: 'recur',
        audience: 'recur',
        typ: 'client+jwt',
        currentDate: new Date(t.clock.wall() + seconds * 1000),
      });
    const { payload } = await check(599);
    const iat = t.clock.now(15);
    const sid = hashOf(clientSession);
    const who = { sub: userId, merchant: 15, sid, env: 'sandbox' };
    expect(payload).toEqual({ iss: 'recur', aud: 'recur', ...who, iat, exp: iat + 600 });
    await expect(check(601)).rejects.toThrow(/exp/);
  });
});

it('sessions are removed when they have expired, however many', async () => {
  await t.done(newSession, { email: 'kept@example.com' });
  await t.rows(`insert into client_sessions select 'h' || n, 15, 1, '', '', 1, 1 from generate_series(1, 2500) n`);
  await t.janitor.sweep();
  const left = async () => Number((await t.rows('select count(*) as n from client_sessions'))[0]?.n);
  expect(await left()).toBeGreaterThan(0);
  expect(await t.rows('select 1 from client_sessions where remove_time = 1')).toEqual([]);
  (t.clock as MovableClock).advance(36_001);
  await t.janitor.sweep();
  expect(await left()).toBe(0);
});
