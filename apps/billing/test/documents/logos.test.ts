import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { http, type Listening } from '@recur/platform/testing';
import type { Shop } from '../world/shop.js';
import { fetched, linked, shopWithDocuments } from './desk.js';
import { imagesIn, pagesOf } from './pdf-text.js';
import { picture } from './samples.js';

let s: Shop;
let server: Listening;
let asked: string[] = [];
const answers: Record<string, { status?: number; body: Uint8Array }> = {};

beforeAll(async () => {
  server = await http((request, response) => {
    const { status = 200, body = new Uint8Array() } = answers[request.url ?? ''] ?? { status: 404 };
    asked.push(String(request.url));
    response.writeHead(status).end(body);
  });
  s = await shopWithDocuments({ BASE_URL: 'https://billing.example/', VIES_ALLOW_LOOPBACK: 'true' });
  // billing has a copy of the merchant from here on
  await s.made({ finish: true });
});
afterAll(async () => {
  await server.close();
  await s.t.close();
});

/** An invoice that is finished while the merchant has a logo there. */
async function finishedWith(companyLogo: string) {
  asked = [];
  await s.t.rows('update merchant_copies set data = data || jsonb_build_object($1::text, $2::text)', [
    'companyLogo',
    companyLogo,
  ]);
  return linked(await s.made({ finish: true }));
}
const at = (path: string) => `${server.url.replace(/\/$/, '')}${path}`;

it('is fetched once, and stays what it was when the server has another or is gone', async () => {
  answers['/one.png'] = { body: picture(255) };
  const link = await finishedWith(at('/one.png'));
  const { pdf } = await fetched(s, link);
  expect(imagesIn(pdf)).toBe(1);
  answers['/one.png'] = { body: picture(90) };
  expect((await fetched(s, link)).pdf).toEqual(pdf);
  expect(imagesIn((await fetched(s, await finishedWith(at('/one.png')))).pdf)).toBe(1);
  expect(asked).toEqual([]);
  expect(imagesIn((await fetched(s, await finishedWith(''))).pdf)).toBe(0);
  expect((await fetched(s, link)).pdf).toEqual(pdf);
});

it.each([
  ['/missing.png', { status: 404, body: picture(255) }],
  ['/picture.svg', { body: new TextEncoder().encode('<svg/>') }],
  ['/large.png', { body: Buffer.concat([picture(255), new Uint8Array(600 * 1024)]) }],
])('that cannot be had from %s is looked for again after an hour; the document is made', async (path, answer) => {
  answers[path] = answer;
  const link = await finishedWith(at(path));
  const { pdf } = await fetched(s, link);
  expect(imagesIn(pdf)).toBe(0);
  expect((await pagesOf(pdf)).join()).toContain('Seats');
  expect((await fetched(s, link)).pdf).toEqual(pdf);
  expect(asked).toEqual([path]);
  answers[path] = { body: picture(255) };
  s.clock.advance(3_600);
  expect(imagesIn((await fetched(s, link)).pdf)).toBe(1);
  expect(asked).toEqual([path, path]);
});

it('that no request may reach, or has too long a URL, is none; the document is made without it', async () => {
  for (const url of ['http://10.0.0.1/logo.png', 'ftp://example.com/logo.png', 'no url', at(`/${'ü'.repeat(2_000)}`)]) {
    const link = await finishedWith(url);
    expect(imagesIn((await fetched(s, link)).pdf)).toBe(0);
    expect(asked).toEqual([]);
  }
});
