import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verify } from '@node-rs/argon2';
import { emptyOf, newUser, User } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const issuesOf = async (input: object, merchantId?: number) => {
  const result = await t.call(newUser, input, { merchantId });
  if (result.ok) throw new Error('it was accepted');
  return [result.slug, ...result.issues.map(({ path }) => path)];
};

describe('user/new', () => {
  it('answers every field of the user, with one event and one log entry', async () => {
    await t.emitted();
    const given = {
      email: 'Ada@Example.com',
      externalUserId: 'ext-1',
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: '+44 1',
      address: 'London',
      language: 'en',
    };
    const { user } = await t.done(newUser, given);
    const now = t.clock.now(15);
    expect(user).toEqual({
      ...emptyOf(User),
      ...given,
      id: expect.any(Number),
      merchantId: 15,
      status: 0,
      type: 1,
      billingType: 1,
      createTime: now,
      version: 1,
    });
    expect(await t.emitted()).toMatchObject([
      { type: 'user.created', aggregate: 'user', aggregateId: String(user.id), version: 1, data: user },
      { type: 'operation.logged', data: { target: `User(${user.id})`, content: 'New', ids: { userId: user.id } } },
    ]);
    const state = await t.bus.request(
      'cmd.identity.platform.state',
      JSON.stringify({ aggregate: 'user', id: String(user.id) }),
      t.callerOf(),
    );
    expect(JSON.parse(state.bytes.toString())).toEqual({ item: { merchantId: 15, version: 1, data: user } });
  });

  it('is known to other services by its e-mail and its external id, too', async () => {
    const { user } = await t.done(newUser, { email: 'Known@example.com', externalUserId: 'known' });
    const asked = async (by: object, merchantId = 15) => {
      const question = JSON.stringify({ aggregate: 'user', by });
      const reply = await t.bus.request('cmd.identity.platform.state', question, t.callerOf({ merchantId }));
      return reply.ok ? JSON.parse(reply.bytes.toString()).item : 'refused';
    };
    for (const by of [{ email: 'kNOWN@example.com' }, { externalUserId: 'known' }]) {
      expect(await asked(by)).toEqual({ merchantId: 15, version: 1, data: user });
      expect(await asked(by, 16)).toBeNull();
    }
    expect(await asked({ email: 'nobody@example.com' })).toBeNull();
    for (const by of [{ externalUserId: '' }, { firstName: 'Ada' }, {}]) expect(await asked(by)).toBe('refused');
  });

  it('refuses an e-mail and an external id that another user of the merchant has, both at once', async () => {
    await t.done(newUser, { email: 'one@example.com', externalUserId: 'one' });
    expect(await issuesOf({ email: 'ONE@example.com' })).toEqual(['invalid_parameters', '/email']);
    expect(await issuesOf({ email: 'two@example.com', externalUserId: 'one' })).toEqual([
      'invalid_parameters',
      '/externalUserId',
    ]);
    expect(await issuesOf({ email: 'one@example.com', externalUserId: 'one' })).toEqual([
      'invalid_parameters',
      '/email',
      '/externalUserId',
    ]);
    await t.done(newUser, { email: 'one@example.com', externalUserId: 'one' }, { merchantId: 16 });
    await t.done(newUser, { email: 'two@example.com', externalUserId: 'ONE' });
  });

  it('takes any number of users without an external id', async () => {
    await t.done(newUser, { email: 'no-id-1@example.com' });
    await t.done(newUser, { email: 'no-id-2@example.com', externalUserId: '' });
  });

  it('names every field that is wrong', async () => {
    expect(await issuesOf({})).toEqual(['invalid_parameters', '/email']);
    expect(await issuesOf({ email: 'nobody', phone: 7, language: 8 })).toEqual([
      'invalid_parameters',
      '/email',
      '/phone',
      '/language',
    ]);
    // the longest accepted values fit the unique indexes
    const longest = (length: number) =>
      String.fromCodePoint(...Array.from({ length }, (_, at) => 0x20000 + ((at * 7919) % 40_000)));
    const externalUserId = longest(127);
    const { user } = await t.done(newUser, { email: `${longest(154)}@example.com`, externalUserId });
    expect(user.externalUserId).toBe(externalUserId);
  });

  it('keeps a password as argon2id, and shows it to nobody', async () => {
    const password = 'canary correct horse';
    const { user } = await t.done(newUser, { email: 'secret@example.com', password }, { idempotencyKey: 'secret' });
    const [row] = await t.rows('select password_hash from users where id = $1', [user.id]);
    const hash = String(row?.password_hash);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await verify(hash, password)).toBe(true);
    for (const { tablename } of await t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
      const everything = JSON.stringify(await t.rows(`select t::text from "${tablename}" t`));
      expect(everything).not.toContain('canary');
      if (tablename !== 'users') expect(everything).not.toContain('argon2id');
    }
    const { user: without } = await t.done(newUser, { email: 'blank@example.com', password: '' });
    expect(await t.rows('select password_hash from users where id = $1', [without.id])).toEqual([
      { password_hash: null },
    ]);
  });

  it('with a password is made 64 times at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, at) => t.call(newUser, { email: `p${at}@example.com`, password: 'pass word' })),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
  });

  it('makes one user of 64 calls at once with one e-mail', async () => {
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        t.call(newUser, { email: at % 2 ? 'race@example.com' : 'RACE@example.com' }),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const refused = results.filter(({ ok }) => !ok);
    expect(refused).toHaveLength(63);
    for (const result of refused) {
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/email' }] });
    }
    expect(await t.rows(`select 1 from users where email_key = 'race@example.com'`)).toHaveLength(1);
    const created = (await t.emitted()).filter(({ data }) => /^race@/i.test((data as { email?: string }).email ?? ''));
    expect(created).toHaveLength(1);
  });

  it('answers a repeat with the same bytes although the e-mail is taken by now', async () => {
    const input = { email: 'again@example.com', externalUserId: 'again' };
    const first = await t.done(newUser, input, { idempotencyKey: 'again' });
    expect(await t.call(newUser, input, { idempotencyKey: 'again' })).toMatchObject({ ok: true, data: first });
    expect(await issuesOf(input)).toEqual(['invalid_parameters', '/email', '/externalUserId']);
  });
});

describe('another merchant', () => {
  it('sees nothing of a user, even without a condition', async () => {
    const { user } = await t.done(newUser, { email: 'mine@example.com' }, { merchantId: 17 });
    const look = (merchantId: number) =>
      t.db.read(t.callerOf({ merchantId }), reader => reader.query('select id from users', []));
    expect(await look(18)).toEqual([]);
    expect(await look(17)).toEqual([{ id: String(user.id) }]);
    const asked = (id: number, merchantId: number) =>
      t.bus.request(
        'cmd.identity.platform.state',
        JSON.stringify({ aggregate: 'user', id }),
        t.callerOf({ merchantId }),
      );
    const [theirs, unknown] = await Promise.all([asked(user.id, 18), asked(999_999, 18)]);
    expect(theirs.bytes.toString()).toBe(unknown.bytes.toString());
  });
});
