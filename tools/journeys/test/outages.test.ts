import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, orThrow } from '@recur/client';
import pg from 'pg';
import { memoryInUse } from '../../local/postgres.js';
import { logOf } from '../../local/processes.js';
import { settled } from '../oracle.js';
import { activePlan, newPlan, newUser, order } from '../shop.js';
import type { Answer, Wire } from '../wire.js';
import { expectFailure, pause, type Stand, startStand, times, until } from './stand.js';

let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;
let api: Client;
let wire: Wire;

beforeAll(async () => {
  stand = await startStand();
  shop = await stand.shop('Outages');
  ({ api, wire } = shop);
});
afterEach(() => stand.mend());
afterAll(() => stand.close());

const buy = (over: object = {}, key?: string) =>
  wire.send('/merchant/invoice/new', order(shop.userId, shop.planId, { finish: true, ...over }), key);

const works = ({ status }: Answer) => status === 200;

/** The gateway's own word on how it is connected. */
async function gatewaySays(bus: 'connected' | 'away'): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const response = await fetch(`${stand.stack.facts().services.gateway.opsUrl}/readyz`);
    if (((await response.json()) as { bus: string }).bus === bus) return;
    await pause();
    if (Date.now() > deadline) throw new Error(`the gateway does not find the bus ${bus}`);
  }
}

describe('catalog stopped', () => {
  it('leaves what billing knows of it usable; what it does not know is 56, never a refusal', async () => {
    const editing = await newPlan(api);
    await stand.quiet();
    await stand.stack.stop('catalog');

    expect((await buy()).status).toBe(200);
    const before = await stand.contents();
    for (const planId of [900_000_000, editing]) {
      const answer = await buy({ lines: [{ planId }] });
      expectFailure(answer, 503, 56, 'dependency_away');
      expect(answer.envelope.message).toContain('catalog');
    }
    expectFailure(await wire.send('/merchant/plan/activate', { planId: editing }), 503, 56, 'dependency_away');
    const after = await stand.contents();
    expect({ ...after, ...ofDeliveries(before) }).toEqual({ ...before, ...ofDeliveries(before) });

    await stand.stack.start('catalog');
    expectFailure(await buy({ lines: [{ planId: 900_000_000 }] }), 404, 53, 'plan_not_found');
    expectFailure(await buy({ lines: [{ planId: editing }] }), 400, 52, 'plan_not_active');
    orThrow(await api.post('/merchant/plan/activate', { planId: editing }));
    expect((await buy({ lines: [{ planId: editing }] })).status).toBe(200);
  });
});

/** The one successful order's webhooks are still on their way while the rest must stand still. */
const ofDeliveries = (sums: Record<string, string>) =>
  Object.fromEntries(Object.entries(sums).filter(([table]) => /^(notification|identity)\.|\.outbox$/.test(table)));

describe('billing stopped', () => {
  it('is 56 for what it owns, leaves the rest, and makes up afterwards for what it did not hear', async () => {
    await stand.quiet();
    await stand.stack.stop('billing');
    const before = await stand.contents();
    const refused = await buy();
    expectFailure(refused, 503, 56, 'dependency_away');
    expect(refused.envelope.message).toContain('nothing was done');
    expectFailure(await wire.request('/merchant/invoice/detail?invoiceId=in_x'), 503, 56, 'dependency_away');
    expect(await stand.contents()).toEqual(before);

    const [planId, userId] = await Promise.all([activePlan(api), newUser(api)]);
    await stand.stack.start('billing');
    expect((await buy({ userId, lines: [{ planId }] })).status).toBe(200);
    await stand.quiet();
  });
});

describe('NATS stopped', () => {
  it('is 56 at once, not at the deadline, changes nothing, and is over when NATS is back', async () => {
    await stand.quiet();
    const before = await stand.contents();
    await stand.stack.stop('nats');
    await gatewaySays('away');
    for (const answer of await Promise.all(times(8, () => buy()))) expectFailure(answer, 503, 56, 'dependency_away');
    expectFailure(await wire.send('/merchant/nowhere', {}), 404, 53, 'unknown_path');
    expect(await stand.contents()).toEqual(before);

    await stand.stack.start('nats');
    await gatewaySays('connected');
    expect((await until(() => buy(), works)).envelope).toMatchObject({ code: 0 });
    await stand.quiet();
  });
});

