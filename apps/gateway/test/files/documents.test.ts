import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Caller, Reply } from '@recur/platform';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let reply: Reply;
const asked: { command: string; payload: unknown; caller: Caller }[] = [];

beforeAll(async () => {
  nats = await TestNats.start();
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
  const document = { fileName: 'INV-1 "ä".pdf', base64: Buffer.from('%PDF-1.7').toString('base64') };
  reply = { ok: true, bytes: JSON.stringify(document) };
});

const signature = `20420.${'k'.repeat(43)}`;
const link = `/documents/15/in_1/${signature}`;

it('a signed link answers the bytes of the PDF, without a credential', async () => {
  const { status, headers, text } = await gateway.send(link);
  expect(status).toBe(200);
  expect(text).toBe('%PDF-1.7');
  expect(headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': 'inline; filename="INV-1____.pdf"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "frame-ancestors 'none'",
    'ratelimit-limit': expect.any(String),
  });
  expect(asked).toMatchObject([
    {
      command: 'platform.document',
      payload: { merchantId: 15, invoiceId: 'in_1', signature },
      caller: { merchantId: 0, requestId: headers['x-request-id'], actor: { kind: 'system' } },
    },
  ]);
});

it('a link that billing refuses is answered with the envelope', async () => {
  reply = { ok: false, bytes: JSON.stringify({ slug: 'invoice_not_found', issues: [] }) };
  const { status, json } = await gateway.send(link);
  expect([status, json.code, json.error?.type]).toEqual([404, 53, 'invoice_not_found']);
});

it.each([
  '/documents/',
  '/documents/15/in_1',
  `/documents/x/in_1/${signature}`,
  `${link}/more`,
  '/documents/0/in_1/s',
  // other spellings of a link that is one
  `/documents/015/in_1/${signature}`,
  `/documents/15.0/in_1/${signature}`,
  `${link}/`,
  `${link}=`,
  `/documents//15/in_1/${signature}`,
])('%s cannot be a link: nothing is asked', async path => {
  const { status, json } = await gateway.send(path);
  expect([status, json.error?.type]).toEqual([404, 'invoice_not_found']);
  expect(asked).toEqual([]);
});

it('a link can only be read', async () => {
  const { status, json } = await gateway.send(link, { method: 'POST' });
  expect([status, json.error?.type]).toEqual([405, 'method_not_allowed']);
});

it('requests are counted by address', async () => {
  const strict = await TestGateway.start(nats.url, { env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } });
  await strict.send(link);
  const { status, json, headers } = await strict.send(link);
  expect([status, json.error?.type]).toEqual([429, 'rate_limited']);
  expect(headers['retry-after']).toBeDefined();
});
