import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectionStatus, deleteEndpoint, disconnectAutomation, endpointType, listEndpoints } from '@recur/contracts';
import { allowed, type Connection, connectionLifecycle, withTokens } from '../../src/automation/domain/connection.js';
import { makeStand } from '../stand.js';
import { gone, platformAt, refused } from './platform.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, event, deliver, newOne } = stand;
const { step, hook, connectedOne, logged } = platformAt(stand);
afterAll(() => stand.close());
beforeEach(() => stand.anew());

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

  it.each(['', 'x', 'au_nobody.x', 'au_\0.x'])('not by who revokes the token %j', async token => {
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
