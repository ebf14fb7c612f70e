import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { automationOauthUrl, connectionStatus } from '@recur/contracts';
import { makeStand, of64 } from '../stand.js';
import { code_challenge, type Fields, gone, platformAt, refused, returnUrl, type Tokens } from './platform.js';

const stand = await makeStand();
const { t, clock, merchant } = stand;
const { step, hook, requested, redirected, allowedOne, connectedOne, connections, logged } = platformAt(stand);
afterAll(() => stand.close());
beforeEach(() => stand.anew());

describe('webhook_automation_oauth_url', () => {
  it('is a URL with a state of 256 bits, bound to the merchant and to returnUrl, of which only a digest is kept', async () => {
    await t.emitted();
    const { state = '', ...fields } = await requested();
    expect(fields).toMatchObject({ response_type: 'code', redirect_uri: returnUrl, scope: 'hooks' });
    expect(Buffer.from(state, 'base64url')).toHaveLength(32);
    expect(await connections()).toEqual([
      {
        connectionId: fields.client_id,
        status: connectionStatus.requested,
        returnUrl,
        createTime: clock.now(),
        expireTime: clock.now() + 3_600,
      },
    ]);
    expect(await logged()).toEqual(['New']);
    const rows = await t.rows('select connections::text as row from connections');
    expect(JSON.stringify(rows)).not.toContain(state);
  });

  it.each([
    'ftp://platform.example/',
    'javascript:alert(1)',
    'platform.example',
    7,
    // what leads to another host, or nowhere, where it is read by other rules
    'https://platform.example`/',
    "https://platform.example'.evil.example/",
    'https://me:secret@platform.example/',
    'https://_%@platform.example/',
  ])('takes no returnUrl %j', async bad => {
    expect(await t.call(automationOauthUrl, { returnUrl: bad }, merchant)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/returnUrl' }],
    });
  });

  it.each([{}, { returnUrl: '' }])('without an address leads to a page that shows the code: %j', async input => {
    const { oauthUrl } = await t.done(automationOauthUrl, input, merchant);
    expect(new URL(oauthUrl).searchParams.get('redirect_uri')).toBe('http://localhost:3000/oauth/code');
  });

  it('is made 20 times at most, 64 at once included; those that were not taken up make room in an hour', async () => {
    const results = await of64(() => t.call(automationOauthUrl, { returnUrl }, merchant));
    expect(results.filter(({ ok }) => ok)).toHaveLength(20);
    for (const result of results) if (!result.ok) expect(result.slug).toBe('too_many_connections');
    clock.advance(3_600);
    expect(await connections()).toEqual([]);
    await requested();
    expect(await connections()).toHaveLength(1);
    const kept = await t.rows('select 1 from connection_lookups where merchant_id = $1', [merchant.merchantId]);
    expect(kept).toHaveLength(1);
  });
});

