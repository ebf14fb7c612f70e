import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { listEndpointLogs, resendWebhook, rotateSecret, testEvent } from '@recur/contracts';
import { freePort } from '@recur/platform/testing';
import { sign } from '../../../src/deliveries/sending/signature.js';
import { makeStand, type Received } from '../../stand.js';

const stand = await makeStand();
const { t, clock, received, merchant, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

/** What docs/webhooks.md tells receivers to run, by the name in its first line. */
const page = readFileSync(new URL('../../../../../docs/webhooks.md', import.meta.url), 'utf8');
const programs = new Map(
  [...page.matchAll(/^```js\n(\/\/ (\S+\.mjs)[\s\S]*?)^```/gm)].map(([, code = '', name = '']) => [
    name.replace(':', ''),
    code,
  ]),
);
const program = (name: string) => {
  const code = programs.get(name);
  if (code === undefined) throw new Error(`docs/webhooks.md has no ${name}`);
  return code;
};
const run = (code: string, env: Record<string, string>) =>
  spawn(process.execPath, ['--input-type=module', '-e', code], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

describe('the receiver of docs/webhooks.md', () => {
  let child: ChildProcess | undefined;
  /** Starts it with this secret; `next` is the next line that it prints. */
  async function started(secret: string, port: number) {
    child = run(program('receiver.mjs'), { WEBHOOK_SECRET: secret, PORT: String(port) });
    if (!child.stdout) throw new Error('no output');
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async () => String((await lines.next()).value);
    expect(await next()).toBe('listening');
    return next;
  }
  afterAll(async () => {
    if (!child) return;
    child.kill();
    await once(child, 'exit');
  });

  it('takes real deliveries, acts once and on nothing stale, and refuses what was not signed', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { endpointId, secret } = await newOne({ url });
    const next = await started(secret, port);
    const invoice = { aggregateId: 'in_1', data: { invoiceId: 'in_1', lines: [] } };
    const first = event(invoice);
    await t.deliver('billing', [first]);
    await deliver(endpointId);
    expect(await next()).toBe('state of invoice in_1 1');
    expect(await next()).toBe('happened invoice.created 1');

    // a sample is no state, and comes a second time; what is late is none either, but it happened
    await t.done(testEvent, { endpointId, event: 'invoice.paid' }, merchant);
    const [entry] = (await t.done(listEndpointLogs, { endpointId }, merchant)).endpointLogList;
    await t.done(resendWebhook, { logId: entry?.id ?? 0 }, merchant);
    await deliver(endpointId);
    expect(await next()).toBe('happened invoice.paid 0');
    const post = (id: string, sequence: number, of = secret) => {
      const body = JSON.stringify({ type: 'invoice.paid', sequence, data: invoice.data });
      const headers = { ...sign([of], id, Math.floor(clock.wall() / 1000), body) };
      return fetch(url, { method: 'POST', body, headers }).then(({ status }) => status);
    };
    expect([await post('ev_new', 3), await post('ev_late', 2), await post('ev_late', 2)]).toEqual([204, 204, 204]);
    expect([await next(), await next(), await next()]).toEqual([
      'state of invoice in_1 3',
      'happened invoice.paid 3',
      'happened invoice.paid 2',
    ]);
    const { secret: another } = await newOne();
    expect(await post('ev_forged', 9, another)).toBe(400);
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(4_000_001) })).status).toBe(400);
    const cut = connect(port, '127.0.0.1', () =>
      cut.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf'),
    );
    await once(cut.resume(), 'close');
    expect(await post('ev_last', 4)).toBe(204);
    expect([await next(), await next()]).toEqual(['state of invoice in_1 4', 'happened invoice.paid 4']);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  });
});

describe('the check of docs/webhooks.md that needs no package', () => {
  /** What it says of deliveries: true where it takes one. */
  async function checked(secret: string, deliveries: readonly Pick<Received, 'headers' | 'body'>[]) {
    const code = `${program('verify.mjs')}
      const verdicts = JSON.parse(process.env.DELIVERIES).map(({ headers, body }) => {
        try { return verify(process.env.SECRET, headers, body).type !== undefined; } catch { return false; }
      });
      process.stdout.write(JSON.stringify(verdicts));`;
    const env = { SECRET: secret, DELIVERIES: JSON.stringify(deliveries) };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env });
    return JSON.parse(stdout) as boolean[];
  }

  it('takes real deliveries with either secret of a rotation, and nothing that was changed', async () => {
    const { endpointId, secret } = await newOne();
    const { secret: second } = await t.done(rotateSecret, { endpointId }, merchant);
    await t.deliver('billing', [event({ data: { note: 'Grüße ☂', lines: [] } })]);
    await deliver(endpointId);
    const [sent] = received as [Received];
    const { body } = sent;
    const flipped = Array.from({ length: body.length }, (_, at) => ({
      ...sent,
      body: body.slice(0, at) + String.fromCharCode(body.charCodeAt(at) ^ 1) + body.slice(at + 1),
    }));
    const withHeader = (name: string, value: string) => ({ body, headers: { ...sent.headers, [name]: value } });
    const at = Number(sent.headers['webhook-timestamp']);
    const signedAt = (seconds: number) => ({ body, headers: { ...sign([secret], 'ev_1', seconds, body) } });
    const bad = [
      ...flipped,
      withHeader('webhook-id', 'ev_other'),
      withHeader('webhook-timestamp', String(at + 1)),
      withHeader('webhook-timestamp', 'now'),
      withHeader('webhook-signature', ''),
      withHeader('webhook-signature', 'v1,'),
      withHeader('webhook-signature', (sent.headers['webhook-signature'] ?? '').replaceAll('v1,', 'v2,')),
      { body, headers: {} },
      signedAt(at - 320),
      signedAt(at + 320),
    ] as Pick<Received, 'headers' | 'body'>[];
    for (const one of [secret, second]) {
      const [good, ...others] = await checked(one, [sent, ...bad]);
      expect(good).toBe(true);
      expect(others.filter(taken => taken)).toEqual([]);
    }
    expect(await checked((await newOne()).secret, [sent])).toEqual([false]);
  });
});
