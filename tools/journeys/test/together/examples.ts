import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, createClient, type Input, orThrow, type Receipt, webhookReceiver } from '@recur/client';
import { aggregationType, metricType } from '@recur/contracts';
import express from 'express';
import pg from 'pg';
import { sign } from '../../../../apps/notification/src/deliveries/sending/signature.js';
import { shop } from '../../../../libs/client/examples/express.js';
import { sqlOrder } from '../../../../libs/client/examples/sql-order.js';
import { checkoutRoot } from '../../../local/home.js';
import { sandboxGateway } from '../../card.js';
import { newPlan } from '../../shop.js';
import { type Stand, sharedStand, times, until } from '../stand.js';

let stand: Stand;
let sells: Awaited<ReturnType<Stand['shop']>>;
let api: Client;
let gatewayId: number;
let plans: { small: number; large: number };

beforeAll(async () => {
  stand = await sharedStand();
  sells = await stand.shop('Examples');
  ({ api } = sells);
  gatewayId = await sandboxGateway(api);
  const metric = { code: 'reports', metricName: 'Reports', type: metricType.limitMetered };
  const { merchantMetric } = orThrow(
    await api.post('/merchant/metric/new', { ...metric, aggregationType: aggregationType.count }),
  );
  const sold = async (amount: number, metricLimit: number) => {
    const planId = await newPlan(api, { amount, metricLimits: [{ metricId: merchantMetric.id, metricLimit }] });
    orThrow(await api.post('/merchant/plan/activate', { planId }));
    return planId;
  };
  plans = { small: await sold(1_000, 2), large: await sold(3_000, 5) };
});

/** Buys on the checkout page as its user would: with the terms of the link, and a card that is new. */
async function checkOut(url: string): Promise<void> {
  const { baseUrl } = stand.stack.facts();
  const query = new URL(url).searchParams;
  const clientSession = query.get('session') ?? '';
  const { token } = orThrow(await createClient({ baseUrl }).post('/portal/session/exchange', { clientSession }));
  const page = createClient({ baseUrl, credential: token });
  const terms: Input<'/portal/subscription/create_preview'> = { planId: Number(query.get('planId')), gatewayId };
  const { totalAmount } = orThrow(await page.post('/portal/subscription/create_preview', terms));
  const order = { ...terms, confirmTotalAmount: totalAmount };
  const { invoiceId } = orThrow(await page.post('/portal/subscription/create_submit', order));
  orThrow(await page.post('/portal/payment_method/new', { gatewayId, data: { scenario: 'succeeds' } }));
  const paid = async () => orThrow(await page.get('/portal/invoice/detail', { invoiceId })).invoice.status;
  await until(paid, status => status === 3);
}

describe('the example of Express', () => {
  let server: Server;
  let url: string;
  let seen: ReadonlyMap<string, number>;

  beforeAll(async () => {
    // the endpoint has its address before the app has the secret of the endpoint
    const front = express();
    server = front.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { secret } = orThrow(
      await api.post('/merchant/webhook/new_endpoint', {
        url: `${url}/webhooks`,
        events: ['subscription.activated', 'subscription.updated', 'subscription.cancelled', 'subscription.expired'],
      }),
    );
    const { app, plans: followed } = shop(api, [secret]);
    front.use(app);
    seen = followed;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise(closed => server.close(closed));
  });

  const as = (user: string, path: string, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { 'x-user': user }, redirect: 'manual' });
  const subscribe = async (user: string, plan: number) => {
    const { status, headers } = await as(user, `/subscribe/${plan}`, 'POST');
    return { status, location: headers.get('location') ?? '' };
  };
  const reports = async (user: string, count: number) =>
    (await Promise.all(times(count, () => as(user, '/report')))).map(({ status }) => status).sort();

  it('sells a plan on the checkout, serves what it has, upgrades, and follows that by real webhooks', async () => {
    expect(await reports('kim', 1)).toEqual([402]);
    const sent = await subscribe('kim', plans.small);
    expect(sent).toEqual({ status: 303, location: expect.stringContaining('/checkout?') });
    await checkOut(sent.location);
    const { subscriptions } = orThrow(await api.get('/merchant/subscription/list', { externalUserId: 'kim' }));
    const [bought] = subscriptions;
    const { subscriptionId = '' } = bought?.subscription ?? {};
    await until(
      async () => seen.get(subscriptionId),
      plan => plan === plans.small,
    );
    expect(seen.get(subscriptionId)).toBe(plans.small);
    expect(await reports('kim', 4)).toEqual([200, 200, 402, 402]);

    expect(await subscribe('kim', plans.large)).toEqual({ status: 303, location: '/welcome' });
    expect(await reports('kim', 4)).toEqual([200, 200, 200, 402]);
    await until(
      async () => seen.get(subscriptionId),
      plan => plan === plans.large,
    );
    expect(seen.get(subscriptionId)).toBe(plans.large);
    orThrow(await api.post('/merchant/subscription/cancel', { subscriptionId }));
    expect(
      await until(
        async () => seen.has(subscriptionId),
        has => !has,
      ),
    ).toBe(false);
    expect(await subscribe('kim', 999_999_999)).toMatchObject({ status: 409 });
  });

  it('takes nothing that is not signed', async () => {
    const { status } = await fetch(`${url}/webhooks`, { method: 'POST', body: '{"type":"subscription.activated"}' });
    expect(status).toBe(400);
  });
});

