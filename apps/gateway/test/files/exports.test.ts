import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
/** The file as billing has it, in parts. */
let parts: string[];
let fileName: string;
/** Refuses a part. */
let missing: number;
const asked: unknown[] = [];

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk], ['identity']);
  await services.bus.serve('billing', async (_, payload) => {
    const input = JSON.parse(payload);
    asked.push(input);
    if (input.part === missing) return { ok: false, bytes: JSON.stringify({ slug: 'export_not_found', issues: [] }) };
    const base64 = Buffer.from(parts[input.part] ?? '').toString('base64');
    const bytes = Buffer.byteLength(parts.join(''));
    return { ok: true, bytes: JSON.stringify({ fileName, bytes, parts: parts.length, base64 }) };
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
  parts = ['\uFEFFId,Name\r\n', '1,中', '文\r\n'];
  fileName = 'invoices-2026-11-28.csv';
  missing = -1;
});

const signature = `1796432400.${'k'.repeat(43)}`;
const link = `/exports/15/7/${signature}`;
const fetched = (signal?: AbortSignal) =>
  fetch(`http://127.0.0.1:${gateway.port}${link}`, { ...(signal && { signal }) });

it('a link answers the file, part by part, without a credential', async () => {
  const { status, headers, text } = await gateway.send(link);
  expect([status, text]).toEqual([200, '\uFEFFId,Name\r\n1,中文\r\n']);
  expect(headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="invoices-2026-11-28.csv"',
    'content-length': String(Buffer.byteLength(parts.join(''))),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'ratelimit-limit': expect.any(String),
  });
  expect(asked).toEqual([0, 1, 2].map(part => ({ merchantId: 15, taskId: 7, signature, part })));
});

it('a workbook has its own type', async () => {
  fileName = 'users-2026-11-28.xlsx';
  const { headers } = await gateway.send(link);
  expect(headers['content-type']).toBe('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
});

it('HEAD tells about the file and asks for no more of it', async () => {
  const { status, headers, text } = await gateway.send(link, { method: 'HEAD' });
  expect([status, text, headers['content-length']]).toEqual([200, '', String(Buffer.byteLength(parts.join('')))]);
  expect(asked).toHaveLength(1);
});

it('a link that billing refuses is answered with the envelope', async () => {
  missing = 0;
  const { status, json } = await gateway.send(link);
  expect([status, json.error?.type]).toEqual([404, 'export_not_found']);
});

it('a file of which a part is missing does not end as if it were whole', async () => {
  missing = 2;
  const response = await fetched();
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
});

it.each([
  '/exports/',
  '/exports/15/7',
  `/exports/x/7/${signature}`,
  `${link}/more`,
  `/exports/0/7/${signature}`,
  // other spellings of a link that is one

  `/exports/015/7/${signature}`,
  `/exports/15/07/${signature}`,
  `${link}/`,
  `${link}=`,
  `/exports//15/7/${signature}`,
])('%s cannot be a link: nothing is asked', async path => {
  const { status, json } = await gateway.send(path);
  expect([status, json.error?.type]).toEqual([404, 'export_not_found']);
  expect(asked).toEqual([]);
});

it('a client that goes away ends the asking', async () => {
  parts = Array.from({ length: 400 }, () => 'x'.repeat(600_000));
  const left = new AbortController();
  const response = await fetched(left.signal);
  await response.body?.getReader().read();
  left.abort();
  await gateway.send(link, { method: 'HEAD' });
  const after = asked.length;
  for (let at = 0; at < 20; at++) await gateway.send(link, { method: 'HEAD' });
  // the questions of the twenty, and one that was under way
  expect(asked.length - after).toBeLessThanOrEqual(22);
  expect(asked.length).toBeLessThan(300);
});
