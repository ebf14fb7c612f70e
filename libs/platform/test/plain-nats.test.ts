import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { Bus } from '../src/bus/bus.js';
import { systemClock } from '../src/runtime/clock.js';
import { createLog } from '../src/runtime/log.js';
import { type TestService, testService } from '../src/testing/index.js';
import { TestNats } from '../src/testing/nats.js';
import { sample } from './sample.js';

let nats: TestNats;
let bus: Bus;
let t: TestService;
let nc: NatsConnection;

beforeAll(async () => {
  nats = await TestNats.start();
  bus = await Bus.connect(nats.url, 'service', systemClock, createLog('test', 'silent'), false);
  t = await testService(sample, { clock: systemClock });
  await bus.serve('catalog', (command, payload, caller) => t.server.dispatch(command, payload, caller));
  nc = await connect({ servers: nats.url });
});
afterAll(async () => {
  await nc.close();
  await bus.close();
  await t.close();
  await nats.close();
});

/** One command, as `nats req` sends it. */
async function request(subject: string, body: string, sent: Record<string, string>) {
  const written = headers();
  for (const [name, value] of Object.entries(sent)) written.set(name, value);
  const reply = await nc.request(subject, body, { headers: written, timeout: 5_000 });
  return {
    status: reply.headers?.get('Recur-Status'),
    replayOf: reply.headers?.get('Recur-Replay-Of'),
    text: reply.string(),
  };
}

const actor = '{"kind":"key","id":"key","display":"Zoë"}';
const who = { 'Recur-Merchant': '15', 'Recur-Actor': actor };

describe('a client that speaks plain NATS', () => {
  it('runs an operation by one message, and is answered by one: the bytes of its data', async () => {
    const body = '{"name":"plain","size":7}';
    const key = { 'Idempotency-Key': 'plain', 'Recur-Request-Id': 'req_plain' };
    const first = await request('cmd.catalog.thing.new', body, { ...who, ...key });
    const { thing } = JSON.parse(first.text);
    expect(first).toMatchObject({ status: 'ok', replayOf: '' });
    expect(thing).toMatchObject({ name: 'plain', size: 7 });
    const [event] = await t.emitted();
    expect(event).toMatchObject({ merchantId: 15, requestId: 'req_plain', actor: JSON.parse(actor) });
    const again = await request('cmd.catalog.thing.new', body, { ...who, ...key, 'Recur-Request-Id': 'req_again' });
    expect(again).toEqual({ ...first, replayOf: 'req_plain' });
  });

  it('is told why it is refused', async () => {
    const refused = await request('cmd.catalog.thing.get', '{"id":"one"}', who);
    expect(refused.status).toBe('refused');
    expect(JSON.parse(refused.text)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/id' }] });
    const unknown = await request('cmd.catalog.thing.eat', '{}', who);
    expect(JSON.parse(unknown.text)).toMatchObject({ slug: 'unknown_path' });
    const late = await request('cmd.catalog.thing.get', '{"id":1}', { ...who, 'recur-deadline': '1' });
    expect(JSON.parse(late.text)).toMatchObject({ slug: 'deadline_exceeded' });
    const broken = await request('cmd.catalog.thing.get', '{"id"', who);
    expect(JSON.parse(broken.text)).toMatchObject({ slug: 'malformed_json' });
  });

  it.each([
    ['Recur-Merchant', { 'Recur-Actor': actor }],
    ['Recur-Merchant', { ...who, 'Recur-Merchant': '-1' }],
    ['Recur-Actor', { 'Recur-Merchant': '15' }],
    ['Recur-Actor', { ...who, 'Recur-Actor': '{"kind":"nobody"}' }],
    ['Recur-Deadline', { ...who, 'Recur-Deadline': 'soon' }],
    ['Recur-Sender', { ...who, 'Recur-Sender': '1.2.3.4' }],
  ])('without a usable %s is refused, and told so', async (name, sent) => {
    const { status, text } = await request('cmd.catalog.thing.get', '{"id":1}', sent as Record<string, string>);
    expect(status).toBe('refused');
    expect(JSON.parse(text)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: name }] });
  });
});
