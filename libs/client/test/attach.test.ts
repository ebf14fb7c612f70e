import { describe, expect, it } from '@jest/globals';
import { type Attach, createClient } from '../src/index.js';
import { refusal, type Scripted, scriptedFetch, success } from './server.js';

const [buys, looks, invoices] = [
  '/merchant/subscription/create_submit',
  '/merchant/subscription/user_subscription_detail',
  '/merchant/invoice/detail',
];
const link = 'https://pay.example.com/invoice/1';
const subscriptionId = 'sub_1';
/** The user's subscription to the plan, as a look at it answers. */
const standing = (status: number) =>
  success({ subscription: { subscriptionId, status, planId: 7, quantity: 1, latestInvoiceId: 'in_1' } });
const invoice = (status: number) => success({ invoice: { status, link, userId: 5, gateway: null } });
const [unpaid, active, cancelled] = [1, 2, 5];
const sold = { paid: true, subscription: { subscriptionId } };
const bought = success(sold);
const done = { is: 'done', subscriptionId, effectTime: 0 };

/** Attaches a plan that costs nothing where these are the answers; without others there is no subscription. */
async function attach(answers: Readonly<Record<string, readonly Scripted[]>>, request: Partial<Attach> = {}) {
  const { fetch, calls } = scriptedFetch({
    '/merchant/plan/detail': [success({ plan: { plan: { id: 7, productId: 1 } } })],
    [looks]: [success({ subscription: null })],
    '/merchant/subscription/create_preview': [success({ userId: 5, totalAmount: 0, trialEnd: 0, gateway: null })],
    '/merchant/gateway/list': [success({ gateways: [] })],
    ...answers,
  });
  const client = createClient({ baseUrl: 'https://billing.example.com', fetch, attempts: 1 });
  const outcome = await client.attach({ user: 5, plan: 7, ...request });
  return { outcome, keys: calls.filter(({ path }) => path === buys).map(({ key }) => key) };
}

describe('attach', () => {
  it('waits for a charge of another call for as long as it is told, however often that takes a look', async () => {
    const underWay = refusal(400, 52, 'payment_under_way');
    const { outcome, keys } = await attach({ [buys]: [...Array.from({ length: 9 }, () => underWay), bought] });
    expect(outcome).toEqual(done);
    expect(new Set(keys).size).toBe(10);
    const refused = { is: 'refused', error: expect.objectContaining({ type: 'payment_under_way' }) };
    expect((await attach({ [buys]: [underWay] }, { waitMs: 0 })).outcome).toEqual(refused);
  });

  it('does not know what became of a step that failed unexpectedly', async () => {
    const { outcome } = await attach({ [buys]: [refusal(500, 50, 'internal_error')] });
    expect(outcome).toMatchObject({ is: 'unknown', error: { type: 'internal_error' } });
  });

  it('looks again where the invoice that was open is over, and sends nobody to it', async () => {
    const { outcome } = await attach({
      [looks]: [standing(unpaid), standing(active)],
      [invoices]: [invoice(cancelled)],
    });
    expect(outcome).toEqual(done);
  });

  it('looks again where the answer of a step is that of another call, unless it has a key of its own', async () => {
    const failing = refusal(400, 52, 'subscription_exists');
    const replayed = success(sold, { 'idempotency-replayed': 'true' });
    const answers = { [buys]: [replayed, failing], [looks]: [success({ subscription: null })] };
    expect((await attach(answers, { idempotencyKey: 'order-1' })).outcome).toEqual(done);
    const again = { ...answers, [looks]: [success({ subscription: null }), standing(active)] };
    expect(await attach(again)).toMatchObject({ outcome: done, keys: [expect.any(String)] });
    expect((await attach({ ...again, [buys]: [bought, failing] })).keys).toHaveLength(1);
  });

  it('takes a blank key for none, and a key as it is', async () => {
    const { keys } = await attach({ [buys]: [bought] }, { idempotencyKey: '' });
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect((await attach({ [buys]: [bought] }, { idempotencyKey: 'order-1' })).keys).toEqual(['order-1']);
  });
});
