import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  customerPortalUrl,
  newUser,
  planStatus,
  planType,
  subscriptionStatus,
  subscriptionUpdateUrl,
  suspendUser,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../../billing/src/service.js';
import { identity } from '../../src/service.js';
import { planned, planOf, produced, productOf, subscribed, subscriptionOf } from '../published.js';

let t: TestService;
/** The real billing service, which has no subscriptions yet. */
let owner: TestService;
const ada = {
  email: 'Ada@Example.com',
  externalUserId: 'ada-ext',
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: '+44 123',
};
let userId = 0;

beforeAll(async () => {
  t = await testService(identity, { env: { PORTAL_BASE: 'https://pay.example.com/portal' } });
  owner = await testService(billing);
  userId = (await t.done(newUser, ada)).user.id;
  await t.deliver('billing', [
    subscribed(subscriptionOf(userId, { subscriptionId: 'sub_main' })),
    subscribed(subscriptionOf(userId, { subscriptionId: 'sub_7', productId: 7 })),
  ]);
  await t.deliver('catalog', [
    planned(planOf(5)),
    planned(planOf(6, { status: planStatus.editing })),
    planned(planOf(7, { productId: 7 })),
    planned(planOf(8, { type: planType.recurringAddon })),
    produced(productOf(7)),
    produced(productOf(9, { isDeleted: 1_768_000_000 })),
  ]);
  await t.emitted();
});
afterAll(async () => {
  await owner.close();
  await t.close();
});

/** Answers for the owners of the copies: the real billing service, and a catalog with nothing newer. */
function ownersAnswer(): void {
  const asked = owner.bus.request.bind(owner.bus);
  t.bus.answer('billing', (command, payload, caller) => asked(`cmd.billing.${command}`, payload, caller));
  t.bus.answer('catalog', async () => ({ ok: true, bytes: JSON.stringify({ item: null }) }));
}
afterEach(() => {
  for (const service of ['billing', 'catalog']) t.bus.remove(service);
});

const sessionIn = async (url: string) => {
  const [, session = ''] = /\/session\/([\w-]{43})(?:\/|$)/.exec(url) ?? [];
  const hash = createHash('sha256').update(session).digest('base64url');
  const [row] = await t.rows('select * from client_sessions where session_hash = $1', [hash]);
  return row;
};