describe('the authorize URL', () => {
  it('asks for consent, and a yes leads back with a code and the state', async () => {
    const fields = await requested();
    expect(await step('authorize', { ...fields, unknown: 'x' })).toEqual({
      kind: 'consent',
      merchantId: merchant.merchantId,
      returnUrl,
      fields,
    });
    await t.emitted();
    const { flow, code, state, ...rest } = redirected(await step('decide', { ...fields, allowed: 'true' }));
    expect([flow, state, rest]).toEqual(['7', fields.state, {}]);
    expect(code).toMatch(/^au_[0-9a-z]{26}\.[\w-]{43}$/);
    expect(await logged()).toEqual(['Allow']);
    expect(await connections()).toMatchObject([{ status: connectionStatus.allowed, expireTime: clock.now() + 300 }]);
  });

  it('leads back to any path of the address, as a header can say it', async () => {
    const back = 'https://platform.example/é/я?a=ü';
    const { oauthUrl } = await t.done(automationOauthUrl, { returnUrl: back }, merchant);
    const asked = Object.fromEntries(new URL(oauthUrl).searchParams);
    const fields = { ...asked, code_challenge, code_challenge_method: 'S256', allowed: 'true' };
    expect(await step('decide', fields)).toMatchObject({
      location: expect.stringMatching(/^https:\/\/platform\.example\/%C3%A9\/%D1%8F\?a=%C3%BC&code=au_[\w.&=-]+$/),
    });
  });

  it.each(['', 'others "é"'])('asks for one scope, whatever it says: %j', async scope => {
    const fields = { ...(await requested()), scope };
    expect(await step('authorize', fields)).toMatchObject({ kind: 'consent' });
    expect(redirected(await step('decide', { ...fields, allowed: 'true' }))).toHaveProperty('code');
  });

  it('a no leads back with access_denied, and ends it', async () => {
    const fields = await requested();
    expect(redirected(await step('decide', { ...fields, allowed: 'false' }))).toMatchObject({
      error: 'access_denied',
      state: fields.state,
      flow: '7',
    });
    expect(await step('authorize', fields)).toMatchObject({ kind: 'refusal' });
    expect(await connections()).toEqual([]);
  });

  it.each<[string, Fields]>([
    ['another state', { state: randomBytes(32).toString('base64url') }],
    ['no state', { state: '' }],
    ['another client', { client_id: 'au_nobody' }],
    ['a client that no text in a table can name', { client_id: 'au_\0' }],
    ['a foreign address to return to', { redirect_uri: 'https://evil.example/' }],
    ['an address that only begins alike', { redirect_uri: `${returnUrl}&more=1` }],
  ])('with %s is refused on a page of ours, and leads nowhere', async (_, over) => {
    const fields = { ...(await requested()), ...over };
    for (const asked of ['authorize', 'decide']) {
      expect(await step(asked, { ...fields, allowed: 'true' })).toEqual({
        kind: 'refusal',
        reason: 'redirect_uri' in over ? 'elsewhere' : 'stale',
      });
    }
    expect(await connections()).toMatchObject([{ status: connectionStatus.requested }]);
  });

  it.each<[string, Fields, string]>([
    ['no challenge', { code_challenge: '' }, 'invalid_request'],
    ['a challenge that is no SHA-256', { code_challenge: 'short' }, 'invalid_request'],
    ['the plain method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method, which would mean plain', { code_challenge_method: '' }, 'invalid_request'],
    ['another response', { response_type: 'token' }, 'unsupported_response_type'],
  ])('with %s leads back with an error', async (_, over, error) => {
    const fields = { ...(await requested()), ...over };
    for (const asked of ['authorize', 'decide']) {
      const answer = redirected(await step(asked, { ...fields, allowed: 'true' }));
      expect(answer).toMatchObject({ error, state: fields.state });
      expect(answer.code).toBeUndefined();
    }
  });

  it('holds for an hour, and for one answer', async () => {
    const fields = await requested();
    clock.advance(3_600);
    expect(await step('authorize', fields)).toMatchObject({ kind: 'refusal' });
    const again = await requested();
    const answers = await of64(() => step('decide', { ...again, allowed: 'true' }));
    expect(answers.filter(({ kind }) => kind === 'redirect')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'refusal')).toHaveLength(63);
  });
});