describe('PostgreSQL', () => {
  it('stopped is 56, ends no service, and is over when it is back, time and again', async () => {
    await stand.quiet();
    const { pids } = stand.stack.facts();
    for (const _ of times(2, () => 0)) {
      await stand.stack.stop('postgres');
      for (const path of [
        '/merchant/invoice/new',
        '/merchant/user/new',
        '/merchant/plan/new',
        '/merchant/webhook/new_endpoint',
      ]) {
        const body = { ...order(shop.userId, shop.planId), email: 'ada@example.com', url: shop.receiver.url };
        const plan = { planName: 'x', amount: 1, intervalUnit: 'month', intervalCount: 1 };
        expectFailure(await wire.send(path, { ...body, ...plan }, randomUUID()), 503, 56, 'dependency_away');
      }
      await stand.stack.start('postgres');
      expect((await until(() => buy(), works)).envelope).toMatchObject({ code: 0 });
    }
    const { postgres: _, ...others } = pids;
    expect(stand.stack.facts().pids).toMatchObject(others);
    await stand.quiet();
  });

  it('restarted under load leaves every order whole, and each one that was answered', async () => {
    const key = randomUUID();
    const bought = times(64, async at => {
      const answers: Answer[] = [];
      const drafted = await until(async () => keep(answers, await buy({ finish: false }, `${key}-${at}`)), works);
      const { invoiceId } = (drafted.envelope.data as { invoice: { invoiceId: string } }).invoice;
      const finish = { invoiceId, daysUtilDue: 3 };
      await until(
        async () => keep(answers, await wire.send('/merchant/invoice/finish', finish, `${key}-${at}f`)),
        works,
      );
      return { invoiceId, answers };
    });
    const { pids } = stand.stack.facts();
    await stand.stack.restart('postgres');
    const orders = await Promise.all(bought);
    const failed = orders.flatMap(({ answers }) => answers.filter(answer => !works(answer)));
    for (const { envelope } of failed) expect(envelope.code).toBe(56);
    expect(new Set(orders.map(({ invoiceId }) => invoiceId)).size).toBe(64);
    const { postgres: _, ...others } = pids;
    expect(stand.stack.facts().pids).toMatchObject(others);
    await stand.quiet();
  });

  it('killed comes back once the last of its processes is gone, which holds its memory', async () => {
    const client = new pg.Client(stand.stack.facts().services.postgres.url);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query('select pg_backend_pid() as pid');
    process.kill(rows[0].pid, 'SIGSTOP');
    const started = stand.stack.kill('postgres').then(() => stand.stack.start('postgres'));
    try {
      const log = logOf(stand.stack.home, 'postgres');
      await until(
        async () => readFileSync(log, 'utf8'),
        text => text.includes(memoryInUse),
      );
    } finally {
      process.kill(rows[0].pid, 'SIGCONT');
    }
    await started;
    expect((await until(() => buy(), works)).envelope).toMatchObject({ code: 0 });
    await stand.quiet();
  });
});

const keep = (answers: Answer[], answer: Answer): Answer => {
  answers.push(answer);
  return answer;
};

describe('a credential that asks too often', () => {
  it('is told 429 and when to come back, and others are not', async () => {
    const other = await stand.shop('Patient');
    await stand.stack.restart('gateway', { RATE_PER_SECOND: '1', RATE_BURST: '3' });
    // a credential that is not verified yet is counted by address: each is used once before the rush
    const ask = (caller: Wire) => caller.request('/merchant/webhook/event_list');
    for (const caller of [other.wire, wire]) expect((await ask(caller)).status).toBe(200);
    const answers = await Promise.all(times(16, () => ask(wire)));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    for (const answer of limited) {
      expectFailure(answer, 429, 55, 'rate_limited');
      expect(answer.headers.get('ratelimit-limit')).toBe('3');
    }
    expect((await ask(other.wire)).status).toBe(200);
    await stand.stack.restart('gateway');
    expect((await buy()).status).toBe(200);
  });
});

it('after all of this the oracle finds nothing', async () => {
  expect(await settled(stand.ask)).toEqual([]);
});