describe.each([
  ['session/user_sub_update_url', subscriptionUpdateUrl, 'SubscriptionUpdateUrl', '/subscription'],
  ['session/customer_portal_url', customerPortalUrl, 'CustomerPortalUrl', ''],
] as const)('%s', (_, operation, content, page) => {
  it('opens a session of the user, whose URL says nothing else', async () => {
    await t.emitted();
    const given = { planId: 5, vatCountryCode: 'GB', returnUrl: 'https://shop.example.com/b', cancelUrl: '' };
    const { url } = await t.done(operation, { userId, ...given });
    expect(url).toMatch(new RegExp(`^https://pay\\.example\\.com/portal/session/[\\w-]{43}${page}$`));
    const now = t.clock.now(15);
    expect(await sessionIn(url)).toMatchObject({
      merchant_id: '15',
      user_id: String(userId),
      return_url: given.returnUrl,
      cancel_url: '',
      product_id: '0',
      plan_id: '5',
      subscription_id: page && 'sub_main',
      vat_country_code: 'GB',
      expire_time: String(now + 36_000),
      remove_time: String(now + 36_000),
    });
    expect(await t.emitted()).toMatchObject([
      { type: 'operation.logged', data: { target: `User(${userId})`, content, ids: { userId, planId: 5 } } },
    ]);
    for (const text of [...Object.values(ada), String(userId), 'GB', 'sub_main', 'shop.example.com']) {
      const own = url.replace(/session\/[\w-]{43}/, '');
      expect(own.toLowerCase()).not.toContain(text.toLowerCase());
    }
  });

  it.each([
    ['userId', () => ({ userId })],
    ['userId before all else', () => ({ userId, externalUserId: 'nobody', email: 'nobody@example.com' })],
    ['externalUserId with email, in any case', () => ({ externalUserId: 'ada-ext', email: 'aDA@example.COM' })],
    ['externalUserId alone', () => ({ externalUserId: 'ada-ext', userId: 0, email: '' })],
    ['email alone', () => ({ email: 'ada@example.com', externalUserId: '' })],
  ])('finds the user by %s', async (_name, named) => {
    const { url } = await t.done(operation, named());
    expect(await sessionIn(url)).toMatchObject({ user_id: String(userId) });
  });

  it('mints a session of its own for each call', async () => {
    const urls = await Promise.all(Array.from({ length: 64 }, () => t.done(operation, { userId })));
    expect(new Set(urls.map(({ url }) => url)).size).toBe(64);
  });

  it('refuses a call that names nobody', async () => {
    for (const named of [{}, { userId: 0, externalUserId: '', email: '' }]) {
      expect(await t.call(operation, named)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '' }] });
    }
  });

  it("does not find who is not there, another merchant's user, or an externalUserId and an email of two users: 53", async () => {
    await t.done(newUser, { email: `two${page.length}@example.com` });
    const { user: theirs } = await t.done(newUser, { email: `theirs${page.length}@example.com` }, { merchantId: 16 });
    const unknown = await t.call(operation, { userId: 999_999 });
    expect(unknown).toMatchObject({ slug: 'user_not_found' });
    for (const named of [
      { userId: theirs.id },
      { email: theirs.email },
      { externalUserId: 'ada-ext', email: `two${page.length}@example.com` },
      { externalUserId: 'ADA-EXT' },
      { userId: -1 },
    ]) {
      expect(await t.call(operation, named)).toEqual(unknown);
    }
  });

  it('refuses a user who is suspended', async () => {
    const { user } = await t.done(newUser, { email: `suspended${page.length}@example.com` });
    await t.done(suspendUser, { userId: user.id });
    expect(await t.call(operation, { userId: user.id })).toMatchObject({ slug: 'user_inactive' });
  });

  it('takes an active main plan of the product and no other; 56 where catalog cannot be asked', async () => {
    expect(await t.call(operation, { userId, planId: 99 })).toMatchObject({ slug: 'dependency_away' });
    ownersAnswer();
    expect(await t.call(operation, { userId, planId: 99 })).toMatchObject({ slug: 'plan_not_found' });
    expect(await t.call(operation, { userId, planId: 6 })).toMatchObject({
      slug: 'plan_not_active',
      message: 'Plan 6 is editing: cannot offer it',
    });
    for (const planId of [7, 8]) {
      expect(await t.call(operation, { userId, planId })).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/planId', message: 'planId must be a main plan of product 0' }],
      });
    }
    expect(await t.call(operation, { userId, productId: 7, planId: 7 })).toMatchObject({ ok: true });
  });

  it('takes a plan that has become active meanwhile', async () => {
    const planId = 60 + page.length;
    await t.deliver('catalog', [planned(planOf(planId, { status: planStatus.editing }))]);
    const item = { merchantId: 15, version: 2, data: planOf(planId) };
    t.bus.answer('catalog', async () => ({ ok: true, bytes: JSON.stringify({ item }) }));
    expect(await t.call(operation, { userId, planId })).toMatchObject({ ok: true });
  });

  it('refuses URLs that are none, by name', async () => {
    expect(await t.call(operation, { userId, returnUrl: 'javascript:x', cancelUrl: 'ftp://x' })).toMatchObject({
      issues: [{ path: '/returnUrl' }, { path: '/cancelUrl' }],
    });
    expect(await t.call(operation, { userId: 'one' })).toMatchObject({ issues: [{ path: '/userId' }] });
  });
});

