import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { wrongSignature } from '@recur/contracts';
import type { Caller, Reply } from '@recur/platform';
import { eventually, Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let reply: Reply;
interface Asked {
  command: string;
  payload: { gatewayId: number; headers: Record<string, string>; base64: string };
  caller: Caller;
}
const asked: Asked[] = [];

beforeAll(async () => {
  nats = await TestNats.start('4MB');
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk], ['identity']);
  await services.bus.serve('billing', async (command, payload, caller) => {
    asked.push({ command, payload: JSON.parse(payload), caller: caller as Caller });
    return reply;
  });
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});
beforeEach(() => {
  asked.length = 0;
  reply = { ok: true, bytes: '{}' };
});

const refusal = (slug: string, message?: string): Reply => ({
  ok: false,
  bytes: JSON.stringify({ slug, message, issues: [] }),
});
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  gateway.send(path, { method: 'POST', body, headers });

it.each([
  ['application/json', '{ "a":  1 }\n'],
  ['application/json; charset=utf-8', 'not json'],
  ['application/x-www-form-urlencoded', 'a=1&b=%20'],
  ['text/plain', 'ä€'],
])('the exact bytes of a callback of type %s go to billing, with its headers', async (type, body) => {
  const headers = { 'content-type': type, 'Stripe-Signature': 't=1,v1=abc', authorization: 'Bearer secret' };
  const { status, json, headers: answered } = await post('/gateway/7/webhook', body, headers);
  expect([status, json.code, json.data]).toEqual([200, 0, {}]);
  expect(answered['ratelimit-limit']).toBeDefined();
  const [question] = asked;
  expect(question).toMatchObject({
    command: 'platform.gateway_callback',
    payload: { gatewayId: 7, headers: { 'stripe-signature': 't=1,v1=abc', 'content-type': type } },
    caller: { merchantId: 0, requestId: answered['x-request-id'], actor: { kind: 'system' } },
  });
  expect(Buffer.from(question?.payload.base64 ?? '', 'base64').toString()).toBe(body);
  expect(question?.payload.headers).not.toHaveProperty('authorization');
});

it.each([
  ['credential_invalid', 401, 61],
  ['dependency_away', 503, 56],
])('%s is answered with the envelope', async (slug, http, code) => {
  reply = refusal(slug);
  const { status, json } = await post('/gateway/7/webhook', '{}');
  expect([status, json.code, json.error?.type]).toEqual([http, code, slug]);
});

it.each(['/gateway/x/webhook', '/gateway/0/webhook', '/gateway/99999999999999999999/webhook', '/gateway/-1/webhook'])(
  '%s is no gateway: nothing is asked, and the answer is that of a wrong signature',
  async path => {
    reply = refusal('credential_invalid', wrongSignature);
    const answers = await Promise.all([post('/gateway/7/webhook', '{}'), post(path, '{}')]);
    const [known, unknown] = answers.map(({ status, text, headers, json }) => {
      const names = Object.keys(headers).sort();
      return { status, names, text: text.replace(json.requestId as string, 'request id') };
    });
    expect(unknown).toEqual(known);
    expect(known).toMatchObject({ status: 401, text: expect.stringContaining(wrongSignature) });
    expect(asked).toHaveLength(1);
  },
);

it('is only posted to, and may be 1 MiB, with or without a length', async () => {
  expect((await gateway.send('/gateway/7/webhook')).headers.allow).toBe('POST');
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
    const large = await post('/gateway/7/webhook', 'x'.repeat(1_153_434), { 'content-type': 'text/plain', ...headers });
    expect([large.status, large.json.error?.type]).toEqual([413, 'body_too_large']);
    expect(asked).toEqual([]);
    const body = '\xe4\0'.repeat(450 * 1_024);
    const bytes = Buffer.from(body, 'latin1');
    const sent = await gateway.send('/gateway/7/webhook', { method: 'POST', body: bytes, headers });
    expect([sent.status, sent.json.code]).toEqual([200, 0]);
    expect(Buffer.from(asked.pop()?.payload.base64 ?? '', 'base64').equals(bytes)).toBe(true);
  }
});

it('is charged to its address by its size', async () => {
  const own = await TestGateway.start(nats.url, { env: { RATE_PER_SECOND: '1', RATE_BURST: '100' } });
  const send = (bytes: number) => own.send('/gateway/7/webhook', { method: 'POST', body: 'x'.repeat(bytes) });
  expect((await send(900 * 1_024)).headers['ratelimit-remaining']).toBe('43');
  expect((await send(900 * 1_024)).status).toBe(200);
  expect(await send(1)).toMatchObject({ status: 429, json: { code: 55 } });
});

it('is one of eight large ones at most that an address may be sending', async () => {
  const opened = Array.from({ length: 8 }, () => connect(gateway.port, '127.0.0.1'));
  const head = 'POST /gateway/7/webhook HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\n';
  const large = () => post('/gateway/7/webhook', 'x'.repeat(20_000));
  for (const socket of opened) socket.write(`${head}x`);
  await eventually(async () => (await large()).status === 503);
  expect(await large()).toMatchObject({ status: 503, json: { error: { type: 'overloaded' } } });
  expect((await post('/gateway/7/webhook', '{}')).status).toBe(200);
  for (const socket of opened) socket.destroy();
  await eventually(async () => (await large()).status === 200);
});

it('is counted by address', async () => {
  const strict = await TestGateway.start(nats.url, { env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } });
  const send = () => strict.send('/gateway/7/webhook', { method: 'POST', body: '{}' });
  await send();
  const { status, json, headers } = await send();
  expect([status, json.error?.type]).toEqual([429, 'rate_limited']);
  expect(headers['retry-after']).toBeDefined();
});

it('a page of the sandbox asks, and forwards the answer', async () => {
  const question = { state: 'open', amount: 1205, currency: 'EUR' };
  reply = { ok: true, bytes: JSON.stringify(question) };
  const page = await gateway.send('/gateway/7/sandbox/sbx_1');
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.text).toContain('<strong>€12.05</strong>');
  expect(page.headers['content-security-policy']).toContain(`form-action 'self'`);
  reply = { ok: true, bytes: JSON.stringify({ ...question, state: 'approved', currency: 'JPY' }) };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await post('/gateway/7/sandbox/sbx_1', 'answer=approve', form)).text).toContain('is approved');
  expect(asked.map(({ command, payload }) => ({ command, payload }))).toEqual([
    { command: 'platform.sandbox_question', payload: { gatewayId: 7, reference: 'sbx_1' } },
    { command: 'platform.sandbox_question', payload: { gatewayId: 7, reference: 'sbx_1', answer: 'approve' } },
  ]);
  reply = { ok: true, bytes: JSON.stringify({ ...question, currency: 'JPY' }) };
  expect((await gateway.send('/gateway/7/sandbox/sbx_1')).text).toContain('¥1,205');
  reply = { ok: false, bytes: JSON.stringify({ slug: 'payment_not_found', issues: [] }) };
  for (const path of ['/gateway/7/sandbox/sbx_2', '/gateway/x/sandbox/sbx_2']) {
    const unknown = await gateway.send(path);
    expect([unknown.status, unknown.text.includes('no payment to confirm')]).toEqual([404, true]);
  }
  reply = { ok: false, bytes: JSON.stringify({ slug: 'rate_limited', issues: [] }) };
  expect((await gateway.send('/gateway/7/sandbox/sbx_2')).json.error?.type).toBe('rate_limited');
});
