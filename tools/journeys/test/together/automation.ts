import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, type Envelope, orThrow } from '@recur/client';
import * as oauth from 'oauth4webapi';
import { Webhook } from 'standardwebhooks';
import { type Receiver, startReceiver } from '../../receiver.js';
import { newUser, order } from '../../shop.js';
import type { Wire } from '../../wire.js';
import { type Stand, sharedStand } from '../stand.js';

const returnUrl = 'http://127.0.0.1:9/back?flow=7';
const insecure = { [oauth.allowInsecureRequests]: true };

let stand: Stand;
let baseUrl: string;
let own: { api: Client; merchantId: number; planId: number; endpointId: number };
let other: { wire: Wire };
let server: oauth.AuthorizationServer;
let platform: Receiver;
/** Every secret that was given out. */
const secrets: string[] = [];

beforeAll(async () => {
  stand = await sharedStand();
  ({ baseUrl } = stand.stack.facts());
  own = await stand.shop('Own');
  other = await stand.shop('Other');
  platform = await startReceiver();
  const issuer = new URL(baseUrl);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  server = await oauth.processDiscoveryResponse(issuer, found);
});
afterAll(() => platform?.close());

/** The first step of a platform: the merchant's URL with its own challenge, and what it has to remember. */
async function begin(api = own.api) {
  const path = '/merchant/webhook/webhook_automation_oauth_url';
  const url = new URL(orThrow(await api.post(path, { returnUrl })).oauthUrl);
  const verifier = oauth.generateRandomCodeVerifier();
  url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(verifier));
  url.searchParams.set('code_challenge_method', 'S256');
  const client: oauth.Client = { client_id: url.searchParams.get('client_id') ?? '' };
  const state = url.searchParams.get('state') ?? '';
  secrets.push(state, verifier);
  return { url, verifier, client, state };
}
type Begun = Awaited<ReturnType<typeof begin>>;

/** Opens the page as a browser and presses one of its buttons; answers where it is led. */
async function press(url: URL, allowed: boolean): Promise<Response> {
  const page = await fetch(url, { redirect: 'manual' });
  const text = await page.text();
  const body = new URLSearchParams({ allowed: String(allowed) });
  for (const [, name = '', value = ''] of text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) {
    body.append(name, value.replaceAll('&amp;', '&'));
  }
  expect(text).toContain(`<button type="submit" name="allowed" value="${allowed}">`);
  return fetch(new URL('authorize', url), { method: 'POST', body, redirect: 'manual' });
}
async function allow({ url, client, state }: Begun): Promise<URLSearchParams> {
  const led = await press(url, true);
  expect(led.status).toBe(303);
  const params = oauth.validateAuthResponse(server, client, new URL(led.headers.get('location') ?? ''), state);
  secrets.push(params.get('code') ?? '');
  return params;
}
const exchange = (client: oauth.Client, params: URLSearchParams, verifier: string, to = returnUrl) =>
  oauth.authorizationCodeGrantRequest(server, client, oauth.None(), params, to, verifier, insecure);
async function connect(begun: Begun) {
  const answer = await exchange(begun.client, await allow(begun), begun.verifier);
  const tokens = await oauth.processAuthorizationCodeResponse(server, begun.client, answer);
  secrets.push(tokens.access_token, tokens.refresh_token ?? '');
  return tokens;
}
async function hooks<D>(token: string, path = 'hooks', init: RequestInit = {}) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(init.body !== undefined && { 'content-type': 'application/json' }),
  };
  const answer = await fetch(`${baseUrl}/oauth/${path}`, { ...init, headers });
  return { status: answer.status, envelope: (await answer.json()) as Envelope<D> };
}
const subscribe = (token: string) =>
  hooks<{ endpointId: number; secret: string }>(token, 'hooks', {
    method: 'POST',
    body: JSON.stringify({ url: platform.url, events: ['invoice.created'] }),
  });

