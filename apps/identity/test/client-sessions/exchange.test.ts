import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  customerPortalUrl,
  emptyOf,
  newSession,
  PortalUser,
  portalSessionExchange,
  portalSessionRefresh,
  portalUserDetail,
  portalUserUpdate,
  suspendUser,
  updateMerchant,
  updateUser,
} from '@recur/contracts';
import type { MovableClock, TestCaller } from '@recur/platform/testing';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { makePortal, type Portal } from '../portal.js';

let portal: Portal;
let t: Portal['t'];
let shop: TestCaller;
let other: TestCaller;
beforeAll(async () => {
  portal = await makePortal();
  t = portal.t;
  [shop, other] = [await portal.merchant(), await portal.merchant()].map(({ merchantId }) => ({ merchantId })) as [
    TestCaller,
    TestCaller,
  ];
});
afterAll(() => t.close());

const clock = () => t.clock as MovableClock;
const wall = () => Math.floor(t.clock.wall() / 1000);
const nobody: TestCaller = { merchantId: 0 };
const linkOf = (email: string, as = shop) => t.done(newSession, { email }, as);
const exchange = (clientSession: string, as = nobody) => t.call(portalSessionExchange, { clientSession }, as);
/** The caller that a gateway makes of a token. */
async function callerOf(token: string): Promise<TestCaller & { claims: Record<string, unknown> }> {
  const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf({ merchantId: 0 }));
  const { payload } = await jwtVerify(token, createLocalJWKSet(JSON.parse(reply.bytes.toString()) as JSONWebKeySet), {
    algorithms: ['EdDSA'],
    issuer: 'recur',
    audience: 'recur',
    typ: 'user+jwt',
    currentDate: new Date(t.clock.wall()),
  });
  return {
    merchantId: Number(payload.merchant),
    actor: { kind: 'user', id: String(payload.sub), display: String(payload.email) },
    session: String(payload.sid),
    claims: payload,
  };
}
/** A user who has opened the pages, as the gateway's caller. */
async function visitor(email: string, as = shop) {
  const { clientSession } = await linkOf(email, as);
  const { token, user } = await t.done(portalSessionExchange, { clientSession }, nobody);
  return { ...(await callerOf(token)), userId: user.id };
}

