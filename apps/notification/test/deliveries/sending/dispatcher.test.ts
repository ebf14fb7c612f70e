import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { slotSeconds } from '../../../src/deliveries/domain/delivery.js';
import { DeliveryWaker } from '../../../src/deliveries/sending/delivery-waker.js';
import { makeStand, type Received } from '../../stand.js';

const stand = await makeStand();
const { t, clock, received, receiver, merchant, answerWith, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

describe('a delivery', () => {
  it('is the event, signed: once for each endpoint that wants it, however often the event is consumed', async () => {
    const { endpointId, secret } = await newOne();
    const other = await newOne({ events: ['user.created'] });
    const happened = event();
    await t.deliver('billing', [happened, happened]);
    await deliver(endpointId);
    await deliver(other.endpointId);
    expect(received).toHaveLength(1);
    const [{ headers, body }] = received as [Received];
    new Webhook(secret).verify(body, headers);
    expect(JSON.parse(body)).toEqual({
      type: 'invoice.created',
      timestamp: '2026-01-15T12:00:00.000Z',
      merchantId: merchant.merchantId,
      sequence: 1,
      data: happened.data,
    });
    expect(headers['webhook-id']).toBe(happened.id);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered', attempts: 1, last_outcome: '200' }]);
    await deliver(endpointId);
    expect(received).toHaveLength(1);
  });

  it('is tried ten times over 75 hours, with one id and fresh signatures, whatever workers die in between', async () => {
    const { endpointId, secret } = await newOne();
    answerWith(503);
    let drawn = 0;
    stand.jitterWith(() => (drawn++ * 0.37) % 1);
    await t.deliver('billing', [event()]);
    const [gaps, started]: [number[], number] = [[], clock.wall()];
    for (let attempt = 1; attempt <= 10; attempt++) {
      // a worker that is killed leaves its lease behind, and its successor knows nothing of it
      await t.rows(`update due set lease_token = 'killed', lease_until_ms = $2 where endpoint_id = $1`, [
        endpointId,
        clock.wall() - 1,
      ]);
      const worker = await stand.anotherWorker();
      await worker.deliver(merchant.merchantId, endpointId);
      await deliver(endpointId);
      expect(received).toHaveLength(attempt);
      const last = received.at(-1) as Received;
      expect(() => new Webhook(secret).verify(last.body, { ...last.headers, 'webhook-timestamp': '1' })).toThrow();
      const endedMs = clock.wall();
      if (await stand.untilDue(endpointId)) gaps.push((clock.wall() - endedMs) / 1000);
    }
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10, next_at_ms: null }]);
    expect(gaps).toHaveLength(9);
    gaps.forEach((gap, at) => {
      const slot = slotSeconds[at + 1] as number;
      expect(Math.abs(gap - slot)).toBeLessThanOrEqual(slot / 5);
    });
    expect(new Set(gaps.map((gap, at) => gap / (slotSeconds[at + 1] as number))).size).toBeGreaterThan(5);
    const hours = (clock.wall() - started) / 3_600_000;
    expect(hours).toBeGreaterThan(60);
    expect(hours).toBeLessThan(91);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(new Set(received.map(({ headers }) => headers['webhook-signature'])).size).toBe(10);
  });

  it('to an endpoint that answers 410 ends it, announces it, and misses nothing silently', async () => {
    const { endpointId } = await newOne();
    answerWith(410);
    await t.emitted();
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    const types = (await t.emitted()).map(({ type }) => type);
    expect(types).toEqual(['webhook.endpoint.disabled', 'operation.logged']);
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    expect(received).toHaveLength(1);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(['missed', 'missed']);
  });

  it('whose worker vanished after the POST is sent again with the same id, and its late result is not recorded', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', [event()]);
    await t.rows('update due set lease_token = $2, lease_until_ms = $3 where endpoint_id = $1 returning delivery_id', [
      endpointId,
      'lost',
      clock.wall() + 60_000,
    ]);
    await deliver(endpointId);
    expect(received).toHaveLength(0);
    clock.advance(61);
    await deliver(endpointId);
    expect(received).toHaveLength(1);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered', attempts: 1 }]);
  });
});

it.each([
  [
    'an invoice with a line of the product',
    'invoice.created',
    { lines: [{ plan: { productId: 8 } }, { plan: { productId: 7 } }] },
    1,
  ],
  ['an invoice of another product', 'invoice.created', { lines: [{ plan: { productId: 8 } }, { plan: null }] }, 0],
  ['an invoice of no product', 'invoice.created', { lines: [{ plan: null }] }, 1],
  ['a subscription to the product', 'subscription.created', { productId: 7 }, 1],
  ['a subscription to another product', 'subscription.created', { productId: 8 }, 0],
  ['a subscription to the default product', 'subscription.created', { productId: 0 }, 0],
  ['a payment, which is of no product', 'payment.created', { paymentId: 'pay_1' }, 1],
])('to an endpoint for one product: %s', async (_, type, data, count) => {
  const events = ['invoice.created', 'subscription.created', 'payment.created'] as const;
  const { endpointId } = await newOne({ events: [...events], productIds: [7] });
  await t.deliver('billing', [event({ type, data })]);
  await deliver(endpointId);
  expect(received).toHaveLength(count);
});

describe('the waker', () => {
  const waking = async (rounds: number) => {
    const waker = t.app.get(DeliveryWaker);
    const { endpointId } = await newOne();
    waker.start();
    try {
      for (let round = 1; round <= rounds; round++) {
        const heard = new Promise<void>(resolve => {
          receiver.server.once('request', (_, response) => response.once('finish', resolve));
        });
        await t.deliver('billing', [event()]);
        await heard;
        expect(received).toHaveLength(round);
      }
    } finally {
      await waker.stop();
    }
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(rounds).fill('delivered'));
  };

  it('has each event sent as it comes', () => waking(3));
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});