describe('the token endpoint', () => {
  it('gives tokens for the code; of these, digests are kept', async () => {
    const fields = await allowedOne();
    await t.emitted();
    const answer = await step('token', fields);
    expect(answer).toMatchObject({
      kind: 'oauth',
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3_600, scope: 'hooks' },
    });
    expect(await logged()).toEqual(['Connect']);
    expect(await connections()).toMatchObject([{ status: connectionStatus.connected, expireTime: 0 }]);
    const { body } = answer as unknown as { body: Tokens };
    const rows = JSON.stringify(
      await t.rows('select connections::text as row from connections union all select envelope::text from outbox'),
    );
    for (const secret of [body.access_token, body.refresh_token, fields.code ?? '']) {
      expect(secret.split('.')[1]).toHaveLength(43);
      expect(rows).not.toContain(secret.split('.')[1]);
    }
    expect(await hook('list', body.access_token)).toEqual({
      kind: 'data',
      merchantId: merchant.merchantId,
      data: { hooks: [] },
    });
  });

  it.each<[string, Fields, string]>([
    ['a wrong code_verifier', { code_verifier: randomBytes(32).toString('base64url') }, 'invalid_grant'],
    ['no code_verifier', { code_verifier: '' }, 'invalid_grant'],
    ['another address to return to', { redirect_uri: 'https://evil.example/' }, 'invalid_request'],
  ])('refuses %s, and the code with it', async (_, over, error) => {
    const fields = await allowedOne();
    expect(await step('token', { ...fields, ...over })).toMatchObject(refused(error));
    expect(await step('token', fields)).toMatchObject(refused('invalid_client'));
    expect(await connections()).toEqual([]);
  });

  it.each<[string, Fields, string]>([
    ['another code', { code: 'au_x.y' }, 'invalid_grant'],
    ['no code', { code: '' }, 'invalid_request'],
    ['another grant', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['no grant', { grant_type: '' }, 'invalid_request'],
    ['another client', { client_id: 'au_nobody' }, 'invalid_client'],
    ['a client that no text in a table can name', { client_id: 'au_\0' }, 'invalid_client'],
  ])('refuses %s, and the right request still stands', async (_, over, error) => {
    const fields = await allowedOne();
    expect(await step('token', { ...fields, ...over })).toMatchObject(refused(error));
    expect(await step('token', fields)).toMatchObject({ status: 200 });
  });

  it('refuses a code after five minutes', async () => {
    const fields = await allowedOne();
    clock.advance(300);
    expect(await step('token', fields)).toMatchObject(refused('invalid_grant'));
  });

  it('a code that is used again ends what it gave: somebody else may have it', async () => {
    const fields = await allowedOne();
    const { body } = (await step('token', fields)) as unknown as { body: Tokens };
    expect(await step('token', fields)).toMatchObject(refused('invalid_grant'));
    expect(await hook('list', body.access_token)).toMatchObject(gone);
    expect(
      await step('token', {
        grant_type: 'refresh_token',
        client_id: fields.client_id ?? '',
        refresh_token: body.refresh_token,
      }),
    ).toMatchObject(refused('invalid_client'));
  });

  it('64 requests with one code get tokens once, and these hold no longer', async () => {
    const fields = await allowedOne();
    const answers = (await of64(() => step('token', fields))) as unknown as { status: number; body: Tokens }[];
    const given = answers.filter(({ status }) => status === 200);
    expect(given).toHaveLength(1);
    expect(await hook('list', given[0]?.body.access_token ?? '')).toMatchObject(gone);
  });

  it('of one connection takes no code of another', async () => {
    const [one, other] = [await allowedOne(), await allowedOne()];
    expect(await step('token', { ...one, code: other.code ?? '' })).toMatchObject(refused('invalid_grant'));
  });

  it('renews: the tokens before hold no longer, and a refresh token that is used again ends the connection', async () => {
    const first = await connectedOne();
    const renew = (refresh_token: string) =>
      step('token', { grant_type: 'refresh_token', client_id: first.client_id, refresh_token });
    clock.advance(3_600);
    expect(await hook('list', first.access_token)).toMatchObject(gone);
    const { body: second } = (await renew(first.refresh_token)) as unknown as { body: Tokens };
    expect(await hook('list', second.access_token)).toMatchObject({ kind: 'data' });
    expect(await hook('list', first.access_token)).toMatchObject(gone);
    expect(await renew('au_x.y')).toMatchObject(refused('invalid_grant'));
    expect(await hook('list', second.access_token)).toMatchObject({ kind: 'data' });
    expect(await renew(first.refresh_token)).toMatchObject(refused('invalid_grant'));
    expect(await hook('list', second.access_token)).toMatchObject(gone);
  });

  it('a refresh token from before the last renewal ends the connection too: a thief may have renewed since', async () => {
    const { client_id, refresh_token: stolen } = await connectedOne();
    let last = { refresh_token: stolen } as Tokens;
    const renew = (refresh_token: string) =>
      step('token', { grant_type: 'refresh_token', client_id, refresh_token }) as unknown as Promise<{ body: Tokens }>;
    for (let renewals = 0; renewals < 3; renewals++) last = (await renew(last.refresh_token)).body;
    expect(await renew(stolen)).toMatchObject(refused('invalid_grant'));
    expect(await hook('list', last.access_token)).toMatchObject(gone);
  });

  it('what is no token of the connection ends nothing, whatever it begins with', async () => {
    const { client_id, access_token, refresh_token } = await connectedOne();
    for (const wrong of [`${client_id}.x`, `${client_id}.x.y`, access_token, `${access_token}.x`, '.']) {
      const fields = { grant_type: 'refresh_token', client_id, refresh_token: wrong };
      expect(await step('token', fields)).toMatchObject(refused('invalid_grant'));
    }
    const renewed = await step('token', { grant_type: 'refresh_token', client_id, refresh_token });
    expect(renewed).toMatchObject({ status: 200 });
  });
});
