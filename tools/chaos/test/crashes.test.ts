import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import { allDelivered, settled } from '../../journeys/oracle.js';
import { order } from '../../journeys/shop.js';
import { expectFailure, type Stand, startStand } from '../../journeys/test/stand.js';
import type { PartName } from '../../local/settings.js';
import { faults, inTurn, random } from '../faults.js';
import { audit, heard, type LoadReport, startLoad } from '../load.js';
import { startReplica } from '../replica.js';

type OpenShop = Awaited<ReturnType<Stand['shop']>>;
let stand: Stand;

beforeAll(async () => {
  // a client is told at the usual deadline that an outcome is unknown
  stand = await startStand({ gateway: { DEADLINE_FACTOR: '1' } });
});
afterEach(() => stand.mend());
afterAll(() => stand.close());

/** Everything has arrived, and nothing else than was told. */
async function expectWhole(shop: OpenShop, report: LoadReport): Promise<void> {
  expect(report.unexpected).toEqual([]);
  expect(report.purchases.length).toBeGreaterThan(0);
  expect(await settled(stand.ask, allDelivered)).toEqual([]);
  expect(await audit(stand.ask, shop, report)).toEqual([]);
  expect(heard(shop.receiver.deliveries, report)).toEqual([]);
}

/** Lets buyers work in a shop of their own while `harm` is done, which gets a word from them between its steps. */
async function underLoad(
  harm: (more: (purchases: number) => Promise<void>) => Promise<void>,
  timeoutMs?: number,
): Promise<LoadReport> {
  const shop = await stand.shop('Load');
  const load = startLoad(stand.stack.facts().baseUrl, shop.apiKey, shop, 4, timeoutMs);
  await load.more(8);
  await harm(load.more);
  await load.more(8);
  const report = await load.stop();
  await expectWhole(shop, report);
  return report;
}

interface Made {
  invoice: { invoiceId: string; paymentId: string };
}
const asReport = (userId: number, { invoice }: Made) => ({
  purchases: [{ ...invoice, userId, paid: false }],
});
/** The webhooks about one invoice, its payment included, as often as they came. */
const idsOf = ({ receiver }: OpenShop, { invoice: { invoiceId } }: Made) =>
  receiver.deliveries.filter(({ body }) => body.includes(invoiceId)).map(({ headers }) => headers['webhook-id']);

describe('billing killed', () => {
  it('between the commit and the publication: what it acknowledged arrives after the restart', async () => {
    const shop = await stand.shop('Before publication');
    await stand.quiet();
    await stand.stack.restart('billing', { CRASH_AT: 'before-publish' });
    const made = orThrow(
      await shop.api.post('/merchant/invoice/new', order(shop.userId, shop.planId, { finish: true })),
    );
    await stand.stack.ended('billing');
    const unpublished = await stand.ask('billing', 'select unnest(seqs) from unpublished');
    expect(unpublished).toHaveLength(4);
    expect(idsOf(shop, made)).toEqual([]);

    await stand.stack.start('billing');
    expect(await settled(stand.ask, allDelivered)).toEqual([]);
    expect(heard(shop.receiver.deliveries, asReport(shop.userId, made))).toEqual([]);
  });

  it('between the commit and the answer: the caller is told that it is unknown, a repeat gets the answer', async () => {
    const shop = await stand.shop('After commit');
    await stand.quiet();
    await stand.stack.restart('billing', { CRASH_AT: 'after-commit' });
    const key = randomUUID();
    const body = order(shop.userId, shop.planId, { finish: true });
    const first = shop.wire.send('/merchant/invoice/new', body, key);
    await stand.stack.ended('billing');
    await stand.stack.start('billing');
    const repeat = await shop.wire.send('/merchant/invoice/new', body, key);
    expect(repeat.status).toBe(200);
    expect(repeat.headers.get('idempotency-replayed')).toBe('true');
    const unknown = await first;
    expectFailure(unknown, 503, 56, 'deadline_exceeded');
    expect(repeat.envelope.requestId).toBe(unknown.envelope.requestId);
    const invoices = await stand.ask('billing', `select 1 from invoices where merchant_id = ${shop.merchantId}`);
    expect(invoices).toHaveLength(1);
    expect(await settled(stand.ask, allDelivered)).toEqual([]);
    expect(heard(shop.receiver.deliveries, asReport(shop.userId, repeat.envelope.data as unknown as Made))).toEqual([]);
  });
});