describe('session/exchange', () => {
  it('answers a token of the user, who the merchant is, and what the link is for', async () => {
    await t.done(updateMerchant, { companyName: 'Acme Ltd', companyLogo: 'https://acme.example/logo.png' }, shop);
    const given = { email: 'ada@example.com', firstName: 'Ada', returnUrl: 'https://shop.example.com/back' };
    const { clientSession, userId } = await t.done(newSession, given, shop);
    await t.emitted();
    const opened = await t.done(portalSessionExchange, { clientSession }, nobody);
    expect(opened).toEqual({
      token: expect.any(String),
      expiresAt: wall() + 900,
      endsAt: wall() + 28_800,
      purpose: 'portal',
      user: { ...emptyOf(PortalUser), id: Number(userId), email: given.email, type: 1, firstName: 'Ada' },
      merchant: expect.objectContaining({ name: 'Acme', companyName: 'Acme Ltd' }),
      productId: 0,
      planId: 0,
      subscriptionId: '',
      vatCountryCode: '',
      cancelUrl: '',
      returnUrl: given.returnUrl,
    });
    const { claims } = await callerOf(opened.token);
    expect(claims).toMatchObject({ sub: userId, merchant: shop.merchantId, email: given.email, env: 'sandbox' });
    expect(claims.exp).toBe(wall() + 900);
    expect(await t.emitted()).toMatchObject([
      {
        type: 'operation.logged',
        merchantId: shop.merchantId,
        data: { actor: { kind: 'user', id: userId }, target: `User(${userId})`, content: 'OpenPages' },
      },
    ]);
  });

  it('tells what a portal link shows', async () => {
    const { userId } = await linkOf('shown@example.com');
    const asked = { userId: Number(userId), vatCountryCode: 'DE', cancelUrl: 'https://shop.example.com/no' };
    const { url } = await t.done(customerPortalUrl, asked, shop);
    const clientSession = url.split('/').at(-1) ?? '';
    expect(await t.done(portalSessionExchange, { clientSession }, nobody)).toMatchObject({
      purpose: 'portal',
      vatCountryCode: 'DE',
      cancelUrl: asked.cancelUrl,
    });
  });

  it('works once: 64 at once, and one succeeds', async () => {
    const { clientSession } = await linkOf('once@example.com');
    const answers = await Promise.all(Array.from({ length: 64 }, () => exchange(clientSession)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(new Set(answers.flatMap(answer => (answer.ok ? [] : [answer.slug])))).toEqual(
      new Set(['client_session_used']),
    );
    expect(await exchange(clientSession)).toMatchObject({ slug: 'client_session_used' });
  });

  it('answers a repeat under its Idempotency-Key, kept encrypted and apart from the keys of the merchant', async () => {
    const { clientSession } = await linkOf('repeat@example.com');
    const first = await exchange(clientSession, { ...nobody, idempotencyKey: 'a' });
    expect(await exchange(clientSession, { ...nobody, idempotencyKey: 'a' })).toMatchObject({
      ok: true,
      data: first.ok && first.data,
    });
    expect(await exchange(clientSession, { ...nobody, idempotencyKey: 'b' })).toMatchObject({
      slug: 'client_session_used',
    });
    expect(await t.call(newSession, { email: 'x@example.com' }, { ...shop, idempotencyKey: 'a' })).toMatchObject({
      ok: true,
    });
    const token = first.ok ? first.data.token : '';
    for (const { tablename } of await t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
      const everything = JSON.stringify(await t.rows(`select t::text from "${tablename}" t`));
      for (const secret of [clientSession, token]) expect(everything).not.toContain(secret);
    }
  });

  it('refuses an expired session, an unknown one, and that of a user who was suspended or is gone', async () => {
    const unknown = await exchange('x'.repeat(43));
    expect(unknown).toMatchObject({ slug: 'client_session_expired' });
    const late = await linkOf('late@example.com');
    clock().advance(35_999);
    const intime = await linkOf('in-time@example.com');
    clock().advance(1);
    expect(await exchange(late.clientSession)).toEqual(unknown);
    expect(await exchange(intime.clientSession)).toMatchObject({ ok: true });
    const { clientSession, userId } = await linkOf('suspended@example.com');
    await t.done(suspendUser, { userId: Number(userId) }, shop);
    expect(await exchange(clientSession)).toMatchObject({ slug: 'user_inactive' });
    await t.rows('delete from users where id = $1 and merchant_id = $2', [userId, shop.merchantId]);
    expect(await exchange(clientSession)).toEqual(unknown);
  });

  it('tells of a used link that it was used, also when sessions are swept after it would have expired', async () => {
    const { clientSession } = await linkOf('swept@example.com');
    clock().advance(35_000);
    expect(await exchange(clientSession)).toMatchObject({ ok: true });
    clock().advance(20_000);
    await t.janitor.sweep();
    expect(await exchange(clientSession)).toMatchObject({ slug: 'client_session_used' });
    clock().advance(10_000);
    await t.janitor.sweep();
    expect(await exchange(clientSession)).toMatchObject({ slug: 'client_session_expired' });
  });
});

describe('session/refresh', () => {
  it('answers another token of the same session, for 8 hours after the exchange', async () => {
    const user = await visitor('long@example.com');
    const endsAt = wall() + 28_800;
    clock().advance(800);
    const next = await t.done(portalSessionRefresh, {}, user);
    expect(next).toEqual({ token: expect.any(String), expiresAt: wall() + 900, endsAt });
    expect(await callerOf(next.token)).toMatchObject({ actor: user.actor, session: user.session });
    clock().advance(27_900);
    // the last token ends with the session
    expect(await t.done(portalSessionRefresh, {}, user)).toMatchObject({ expiresAt: endsAt, endsAt });
    clock().advance(100);
    expect(await t.call(portalSessionRefresh, {}, user)).toMatchObject({ slug: 'client_session_expired' });
  });

  it("is refused for a session that is another user's or another merchant's, was not exchanged, or is of nobody", async () => {
    const [user, second, stranger] = [
      await visitor('one@example.com'),
      await visitor('two@example.com'),
      await visitor('one@example.com', other),
    ];
    const expired = { ok: false, slug: 'client_session_expired' };
    expect(await t.call(portalSessionRefresh, {}, { ...user, session: second.session })).toMatchObject(expired);
    expect(await t.call(portalSessionRefresh, {}, { ...user, session: stranger.session })).toMatchObject(expired);
    expect(await t.call(portalSessionRefresh, {}, { ...user, session: undefined })).toMatchObject(expired);
    const { clientSession } = await linkOf('one@example.com');
    const [row] = await t.rows(
      'select session_hash from client_sessions where exchange_time = 0 order by remove_time desc',
    );
    expect(clientSession).not.toBe(row?.session_hash);
    expect(await t.call(portalSessionRefresh, {}, { ...user, session: String(row?.session_hash) })).toMatchObject(
      expired,
    );
  });

  it('is refused for a user who was suspended meanwhile', async () => {
    const user = await visitor('bad@example.com');
    await t.done(suspendUser, { userId: user.userId }, shop);
    expect(await t.call(portalSessionRefresh, {}, user)).toMatchObject({ slug: 'user_inactive' });
  });
});

describe('user/detail and user/update', () => {
  it("show and change the caller's own billing details, and nothing that the merchant keeps for itself", async () => {
    const user = await visitor('own@example.com');
    await t.done(updateUser, { userId: user.userId, metadata: { margin: 'secret' }, externalUserId: 'ext' }, shop);
    const { user: before } = await t.done(portalUserDetail, {}, user);
    expect(before).toEqual({ ...emptyOf(PortalUser), id: user.userId, email: 'own@example.com', type: 1 });
    await t.emitted();
    const edit = { type: 2, companyName: 'Own GmbH', vATNumber: 'DE123456789', countryCode: 'DE', language: 'de' };
    const { user: after } = await t.done(portalUserUpdate, edit, user);
    expect(after).toEqual({ ...before, ...edit, countryName: 'Deutschland' });
    expect(await t.emitted()).toMatchObject([
      { type: 'user.updated', data: { ...edit, externalUserId: 'ext', metadata: { margin: 'secret' } } },
      { type: 'operation.logged', data: { actor: { kind: 'user', display: 'own@example.com' }, content: 'Update' } },
    ]);
    expect(await t.done(portalUserUpdate, edit, user)).toEqual({ user: after });
    expect(await t.emitted()).toEqual([]);
    expect(await t.done(portalUserDetail, {}, user)).toEqual({ user: after });
  });

  it("see another user as little as another merchant's, whatever the input says", async () => {
    const [one, two] = [await visitor('a@example.com'), await visitor('b@example.com')];
    const stranger = await visitor('a@example.com', other);
    const asked = { userId: two.userId, firstName: 'Mallory', email: 'b@example.com', metadata: { x: 1 } };
    expect(await t.done(portalUserUpdate, asked, one)).toMatchObject({
      user: { id: one.userId, firstName: 'Mallory' },
    });
    for (const caller of [two, stranger]) {
      expect(await t.done(portalUserDetail, {}, caller)).toMatchObject({ user: { firstName: '' } });
    }
  });

  it('are refused to whoever is no user', async () => {
    for (const operation of [portalUserDetail, portalUserUpdate]) {
      expect(await t.call(operation, {}, shop)).toMatchObject({ slug: 'permission_denied' });
    }
  });
});
