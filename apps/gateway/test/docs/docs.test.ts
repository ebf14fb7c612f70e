import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { operations } from '@recur/contracts';
import { recordedExamples } from '../../src/docs/examples.js';
import { openApi } from '../../src/docs/openapi.js';
import { version } from '../../src/health.js';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

const inflate = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes };

let nats: TestNats;
let services: Services;
let gateway: TestGateway;

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk]);
  const env = { BASE_URL: 'https://api.example.com/' };
  gateway = await (await TestGateway.start(nats.url, { env, operations: operations })).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

/** What a page would load from elsewhere. */
const externalIn = (text: string) => text.match(/(https?:)?\/\/[\w.-]+\.\w+/g) ?? [];

describe('the docs', () => {
  it('are the OpenAPI document of what is served, under its public address', async () => {
    const answer = await gateway.send('/openapi.json');
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const told = openApi(operations, version, 'https://api.example.com', recordedExamples());
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(told)));
    const { info, servers } = answer.json as unknown as { info: { version: string }; servers: { url: string }[] };
    expect(info.version).toMatch(/^daily,buildtime:\d{10}$/);
    expect(servers).toEqual([{ url: 'https://api.example.com' }]);
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  it('are compressed as the client accepts it, and not sent again to one that has them', async () => {
    const plain = await gateway.send('/openapi.json');
    const etags = new Set<unknown>();
    for (const [accepted, encoding] of [
      [undefined, undefined],
      ['', undefined],
      ['identity', undefined],
      ['br;q=0, gzip;q=0', undefined],
      ['deflate, identity;q=0', undefined],
      ['gzip', 'gzip'],
      ['gzip, deflate, br, zstd', 'br'],
      ['GZIP;q=0.5, br;q=0.4', 'gzip'],
      ['*', 'br'],
      ['br;q=0, *', 'gzip'],
    ] as const) {
      const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
      const { status, headers: answered, bytes } = await gateway.send('/openapi.json', { headers });
      expect([accepted, status, answered['content-encoding']]).toEqual([accepted, 200, encoding]);
      expect(answered).toMatchObject({ vary: 'accept-encoding', 'cache-control': 'no-cache' });
      expect(inflate[encoding ?? 'identity'](bytes).toString()).toBe(plain.text);
      expect(bytes.length * 10 < plain.text.length).toBe(encoding !== undefined);
      const etag = String(answered.etag);
      expect(etag).toMatch(/^"[\w-]{22}(-br|-gzip)?"$/);
      etags.add(etag);
      for (const named of [etag, `"other", W/${etag}`, '*']) {
        const again = await gateway.send('/openapi.json', { headers: { ...headers, 'if-none-match': named } });
        expect([again.status, again.text, again.headers.etag, again.headers.vary]).toEqual([
          304,
          '',
          etag,
          'accept-encoding',
        ]);
      }
      expect(
        (await gateway.send('/openapi.json', { headers: { ...headers, 'if-none-match': '"other"' } })).status,
      ).toBe(200);
    }
    expect(etags.size).toBe(3);
  });

  it('are a page that needs nothing but this gateway, and may load nothing else', async () => {
    const page = await gateway.send('/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(externalIn(page.text)).toEqual([]);
    expect(page.text).not.toMatch(/<script>|<style|\son\w+=|style=/);
    const linked = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => String(path));
    expect(linked).toHaveLength(8);
    expect(linked.filter(path => !/\.\w+$/.test(path))).toEqual(['docs/guides/', 'docs/api', 'docs/../docs']);
    for (const path of linked.filter(path => /\.\w+$/.test(path))) {
      const file = await gateway.send(`/${path}`);
      expect({ path, status: file.status, empty: file.text === '' }).toEqual({ path, status: 200, empty: false });
      expect(file.headers['content-type']).toMatch(/^(text\/(css|javascript); charset=utf-8|image\/png)$/);
    }
    expect(externalIn((await gateway.send('/docs/start.js')).text)).toEqual([]);
  });

  it('would be found to load from elsewhere', () => {
    expect(externalIn('<script src="https://cdn.example.com/a.js">')).toHaveLength(1);
    expect(externalIn('<script src="//cdn.example.com/a.js">')).toHaveLength(1);
  });

  it('hold no other file of the package, nor of the machine', async () => {
    for (const path of [
      'index.html',
      'package.json',
      '../package.json',
      '%2e%2e/package.json',
      'swagger-initializer.js',
    ]) {
      expect(await gateway.send(`/docs/${path}`)).toMatchObject({ status: 404, json: { code: 53 } });
    }
    expect((await gateway.send('/docs/')).headers.location).toBe('../docs');
  });
});