describe('billing killed while it charges a card', () => {
  it.each(['before-charge', 'after-charge'])(
    '%s: the invoice is paid after the restart, and charged once',
    async point => {
      const { api, wire, userId, merchantId } = await stand.shop(`Charge ${point}`);
      const { gateway } = orThrow(await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox' }));
      const { gatewayId } = gateway;
      orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
      await stand.quiet();
      await stand.stack.restart('billing', { CRASH_AT: point });
      const lines = [{ name: 'Setup', quantity: 1, unitAmountExcludingTax: 1999 }];
      const body = { userId, gatewayId, currency: 'EUR', taxPercentage: 0, finish: true, lines };
      // the process may end before its answer is out
      await wire.send('/merchant/invoice/new', body, randomUUID()).catch(() => undefined);
      await stand.stack.ended('billing');
      const ask = (text: string) => stand.ask('billing', `${text} and merchant_id = ${merchantId}`);
      const charges = () => ask(`select 1 from sandbox_charges where state = 'succeeded'`);
      expect(await charges()).toHaveLength(point === 'before-charge' ? 0 : 1);
      expect(await ask(`select 1 from payments where outcome = 'sending'`)).toHaveLength(1);

      await stand.endLeases();
      await stand.stack.start('billing');
      const deadline = Date.now() + 240_000;
      while ((await ask(`select 1 from invoices where status = 'paid'`)).length === 0 && Date.now() < deadline) {
        await new Promise(resolve => setTimeout(resolve, 500));
      }
      expect(await ask(`select status, attempt from payments where outcome = ''`)).toEqual([
        { status: 'success', attempt: point === 'before-charge' ? 2 : 1 },
      ]);
      expect(await charges()).toHaveLength(1);
      expect(await settled(stand.ask, allDelivered)).toEqual([]);
    },
  );
});

describe('notification killed', () => {
  it('between a POST and its record: the webhook comes again, with the same id and body', async () => {
    const shop = await stand.shop('After POST');
    expect(await settled(stand.ask, allDelivered)).toEqual([]);
    await stand.stack.restart('notification', { CRASH_AT: 'after-post' });
    const made = orThrow(
      await shop.api.post('/merchant/invoice/new', order(shop.userId, shop.planId, { finish: true })),
    );
    await stand.stack.ended('notification');
    const before = new Set(idsOf(shop, made));
    expect(before.size).toBeGreaterThan(0);

    await stand.stack.start('notification');
    expect(await settled(stand.ask, allDelivered)).toEqual([]);
    expect(heard(shop.receiver.deliveries, asReport(shop.userId, made))).toEqual([]);
    for (const id of before) expect(idsOf(shop, made).filter(other => other === id).length).toBeGreaterThan(1);
  });
});

describe('under load', () => {
  it('JetStream and Redis forget everything: nothing is missing', async () => {
    await underLoad(async more => {
      await stand.stack.wipeJetStream();
      await more(8);
      await stand.stack.flushRedis();
      await more(8);
      await stand.stack.wipeJetStream();
      await stand.stack.flushRedis();
    });
  });

  it('Redis is away, its successor is empty, and the worker is killed meanwhile: everything arrives', async () => {
    let hits = 0;
    await underLoad(async more => {
      await stand.stack.stop('redis');
      await more(8);
      if (await stand.stack.kill('notification')) hits++;
      await stand.stack.start('notification');
      await more(8);
      await stand.stack.start('redis');
      await stand.stack.flushRedis();
      await stand.stack.wipeJetStream();
      await more(8);
      if (await stand.stack.kill('notification')) hits++;
      await stand.stack.start('notification');
    });
    expect(hits).toBe(2);
  });

  it('a worker that never had a Redis delivers everything', async () => {
    await stand.stack.restart('notification', { REDIS_URL: '' });
    await underLoad(more => more(8));
    await stand.stack.restart('notification');
  });

  it('two replicas of notification are killed in turn: the other takes over, and everything arrives', async () => {
    const hits: boolean[] = [];
    await underLoad(async more => {
      for (let round = 0; round < 2; round++) {
        const second = await startReplica(stand.stack.home, 'notification');
        await more(8);
        hits.push(await stand.stack.kill('notification'));
        await more(8);
        await stand.stack.start('notification');
        await more(8);
        hits.push(await second.kill());
        await more(8);
      }
    });
    expect(hits).toEqual(Array(4).fill(true));
  });

  it('every app is killed in turn: nothing acknowledged is missing, nothing is done twice', async () => {
    let hits = 0;
    const apps: PartName[] = ['billing', 'notification', 'identity', 'catalog', 'gateway'];
    const report = await underLoad(async more => {
      for (const app of apps) {
        if (await stand.stack.kill(app)) hits++;
        await stand.stack.start(app);
        await more(4);
      }
    });
    expect(hits).toBe(apps.length);
    expect(Object.keys(report.refused).length).toBeGreaterThan(0);
  });

  it('a billing that is asked to end finishes what it has begun: the rest is refused, and nothing is unknown', async () => {
    const report = await underLoad(async more => {
      await stand.stack.restart('billing');
      await more(8);
      await stand.stack.restart('billing');
      // this client waits for the gateway's own word: an answer that never came would be told as unknown
    }, 20_000);
    expect(Object.keys(report.refused)).toEqual(['dependency_away']);
  });
});

describe('the checks of a chaos run', () => {
  const purchase = { userId: 1, invoiceId: 'in_1', paymentId: 'pay_1', paid: true };
  const report = (...purchases: (typeof purchase)[]) => ({ purchases });
  const shop = { merchantId: 1, userId: 0 };
  const row = { invoice_id: 'in_1', status: 'paid', payment_id: 'pay_1', user_id: '1' };
  const holds =
    (rows: object[], users = [1]) =>
    async (service: string) =>
      (service === 'billing' ? rows : users.map(id => ({ id }))) as Record<string, unknown>[];

  it('see what is missing, doubled or half done', async () => {
    expect(await audit(holds([row]), shop, report(purchase))).toEqual([]);
    for (const [rows, users, finding] of [
      [[], [1], 'in_1 was acknowledged and is missing'],
      [[row], [], 'user 1 was acknowledged and is missing'],
      [[row, { ...row, invoice_id: 'in_2' }], [1], 'in_2 was made, and nobody was told'],
      [[row], [1, 2], 'user 2 was made, and nobody was told'],
      [[{ ...row, status: 'processing' }], [1], 'in_1 is processing, and its transfer was taken'],
      [[{ ...row, payment_id: 'pay_2' }], [1], 'in_1 has another payment or user than was told'],
    ] as [object[], number[], string][]) {
      expect(await audit(holds(rows, users), shop, report(purchase))).toEqual([finding]);
    }
  });

  it('hear what never came, came as another event, or changed on the way', () => {
    const webhook = (id: string, type: string, more: object = {}) => ({
      headers: { 'webhook-id': id },
      body: JSON.stringify({ type, data: { invoiceId: 'in_1', paymentId: 'pay_1', ...more } }),
      at: 0,
    });
    const types = ['invoice.created', 'invoice.process', 'payment.created', 'payment.success', 'invoice.paid'];
    const all = types.map((type, at) => webhook(`ev_${at}`, type));
    expect(heard([...all, ...all], report(purchase))).toEqual([]);
    expect(heard(all.slice(1), report(purchase))).toEqual(['invoice.created in_1 was heard as 0 webhooks']);
    const doubled = [...all, webhook('ev_9', 'invoice.paid')];
    expect(heard(doubled, report(purchase))).toEqual(['invoice.paid in_1 was heard as 2 webhooks']);
    const changed = [...all, webhook('ev_4', 'invoice.paid', { number: '2' })];
    expect(heard(changed, report(purchase))).toEqual(['ev_4 came with two bodies']);
  });

  it('come after every kind of fault, in an order that the seed decides', () => {
    const take = (seed: number, count: number) => {
      const names = inTurn(random(seed));
      return Array.from({ length: count }, () => names.next().value);
    };
    const count = Object.keys(faults).length;
    expect(new Set(take(1, count)).size).toBe(count);
    expect(take(1, 2 * count)).toEqual(take(1, 2 * count));
    expect(take(1, count)).not.toEqual(take(2, count));
  });
});
