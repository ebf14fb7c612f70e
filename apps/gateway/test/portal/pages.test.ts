import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anyUser, operation } from '@recur/contracts';
import { MovableClock } from '@recur/platform/testing';
import { own, Services, samples, signingKey, TestGateway, TestNats } from '../stand.js';

const page = operation({ ...own, name: 'portal.sample', path: '/portal/sample/submit', permission: anyUser });
const index = `<!doctype html><title>Pages</title>${'<!-- -->'.repeat(200)}`;
const script = `console.log('${'long '.repeat(400)}');`;

/** Every rule of the policy, whole: another host, or anything inline, is seen here. */
const policy = [
  "default-src 'none'",
  "script-src 'self' https://js.stripe.com https://*.js.stripe.com",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self' https://api.stripe.com",
  'frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

let nats: TestNats;
let services: Services;
let folder: string;

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk]);
  services.startBeating(300);
  folder = await mkdtemp(path.join(tmpdir(), 'pages-'));
  await mkdir(path.join(folder, 'assets'));
  await writeFile(path.join(folder, 'index.html'), index);
  await writeFile(path.join(folder, 'assets/index-1a2b3c.js'), script);
  await writeFile(path.join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(path.join(folder, 'unheard.of'), 'x');
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
  await rm(folder, { recursive: true });
});

const start = async (files: string, more: Parameters<typeof TestGateway.start>[1] = {}) =>
  (
    await TestGateway.start(nats.url, { operations: [...samples, page], env: { PORTAL_FILES: files }, ...more })
  ).ready();

describe('the hosted pages', () => {
  it('are the index at every path of a page, which is never kept nor framed, and loads nothing from elsewhere but the card fields of Stripe', async () => {
    const gateway = await start(folder);
    const token = 'x'.repeat(43);
    for (const at of ['', '/', '/checkout?planId=1', `/session/${token}`, `/invoice/${token}`, '/never/heard/of']) {
      const { status, text, headers } = await gateway.send(`/portal${at}`);
      expect([at, status, text]).toEqual([at, 200, index]);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(String(headers['content-security-policy']).split('; ')).toEqual(policy);
    }
  });

  it('have assets that are kept for a year, since their names change with their content', async () => {
    const gateway = await start(folder);
    const asset = await gateway.send('/portal/assets/index-1a2b3c.js');
    expect([asset.status, asset.text]).toEqual([200, script]);
    expect(asset.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const icon = await gateway.send('/portal/favicon.svg');
    expect(icon.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=3600' });
    expect((await gateway.send('/portal/unheard.of')).headers['content-type']).toBe('application/octet-stream');
  });

  it('are sent compressed to whoever takes that, and not again to whoever has them', async () => {
    const gateway = await start(folder);
    const response = await fetch(`http://127.0.0.1:${gateway.port}/portal/assets/index-1a2b3c.js`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect([response.headers.get('content-encoding'), await response.text()]).toEqual(['gzip', script]);
    const { headers, text } = await gateway.send('/portal/assets/index-1a2b3c.js');
    expect([headers['content-encoding'], headers.vary, text.length]).toEqual([
      undefined,
      'accept-encoding',
      script.length,
    ]);
    const again = await gateway.send('/portal/assets/index-1a2b3c.js', {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect([again.status, again.text]).toEqual([304, '']);
    const head = await gateway.send('/portal/assets/index-1a2b3c.js', { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('answer the envelope where there is no such file, and where an operation takes no GET', async () => {
    const gateway = await start(folder);
    for (const at of [
      '/assets/gone-1.js',
      '/assets/gone',
      '/gone.js',
      '/.env',
      '/../package.json',
      '/%2e%2e/x',
      '/assets/..%2findex.html',
    ]) {
      const { status, json } = await gateway.send(`/portal${at}`);
      expect([at, status, json.error?.type]).toEqual([at, 404, 'unknown_path']);
    }
    expect((await gateway.send(page.path)).headers.allow).toBe('POST');
    expect((await gateway.send('/portal/checkout', { method: 'POST' })).headers.allow).toBe('GET, HEAD');
  });

  it('are said to be missing where the folder is, and are there once it is', async () => {
    const clock = new MovableClock(Date.now());
    const later = path.join(folder, 'later');
    const gateway = await start(later, { clock });
    const missing = { status: 404, json: { code: 53, message: 'The hosted pages are not installed here' } };
    expect(await gateway.send('/portal/checkout')).toMatchObject(missing);
    await mkdir(later);
    await writeFile(path.join(later, 'index.html'), index);
    expect(await gateway.send('/portal/checkout')).toMatchObject(missing);
    clock.advance(1);
    expect(await gateway.send('/portal/checkout')).toMatchObject({ status: 200, text: index });
  });

  it('are counted by address, as whatever needs no credential', async () => {
    const env = { PORTAL_FILES: folder, RATE_PER_SECOND: '1', RATE_BURST: '2' };
    const gateway = await start(folder, { env });
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push((await gateway.send('/portal/checkout')).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});
