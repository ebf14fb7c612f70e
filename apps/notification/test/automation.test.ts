import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AutomationAnswer,
  type AutomationRequest,
  automationOauthUrl,
  connectionStatus,
  deleteEndpoint,
  disconnectAutomation,
  endpointType,
  listEndpoints,
} from '@recur/contracts';
import { allowed, type Connection, connectionLifecycle, withTokens } from '../src/domain/connection.js';
import { Hooks } from '../src/hooks.js';
import { makeStand, of64 } from './stand.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, event, deliver, newOne } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const returnUrl = 'https://platform.example/back?flow=7';
const verifier = randomBytes(32).toString('base64url');
const code_challenge = createHash('sha256').update(verifier).digest('base64url');
type Fields = Record<string, string>;

/** Asks as the gateway does. */
const ask = (request: object): Promise<AutomationAnswer> =>
  t.app.get(Hooks).answer(request as AutomationRequest, t.callerOf({ merchantId: 0 }));
const step = (step: string, fields: Fields) => ask({ step, fields });
const hook = (step: string, token: string, input: object = {}) => ask({ step, token, input });

/** The parameters of an authorize URL, as a platform sends them on with its challenge. */
async function requested(of = merchant): Promise<Fields> {
  const { oauthUrl } = await t.done(automationOauthUrl, { returnUrl }, of);
  const { origin, pathname, searchParams } = new URL(oauthUrl);
  expect(origin + pathname).toBe('http://localhost:3000/oauth/authorize');
  return { ...Object.fromEntries(searchParams), code_challenge, code_challenge_method: 'S256' };
}
const redirected = (answer: AutomationAnswer) => {
  if (answer.kind !== 'redirect') throw new Error(JSON.stringify(answer));
  return Object.fromEntries(new URL(answer.location).searchParams);
};
async function allowedOne(): Promise<Fields> {
  const fields = await requested();
  const { code = '' } = redirected(await step('decide', { ...fields, allowed: 'true' }));
  return {
    grant_type: 'authorization_code',
    code,
    client_id: fields.client_id ?? '',
    redirect_uri: returnUrl,
    code_verifier: verifier,
  };
}
interface Tokens {
  access_token: string;
  refresh_token: string;
  client_id: string;
}
async function connectedOne(): Promise<Tokens> {
  const fields = await allowedOne();
  const answer = await step('token', fields);
  if (answer.kind !== 'oauth' || answer.status !== 200) throw new Error(JSON.stringify(answer));
  return { ...(answer.body as unknown as Tokens), client_id: fields.client_id ?? '' };
}
const refused = (error: string) => ({ kind: 'oauth', body: { error } });
const gone = { kind: 'rejected', slug: 'credential_invalid' };
const connections = async () => (await t.done(listEndpoints, {}, merchant)).automationConnections;
const logged = async () =>
  (await t.emitted())
    .filter(({ type }) => type === 'operation.logged')
    .map(({ data }) => (data as { content: string }).content);

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

  it.each(['ftp://platform.example/', 'javascript:alert(1)', 'platform.example', 7])(
    'takes no returnUrl %j',
    async bad => {
      expect(await t.call(automationOauthUrl, { returnUrl: bad }, merchant)).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/returnUrl' }],
      });
    },
  );

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
    ['a foreign address to return to', { redirect_uri: 'https://evil.example/' }],
    ['an address that only begins alike', { redirect_uri: `${returnUrl}&more=1` }],
  ])('with %s is refused on a page of ours, and leads nowhere', async (_, over) => {
    const fields = { ...(await requested()), ...over };
    for (const asked of ['authorize', 'decide']) {
      expect(await step(asked, { ...fields, allowed: 'true' })).toEqual({
        kind: 'refusal',
        message: expect.any(String),
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
});

describe('hooks', () => {
  it('are endpoints of the connection: subscribed, listed, delivered to, unsubscribed', async () => {
    const { access_token } = await connectedOne();
    await newOne();
    await t.emitted();
    const made = await hook('subscribe', access_token, { url, events: ['invoice.created'] });
    const { endpointId, secret } = (made as { data: { endpointId: number; secret: string } }).data;
    expect(secret).toMatch(/^whsec_/);
    expect(await hook('list', access_token)).toMatchObject({
      data: { hooks: [{ id: endpointId, type: endpointType.automation }] },
    });
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    expect(received).toHaveLength(1);
    expect(await hook('unsubscribe', access_token, { endpointId })).toMatchObject({ data: {} });
    expect(await hook('unsubscribe', access_token, { endpointId })).toMatchObject({ slug: 'endpoint_not_found' });
    expect(await hook('list', access_token)).toMatchObject({ data: { hooks: [] } });
    expect(await logged()).toEqual(['New', 'Delete']);
  });

  it("are no way to an endpoint that is the merchant's own, or another connection's, or another merchant's", async () => {
    const { access_token } = await connectedOne();
    const other = await connectedOne();
    const own = await newOne();
    const theirs = (await hook('subscribe', other.access_token, { url, events: ['invoice.paid'] })) as {
      data: { endpointId: number };
    };
    merchant.merchantId++;
    const foreign = await newOne();
    merchant.merchantId--;
    const unknown = await hook('unsubscribe', access_token, { endpointId: 900_000 });
    expect(unknown).toMatchObject({ slug: 'endpoint_not_found' });
    for (const { endpointId } of [own, theirs.data, foreign]) {
      expect(await hook('unsubscribe', access_token, { endpointId })).toEqual(unknown);
    }
  });

  it.each(['http://10.0.0.1/', 'http://169.254.169.254/', 'http://metadata.internal/'])(
    'do not go to %s',
    async bad => {
      const { access_token } = await connectedOne();
      expect(await hook('subscribe', access_token, { url: bad, events: ['invoice.paid'] })).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/url' }],
      });
    },
  );

  it('have samples: the newest bodies of the merchant, or an empty example', async () => {
    const { access_token } = await connectedOne();
    const samples = async () =>
      ((await hook('samples', access_token, { event: 'invoice.created' })) as { data: { samples: object[] } }).data
        .samples;
    expect(await samples()).toMatchObject([{ type: 'invoice.created', test: true, merchantId: merchant.merchantId }]);
    await newOne();
    const happened: ReturnType<typeof event>[] = [];
    for (let at = 0; at < 4; at++) {
      happened.push(event());
      await t.deliver('billing', happened.slice(at));
      clock.advance(1);
    }
    const newest = happened.slice(1).reverse();
    expect(await samples()).toMatchObject(newest.map(({ type, data }) => ({ type, data })));
  });

  it.each(['', 'au_x', 'au_nobody.x', 'x.y.z', '.'])('are for nobody with the token %j', async token => {
    for (const asked of ['list', 'subscribe', 'unsubscribe', 'samples']) {
      expect(
        await hook(asked, token, { url, events: ['invoice.paid'], endpointId: 1, event: 'invoice.paid' }),
      ).toMatchObject(gone);
    }
    const { access_token } = await connectedOne();
    const [id] = access_token.split('.');
    expect(await hook('list', `${id}.${randomBytes(32).toString('base64url')}`)).toMatchObject(gone);
  });
});

describe('a connection is ended', () => {
  it('by its merchant: its tokens hold no longer, and its endpoints are deleted, with one entry in the log', async () => {
    const { access_token, refresh_token, client_id } = await connectedOne();
    for (const path of ['1', '2'])
      await hook('subscribe', access_token, { url: url + path, events: ['invoice.created'] });
    const own = await newOne();
    await t.deliver('billing', [event()]);
    await t.emitted();
    await t.done(disconnectAutomation, { connectionId: client_id }, merchant);
    const emitted = await t.emitted();
    expect(emitted.map(({ type }) => type)).toEqual([
      'webhook.endpoint.deleted',
      'webhook.endpoint.deleted',
      'operation.logged',
    ]);
    expect(emitted[2]?.data).toMatchObject({ target: `AutomationConnection(${client_id})`, content: 'Disconnect' });
    expect(await hook('list', access_token)).toMatchObject(gone);
    expect(await step('token', { grant_type: 'refresh_token', client_id, refresh_token })).toMatchObject(
      refused('invalid_client'),
    );
    expect((await t.done(listEndpoints, {}, merchant)).endpointList.map(({ id }) => id)).toEqual([own.endpointId]);
    const due = await t.rows('select distinct endpoint_id from due where merchant_id = $1', [merchant.merchantId]);
    expect(due.map(row => Number(row.endpoint_id))).toEqual([own.endpointId]);
    expect(await t.call(disconnectAutomation, { connectionId: client_id }, merchant)).toMatchObject({
      slug: 'connection_not_found',
    });
  });

  it.each(['access_token', 'refresh_token'] as const)('by its platform, which revokes its %s', async which => {
    const connected = await connectedOne();
    await t.emitted();
    expect(await step('revoke', { token: connected[which] })).toEqual({ kind: 'oauth', status: 200, body: {} });
    expect(await hook('list', connected.access_token)).toMatchObject(gone);
    expect(await logged()).toEqual(['Disconnect']);
    expect(await step('revoke', { token: connected[which] })).toEqual({ kind: 'oauth', status: 200, body: {} });
  });

  it.each(['', 'x', 'au_nobody.x'])('not by who revokes the token %j', async token => {
    const { access_token, client_id } = await connectedOne();
    for (const bad of [token, `${client_id}.${randomBytes(32).toString('base64url')}`, `${client_id}.`]) {
      expect(await step('revoke', { token: bad })).toEqual({ kind: 'oauth', status: 200, body: {} });
    }
    expect(await hook('list', access_token)).toMatchObject({ kind: 'data' });
  });

  it('not by another merchant, for whom it is unknown', async () => {
    const { access_token, client_id } = await connectedOne();
    const stranger = { merchantId: 99 };
    const refusal = await t.call(disconnectAutomation, { connectionId: client_id }, stranger);
    expect(refusal).toMatchObject({ slug: 'connection_not_found' });
    expect(refusal).toEqual(await t.call(disconnectAutomation, { connectionId: 'au_nobody' }, stranger));
    expect((await t.done(listEndpoints, {}, stranger)).automationConnections).toEqual([]);
    expect(await hook('list', access_token)).toMatchObject({ kind: 'data' });
    const seen = await t.db.read(t.callerOf(stranger), reader => reader.query('select 1 from connections', []));
    expect(seen).toEqual([]);
  });

  it.each([undefined, '', '  ', 7])('by its id: not %j', async connectionId => {
    expect(await t.call(disconnectAutomation, { connectionId }, merchant)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/connectionId' }],
    });
  });

  it('64 times at once, while it subscribes, leaves no endpoint behind', async () => {
    const { access_token, client_id } = await connectedOne();
    await Promise.all([
      ...Array.from({ length: 32 }, () => hook('subscribe', access_token, { url, events: ['invoice.paid'] })),
      ...Array.from({ length: 32 }, () => t.call(disconnectAutomation, { connectionId: client_id }, merchant)),
    ]);
    expect((await t.done(listEndpoints, {}, merchant)).endpointList).toEqual([]);
  });

  it('with endpoints that the merchant deletes meanwhile', async () => {
    const { access_token, client_id } = await connectedOne();
    const made = (await hook('subscribe', access_token, { url, events: ['invoice.paid'] })) as {
      data: { endpointId: number };
    };
    await Promise.all([
      t.call(deleteEndpoint, { endpointId: made.data.endpointId }, merchant),
      t.done(disconnectAutomation, { connectionId: client_id }, merchant),
    ]);
    const deleted = (await t.emitted()).filter(({ type }) => type === 'webhook.endpoint.deleted');
    expect(deleted).toHaveLength(1);
  });
});

describe('the lifecycle of a connection', () => {
  it('has the states that the API has codes for, and no move but its own', () => {
    expect(connectionLifecycle.states).toEqual(Object.keys(connectionStatus));
    const of = (state: Connection['state']) => ({ connectionId: 'au_1', state, refreshHash: 'r' }) as Connection;
    const tokens = { accessHash: 'a', refreshHash: 'b' };
    expect(allowed(of('requested'), 'c', 'd', 5)).toMatchObject({ state: 'allowed', expireTime: 305 });
    expect(withTokens(of('allowed'), tokens, 5)).toMatchObject({
      state: 'connected',
      formerRefreshHash: 'r',
      expireTime: 0,
    });
    expect(withTokens(of('connected'), tokens, 5)).toMatchObject({ state: 'connected', accessUntil: 3_605 });
    for (const state of ['allowed', 'connected'] as const)
      expect(() => allowed(of(state), '', '', 5)).toThrow('cannot allow');
    expect(() => withTokens(of('requested'), tokens, 5)).toThrow('cannot renew');
  });
});