describe('the example of Next.js', () => {
  it('sells a plan, and takes real webhooks', async () => {
    const { endpointId } = sells;
    const { secret } = orThrow(await api.get('/merchant/webhook/get_webhook_secret', { endpointId }));
    Object.assign(process.env, {
      RECUR_URL: stand.stack.facts().baseUrl,
      RECUR_KEY: sells.apiKey,
      RECUR_WEBHOOK_SECRETS: secret,
      SHOP_URL: 'https://shop.example.com',
    });
    const folder = '../../../../libs/client/examples/next/app';
    const subscribing = (await import(`${folder}/subscribe/route.js`)) as Route;
    const webhooks = (await import(`${folder}/webhooks/route.js`)) as Route;
    const posted = (body: BodyInit, headers: HeadersInit = { 'x-user': 'ada@example.com' }, path = 'subscribe') =>
      new Request(`http://localhost:3000/${path}`, { method: 'POST', body, headers });
    const form = (plan: number) => new URLSearchParams({ plan: String(plan) });

    const sent = await subscribing.POST(posted(form(plans.small)));
    expect([sent.status, sent.headers.get('location')]).toEqual([303, expect.stringContaining('/checkout?')]);
    await checkOut(sent.headers.get('location') ?? '');
    const again = await subscribing.POST(posted(form(plans.small)));
    expect([again.status, again.headers.get('location')]).toEqual([303, 'https://shop.example.com/welcome']);
    expect((await subscribing.POST(posted(form(999_999_999)))).status).toBe(409);
    expect((await subscribing.POST(posted(form(plans.small), {}))).status).toBe(401);

    await stand.quiet();
    const { deliveries } = sells.receiver;
    const printed = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    expect(deliveries.length).toBeGreaterThan(5);
    // signed anew: the first may be of more than five minutes ago
    for (const { headers, body } of deliveries) {
      const signed = sign([secret], String(headers['webhook-id']), Math.floor(Date.now() / 1_000), body);
      expect((await webhooks.POST(posted(body, { ...signed }, 'webhooks'))).status).toBe(204);
    }
    const lines = printed.mock.calls.flat();
    printed.mockRestore();
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^Invoice \S+ is paid$/), 'user.created']));
    expect((await webhooks.POST(posted('{}', {}, 'webhooks'))).status).toBe(400);
  });
});

interface Route {
  POST(request: Request): Promise<Response>;
}

describe('the example of an order on a SQL table', () => {
  let pool: pg.Pool;
  const source = readFileSync(path.join(checkoutRoot(), 'libs/client/examples/sql-order.ts'), 'utf8');
  const [, create = ''] = /^\/\/ (create table .*)$/m.exec(source) ?? [];
  beforeAll(async () => {
    await stand.pool('notification').query('create database webhook_shop');
    const url = new URL(stand.stack.facts().services.postgres.url);
    url.pathname = '/webhook_shop';
    pool = new pg.Pool({ connectionString: url.toString(), max: 8 });
    await pool.query(create);
    for (const table of ['seen', 'paid'])
      await pool.query(`create table ${table} (at serial, invoice_id text, sequence bigint)`);
  });
  afterAll(() => pool.end());

  it('lets two processes handle events of one object once and forwards, each with its effect or not at all', async () => {
    const { secret } = orThrow(await api.get('/merchant/webhook/get_webhook_secret', { endpointId: sells.endpointId }));
    let failures = 0;
    const process = () =>
      webhookReceiver({
        secrets: [secret],
        order: sqlOrder(pool),
        on: {
          'invoice.paid': async ({ data, sequence }, client) => {
            await client.query('insert into paid (invoice_id, sequence) values ($1, $2)', [data.invoiceId, sequence]);
            if (sequence % 5 === 0 && failures++ < 4) throw new Error('half-way');
          },
        },
        latest: {
          invoice: async ({ data, sequence }, client) => {
            await client.query('insert into seen (invoice_id, sequence) values ($1, $2)', [data.invoiceId, sequence]);
          },
        },
      });
    const [one, other] = [process(), process()];
    const sent = times(20, at => {
      const [type, data] = ['invoice.paid', { invoiceId: `in_${at % 2}` }];
      const body = JSON.stringify({ type, timestamp: '', merchantId: 1, sequence: at + 1, data });
      return { body, headers: { ...sign([secret], `ev_${at}`, Math.floor(Date.now() / 1_000), body) } };
    });
    let receipts: Receipt[] = [];
    for (const round of [sent, sent, sent]) {
      const both = round.flatMap(each => [one(each), other(each)]);
      receipts = await Promise.all(both);
    }
    expect(failures).toBeGreaterThanOrEqual(4);
    expect(receipts.map(({ status }) => status)).toEqual(times(40, () => 204));
    const { rows: told } = await pool.query('select sequence from paid order by sequence');
    expect(told.map(({ sequence }) => Number(sequence))).toEqual(times(20, at => at + 1));
    for (const [invoiceId, last] of [
      ['in_0', 19],
      ['in_1', 20],
    ] as const) {
      const { rows } = await pool.query('select sequence from seen where invoice_id = $1 order by at', [invoiceId]);
      const sequences = rows.map(({ sequence }) => Number(sequence));
      expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
      expect(sequences.at(-1)).toBe(last);
      const { rows: kept } = await pool.query('select sequence from webhook_order where object = $1', [
        `1 invoice ${invoiceId}`,
      ]);
      expect(kept).toEqual([{ sequence: String(last) }]);
    }
  });
});
