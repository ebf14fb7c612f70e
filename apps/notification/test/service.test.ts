import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emittedEventNames, listWebhookEvents, newEndpoint, webhookSecret } from '@recur/contracts';
import type { Event } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { Webhook } from 'standardwebhooks';
import { Deliveries } from '../src/deliveries.js';
import { Doorbell } from '../src/doorbell.js';
import { notification } from '../src/service.js';

interface Received {
  headers: Record<string, string>;
  body: string;
}

let t: TestService;
let server: Server;
let url: string;
let received: Received[] = [];
let status = 200;
const clock = new MovableClock(Date.now());
let merchant = { merchantId: 100 };

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers as Record<string, string>, body });
    response.writeHead(status).end('thanks');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook`;
  t = await testService(notification, {
    clock,
    env: { REDIS_URL: process.env.TEST_REDIS_URL ?? '', WEBHOOK_ALLOW_LOOPBACK: 'true' },
  });
});
afterAll(async () => {
  await t.close();
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  received = [];
  status = 200;
  merchant = { merchantId: merchant.merchantId + 1 };
});

let sequence = 0;
const event = (over: Partial<Event> = {}): Event => ({
  id: `ev_${randomUUID().replaceAll('-', '')}`,
  type: 'invoice.created',
  merchantId: merchant.merchantId,
  aggregate: 'invoice',
  aggregateId: `in_${++sequence}`,
  version: 1,
  at: 1_768_478_400,
  actor: { kind: 'system', id: '', display: 'system' },
  requestId: 'req_1',
  traceparent: '',
  data: { invoiceId: `in_${sequence}`, lines: [] },
  ...over,
});
const deliver = (endpointId: number) => t.app.get(Deliveries).deliver(merchant.merchantId, endpointId);
const newOne = (over: object = {}) => t.done(newEndpoint, { url, events: ['invoice.created'], ...over }, merchant);
const deliveriesOf = (endpointId: number) =>
  t.rows(
    'select state, attempts, next_at_ms, last_outcome from deliveries where endpoint_id = $1 order by delivery_id',
    [endpointId],
  );

describe('an endpoint', () => {
  it('gets a secret of its own, kept encrypted, shown to its merchant alone', async () => {
    const { endpointId, secret } = await newOne();
    expect(secret).toMatch(/^whsec_/);
    expect(await t.done(webhookSecret, { endpointId }, merchant)).toEqual({ secret });
    expect(await t.call(webhookSecret, { endpointId }, { merchantId: 99 })).toMatchObject({
      slug: 'endpoint_not_found',
    });
    const rows = await t.rows(
      'select endpoints::text as row from endpoints union all select envelope::text from outbox',
    );
    expect(JSON.stringify(rows)).not.toContain(secret.slice(6));
  });

  it.each(['http://10.0.0.1/', 'http://169.254.169.254/latest', 'ftp://example.com/', 'http://metadata.internal/'])(
    'may not be at %s',
    async bad => {
      const result = await t.call(newEndpoint, { url: bad }, merchant);
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/url' }] });
    },
  );

  it('subscribes to known events only', async () => {
    const result = await t.call(newEndpoint, { url, events: ['invoice.created', 'invoice.eaten'] }, merchant);
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/events/1' }] });
  });

  it('can ask which events there are', async () => {
    expect(await t.done(listWebhookEvents, {})).toEqual({ eventList: emittedEventNames });
  });
});

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

  it('is tried ten times over 75 hours, with one id and fresh signatures, and then given up', async () => {
    const { endpointId, secret } = await newOne();
    status = 503;
    await t.deliver('billing', [event()]);
    const started = clock.wall();
    for (let attempt = 1; attempt <= 10; attempt++) {
      await deliver(endpointId);
      await deliver(endpointId);
      expect(received).toHaveLength(attempt);
      const last = received.at(-1) as Received;
      expect(() => new Webhook(secret).verify(last.body, { ...last.headers, 'webhook-timestamp': '1' })).toThrow();
      const [due] = await t.rows('select due_at_ms from due where endpoint_id = $1', [endpointId]);
      if (due) clock.advance((Number(due.due_at_ms) - clock.wall()) / 1000);
    }
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10, next_at_ms: null }]);
    const hours = (clock.wall() - started) / 3_600_000;
    expect(hours).toBeGreaterThan(60);
    expect(hours).toBeLessThan(91);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
  });

  it('to an endpoint that answers 410 ends it, announces it, and misses nothing silently', async () => {
    const { endpointId } = await newOne();
    status = 410;
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

describe('the doorbell', () => {
  const ringing = async (rounds: number) => {
    const doorbell = t.app.get(Doorbell);
    const { endpointId } = await newOne();
    doorbell.start();
    try {
      for (let round = 1; round <= rounds; round++) {
        const heard = new Promise<void>(resolve => {
          server.once('request', (_, response) => response.once('finish', resolve));
        });
        await t.deliver('billing', [event()]);
        await heard;
        expect(received).toHaveLength(round);
      }
    } finally {
      await doorbell.stop();
    }
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(rounds).fill('delivered'));
  };

  it('has each event sent as it comes', () => ringing(3));
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});
