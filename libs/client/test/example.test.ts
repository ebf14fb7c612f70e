import { afterEach, expect, it } from '@jest/globals';
import { createClient, orThrow, webhookReceiver } from '@recur/client';
import { scriptedFetch, success } from './server.js';
import { delivery, secret } from './signed.js';

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Answers calls of the examples by path; returns the calls. */
function answering(answers: Parameters<typeof scriptedFetch>[0]) {
  const { fetch: scripted, calls } = scriptedFetch(answers);
  globalThis.fetch = scripted;
  return calls;
}

it('the first example of the README compiles and runs', async () => {
  const user = { id: 5, email: 'kim@example.com' };
  const calls = answering({
    '/merchant/user/new': [success({ user })],
    '/merchant/invoice/list': [success({ invoices: [], total: 0 })],
  });

  const recur = createClient({ baseUrl: 'https://billing.example.com', credential: process.env.RECUR_KEY });

  const made = await recur.post('/merchant/user/new', { email: 'kim@example.com' });
  if (!made.ok) console.error(made.error.type, made.error.issues);

  const kim = orThrow(await recur.post('/merchant/user/new', { email: 'kim@example.com' })).user;

  for await (const invoice of recur.pages('/merchant/invoice/list', { userId: kim.id })) console.log(invoice.number);

  expect(made).toMatchObject({ ok: true, data: { user } });
  expect(calls.map(({ path }) => path)).toEqual(['/merchant/user/new', '/merchant/user/new', '/merchant/invoice/list']);
});

it('the example of a shop compiles and runs', async () => {
  answering({
    '/merchant/plan/detail': [
      success({ plan: { plan: { id: 7, productId: 1, checkoutUrl: 'https://pay/?planId=7' } } }),
    ],
    '/merchant/session/new_session': [success({ userId: '5', clientSession: 'cs' })],
    '/merchant/subscription/user_subscription_detail': [success({ subscription: null })],
    '/merchant/subscription/create_preview': [success({ userId: 5, totalAmount: 4_900, trialEnd: 0, gateway: null })],
    '/merchant/gateway/list': [success({ gateways: [] })],
    '/merchant/metric/check': [
      success({ allowed: true, currentValue: 990, isLimited: true, left: 10, periodEnd: 1_900_000_000 }),
    ],
    '/merchant/metric/event/new': [success({ merchantMetricEvent: { used: 1_000 } })],
  });
  const recur = createClient({ baseUrl: 'https://billing.example.com' });
  const seen: unknown[] = [];
  const [redirect, refuse, show] = [seen, seen, seen].map(list => (what: unknown) => void list.push(what));
  if (!redirect || !refuse || !show) throw new Error('there are three');

  const user = { email: 'kim@example.com', externalUserId: 'kim' };
  const sold = await recur.attach({ user, plan: 'pro-monthly', returnUrl: 'https://shop.example.com/welcome' });
  if (sold.is === 'page') redirect(sold.url);
  if (sold.is === 'refused') refuse(sold.error.message);

  const counted = await recur.track({ user: 'kim', metric: 'calls', value: 10, id: 'request-4711' });
  if (!counted.ok) refuse(counted.error.message);

  const { left } = orThrow(await recur.check({ user: 'kim', metric: 'calls' }));
  show(`${left} calls are left`);

  expect(seen).toEqual(['https://pay/?planId=7&session=cs', '10 calls are left']);
});

it('the example of a receiver compiles and runs', async () => {
  const written: unknown[] = [];
  const access = { set: async (...row: unknown[]) => void written.push(row) };
  const secrets = [secret];

  const receive = webhookReceiver({
    secrets,
    latest: {
      subscription: async ({ data }) => access.set(data.userId, data.planId, data.status),
    },
    on: {
      'invoice.paid': ({ data }) => console.log(`${data.number} is paid`),
    },
  });

  const data = { subscriptionId: 'sub_1', userId: 5, planId: 7, status: 2 };
  const sent = delivery({ id: 'ev_1', type: 'subscription.updated', sequence: 3, data });
  expect(await receive(sent)).toEqual({ status: 204, outcome: 'handled' });
  expect(written).toEqual([[5, 7, 2]]);
});