describe('the subscription that is updated', () => {
  const { pending, active, cancelled, expired, incomplete, processing, failed, init } = subscriptionStatus;
  const of = async (named: object) =>
    (await sessionIn((await t.done(subscriptionUpdateUrl, named)).url))?.subscription_id;

  it('is that of the product', async () => {
    expect(await of({ userId, productId: 7 })).toBe('sub_7');
    expect(await of({ userId })).toBe('sub_main');
  });

  it('is the latest that is active, incomplete, pending or processing', async () => {
    const { user } = await t.done(newUser, { email: 'many@example.com' });
    const tell = (subscriptionId: string, status: number, createTime: number) =>
      t.deliver('billing', [subscribed(subscriptionOf(user.id, { subscriptionId, status, createTime }))]);
    for (const [at, status] of [active, incomplete, pending, processing].entries()) {
      await tell(`sub_live${at}`, status, 1_000 + at);
      expect(await of({ userId: user.id })).toBe(`sub_live${at}`);
    }
    for (const [at, status] of [init, cancelled, expired, failed].entries())
      await tell(`sub_dead${at}`, status, 2_000 + at);
    expect(await of({ userId: user.id })).toBe('sub_live3');
    await tell('sub_older', active, 500);
    expect(await of({ userId: user.id })).toBe('sub_live3');
  });

  it('is asked for where none is known: 56 while billing is away, 53 where it has none', async () => {
    const { user } = await t.done(newUser, { email: 'none@example.com' });
    const call = () => t.call(subscriptionUpdateUrl, { userId: user.id });
    expect(await call()).toMatchObject({ slug: 'dependency_away' });
    ownersAnswer();
    expect(await call()).toMatchObject({ slug: 'subscription_not_found' });
    await t.deliver('billing', [subscribed(subscriptionOf(user.id, { status: cancelled }))]);
    expect(await call()).toMatchObject({ slug: 'subscription_not_found' });
    expect(await t.call(subscriptionUpdateUrl, { userId, productId: 8 })).toMatchObject({
      slug: 'subscription_not_found',
    });
    // all subscriptions that billing answers are stored
    const asked: unknown[] = [];
    const state = (subscriptionId: string, productId: number) => ({
      merchantId: 15,
      version: 1,
      data: subscriptionOf(user.id, { subscriptionId, productId }),
    });
    t.bus.answer('billing', async (command, payload) => {
      asked.push([command, JSON.parse(payload)]);
      return { ok: true, bytes: JSON.stringify({ item: state('sub_b', 3), more: [state('sub_a', 0)] }) };
    });
    expect(await of({ userId: user.id })).toBe('sub_a');
    expect(await of({ userId: user.id, productId: 3 })).toBe('sub_b');
    expect(asked).toEqual([['platform.state', { aggregate: 'subscription', by: { userId: String(user.id) } }]]);
  });
});

describe('the product of the portal', () => {
  it('must be there: 53; the default one always is', async () => {
    ownersAnswer();
    for (const productId of [8, 9, -1]) {
      expect(await t.call(customerPortalUrl, { userId, productId })).toMatchObject({ slug: 'product_not_found' });
    }
    for (const productId of [0, 7])
      expect(await t.call(customerPortalUrl, { userId, productId })).toMatchObject({ ok: true });
    t.bus.remove('catalog');
    expect(await t.call(customerPortalUrl, { userId, productId: 8 })).toMatchObject({ slug: 'dependency_away' });
  });

  it('needs no subscription', async () => {
    const { user } = await t.done(newUser, { email: 'free@example.com' });
    expect(await t.call(customerPortalUrl, { userId: String(user.id) })).toMatchObject({ ok: true });
  });
});

it('what is kept of a session under an Idempotency-Key is encrypted', async () => {
  const first = await t.done(subscriptionUpdateUrl, { userId }, { idempotencyKey: 'url' });
  expect(await t.done(subscriptionUpdateUrl, { userId }, { idempotencyKey: 'url' })).toEqual(first);
  const session = /session\/([\w-]+)/.exec(first.url)?.[1];
  expect(session).toHaveLength(43);
  for (const { tablename } of await t.rows(`select tablename from pg_tables where schemaname = 'public'`)) {
    expect(JSON.stringify(await t.rows(`select t::text from "${tablename}" t`))).not.toContain(session);
  }
});

it('copies of an owner that has none are built empty', async () => {
  ownersAnswer();
  const copies = await testService(identity, { bus: t.bus });
  t.bus.answer('catalog', async () => ({ ok: true, bytes: JSON.stringify({ items: [], next: null }) }));
  await copies.copies.build({ debug: () => undefined });
  expect(await copies.rows('select copy from copy_state order by 1')).toEqual(
    ['credit_accounts', 'currencies', 'gateways', 'plans', 'products', 'subscriptions'].map(copy => ({ copy })),
  );
  await copies.close();
});