describe('an automation platform', () => {
  it('is let in by the merchant, subscribes, is sent events, renews, and goes', async () => {
    const begun = await begin();
    const tokens = await connect(begun);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'hooks' });

    const { envelope } = await subscribe(tokens.access_token);
    expect(envelope).toMatchObject({ code: 0, merchantId: own.merchantId });
    const { endpointId, secret } = envelope.data;
    secrets.push(secret.slice('whsec_'.length));
    const userId = await newUser(own.api);
    orThrow(await own.api.post('/merchant/invoice/new', order(userId, own.planId)));
    await platform.until(deliveries => deliveries.length > 0);
    const [{ headers, body } = { headers: {}, body: '' }] = platform.deliveries;
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'invoice.created', data: { userId } });

    const samples = await hooks<{ samples: object[] }>(tokens.access_token, 'samples?event=invoice.created');
    expect(samples.envelope.data.samples).toMatchObject([{ type: 'invoice.created', data: { userId } }]);

    const answer = await oauth.refreshTokenGrantRequest(
      server,
      begun.client,
      oauth.None(),
      tokens.refresh_token ?? '',
      insecure,
    );
    const renewed = await oauth.processRefreshTokenResponse(server, begun.client, answer);
    expect((await hooks(tokens.access_token)).status).toBe(401);
    const { envelope: list } = await hooks<{ hooks: { id: number }[] }>(renewed.access_token);
    expect(list.data.hooks.map(({ id }) => id)).toEqual([endpointId]);

    const { status } = await hooks(renewed.access_token, `hooks/${endpointId}`, { method: 'DELETE' });
    expect(status).toBe(200);
    const revoked = await oauth.revocationRequest(server, begun.client, oauth.None(), renewed.access_token, insecure);
    await oauth.processRevocationResponse(revoked);
    const late = await hooks(renewed.access_token);
    expect([late.status, late.envelope.error?.type]).toEqual([401, 'credential_invalid']);
    await stand.quiet();
  });

  it('that the merchant does not let in is told so', async () => {
    const { url, client, state } = await begin();
    const led = await press(url, false);
    const back = new URL(led.headers.get('location') ?? '');
    expect(() => oauth.validateAuthResponse(server, client, back, state)).toThrow(
      expect.objectContaining({ error: 'access_denied' }),
    );
  });

  it('gets nothing for a wrong code_verifier', async () => {
    const begun = await begin();
    const answer = await exchange(begun.client, await allow(begun), oauth.generateRandomCodeVerifier());
    await expect(oauth.processAuthorizationCodeResponse(server, begun.client, answer)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('gets nothing for a code that was used, and loses what it got for it', async () => {
    const begun = await begin();
    const params = await allow(begun);
    const first = await exchange(begun.client, params, begun.verifier);
    const { access_token } = await oauth.processAuthorizationCodeResponse(server, begun.client, first);
    expect((await hooks(access_token)).status).toBe(200);
    const again = await exchange(begun.client, params, begun.verifier);
    await expect(oauth.processAuthorizationCodeResponse(server, begun.client, again)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    expect((await hooks(access_token)).status).toBe(401);
  });

  it('is led nowhere but to the address that the merchant named', async () => {
    const { url } = await begin();
    for (const foreign of ['https://evil.example/', `${returnUrl}1`, 'javascript:alert(1)', '']) {
      url.searchParams.set('redirect_uri', foreign);
      for (const answer of [
        await fetch(url, { redirect: 'manual' }),
        await fetch(`${baseUrl}/oauth/authorize`, { method: 'POST', body: url.searchParams, redirect: 'manual' }),
      ]) {
        expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
        expect(await answer.text()).not.toContain('evil');
      }
    }
    const begun = await begin();
    const elsewhere = await exchange(begun.client, await allow(begun), begun.verifier, 'https://evil.example/');
    expect(elsewhere.status).toBe(400);
  });

  it("of one merchant is out of another's reach", async () => {
    const begun = await begin();
    const { access_token } = await connect(begun);
    const path = '/merchant/webhook/automation_disconnect';
    const theirs = await other.wire.send(path, { connectionId: begun.client.client_id });
    const unknown = await other.wire.send(path, { connectionId: 'au_nobody' });
    expect(theirs.envelope).toEqual({ ...unknown.envelope, requestId: theirs.envelope.requestId });
    expect(theirs.status).toBe(404);
    expect((await hooks(access_token)).status).toBe(200);
    orThrow(await own.api.post(path, { connectionId: begun.client.client_id }));
    expect((await hooks(access_token)).status).toBe(401);
  });
});

describe('the pages', () => {
  it('may be framed by nobody and load nothing; their form leads to the platform alone', async () => {
    const { url } = await begin();
    const page = await fetch(url);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; frame-ancestors 'none'; /,
    );
    expect(policy).toMatch(/form-action 'self' http:\/\/127\.0\.0\.1:9$/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const text = await page.text();
    expect(text).toMatch(/<html lang="en">/);
    expect(text).not.toMatch(/<script|src=|@import|url\(/);
    expect(text).toContain(`merchant <strong>${own.merchantId}</strong>`);
  });

  it('repeat nothing as markup', async () => {
    const { url } = await begin();
    url.searchParams.set('scope', '"><script>alert(1)</script>');
    const text = await (await fetch(url)).text();
    expect(text).toContain('&quot;&gt;&lt;script&gt;');
    expect(text).not.toContain('<script>');
    const shown = await (await fetch(`${baseUrl}/oauth/code?code=${encodeURIComponent('<b>1</b>')}`)).text();
    // a code holds no such characters: what is none is not shown at all, not even escaped
    expect(shown).toContain('No code came.');
    expect(shown).not.toMatch(/<b>|&lt;b/);
  });

  it('show a code where the platform has no address', async () => {
    const path = '/merchant/webhook/webhook_automation_oauth_url';
    const url = new URL(orThrow(await own.api.post(path, {})).oauthUrl);
    url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(oauth.generateRandomCodeVerifier()));
    url.searchParams.set('code_challenge_method', 'S256');
    const led = (await press(url, true)).headers.get('location') ?? '';
    expect(led.startsWith(`${baseUrl}/oauth/code?`)).toBe(true);
    const code = new URL(led).searchParams.get('code') ?? '-';
    expect(await (await fetch(led)).text()).toContain(`<code>${code}</code>`);
  });
});

describe('what is no such request', () => {
  const post = (path: string, body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(`${baseUrl}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
  const failure = async (answer: Response) => [answer.status, ((await answer.json()) as Envelope).error?.type];

  it('is refused in the envelope where it is none of OAuth', async () => {
    expect(await failure(await fetch(`${baseUrl}/oauth/nowhere`))).toEqual([404, 'unknown_path']);
    expect(await failure(await fetch(`${baseUrl}/oauth/hooks`))).toEqual([401, 'credential_invalid']);
    expect(await failure(await post('/oauth/token', 'grant_type=a&grant_type=b'))).toEqual([400, 'invalid_parameters']);
    expect(await failure(await post('/oauth/token', `code=${'x'.repeat(5_000)}`))).toEqual([400, 'invalid_parameters']);
    expect(await failure(await post('/oauth/token', 'x', 'text/plain'))).toEqual([415, 'unsupported_media_type']);
    expect(await failure(await post('/oauth/token', 'a=1&'.repeat(5_000)))).toEqual([413, 'body_too_large']);
    // no other path takes forms
    expect(await failure(await post('/merchant/webhook/replay', 'endpointId=1'))).not.toEqual([200, undefined]);
  });

  it('is answered as RFC 6749 says where it is', async () => {
    const answer = await post('/oauth/token', 'grant_type=authorization_code&client_id=au_nobody&code=x');
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { error: 'invalid_client', error_description: 'Unknown client' },
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await (await post('/oauth/revoke', 'token=nobody.x')).json()).toEqual({});
  });

  it('names what is wrong with the input of a hook', async () => {
    const { access_token } = await connect(await begin());
    const { status, envelope } = await hooks(access_token, 'hooks', {
      method: 'POST',
      body: '{"url":"http://10.0.0.1/","events":["invoice.eaten"]}',
    });
    expect([status, envelope.error?.issues.map(({ path }) => path)]).toEqual([400, ['/events/0']]);
    const inside = await hooks(access_token, 'hooks', {
      method: 'POST',
      body: '{"url":"http://10.0.0.1/","events":["invoice.paid"]}',
    });
    expect(inside.envelope.error?.issues.map(({ path }) => path)).toEqual(['/url']);
    expect((await hooks(access_token, 'hooks/1x', { method: 'DELETE' })).envelope.error?.issues[0]?.path).toBe(
      '/endpointId',
    );
    expect((await hooks(access_token, 'samples?event=x')).envelope.error?.issues[0]?.path).toBe('/event');
  });
});

describe('the logs', () => {
  it('of all apps hold none of the secrets that were given out', async () => {
    const rotated = orThrow(await own.api.post('/merchant/webhook/rotate_secret', { endpointId: own.endpointId }));
    orThrow(await own.api.post('/merchant/webhook/test_event', { endpointId: own.endpointId, event: 'invoice.paid' }));
    secrets.push(rotated.secret.slice('whsec_'.length));
    await stand.quiet();
    const folder = stand.stack.home.logs;
    const logs = readdirSync(folder)
      .map(file => readFileSync(path.join(folder, file), 'utf8'))
      .join('\n');
    expect(logs).toContain('"command":"notification.webhook.rotate_secret"');
    expect(secrets.length).toBeGreaterThan(20);
    const parts = secrets.map(secret => secret.split('.').at(-1) ?? '');
    expect(parts.every(part => part.length >= 43)).toBe(true);
    expect(parts.filter(part => logs.includes(part))).toEqual([]);
  });
});
