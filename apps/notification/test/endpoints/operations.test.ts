import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deleteEndpoint,
  listEndpointLogs,
  listEndpoints,
  listWebhookEvents,
  newEndpoint,
  updateEndpoint,
  webhookEventNames,
  webhookSecret,
} from '@recur/contracts';
import type { Event } from '@recur/platform';
import { makeStand, of64 } from '../stand.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const listed = async () => (await t.done(listEndpoints, {}, merchant)).endpointList;
/** What was emitted since the last time, as type and version; of a log entry its target and content. */
const steps = async () =>
  (await t.emitted()).map(({ type, version, data }) => {
    const { target, content } = data as { target?: string; content?: string };
    return type === 'operation.logged' ? `${target} ${content}` : `${type} ${version}`;
  });

describe('an endpoint', () => {
  it('gets a secret of its own, kept encrypted, shown to its merchant alone', async () => {
    const { endpointId, secret } = await newOne();
    expect(secret).toMatch(/^whsec_/);
    expect(await t.done(webhookSecret, { endpointId }, merchant)).toEqual({ secret });
    expect(JSON.stringify(await listed())).not.toContain(secret.slice(6));
    const rows = await t.rows(
      'select endpoints::text as row from endpoints union all select envelope::text from outbox',
    );
    expect(JSON.stringify(rows)).not.toContain(secret.slice(6));
  });

  it('can ask which events there are', async () => {
    expect(await t.done(listWebhookEvents, {})).toEqual({ eventList: webhookEventNames });
  });
});

describe('what an endpoint may be, new or updated', () => {
  it.each<[string, object, string]>([
    ['a private address', { url: 'http://10.0.0.1/' }, '/url'],
    ['the metadata service', { url: 'http://169.254.169.254/latest' }, '/url'],
    ['a private address in hexadecimal', { url: 'http://0x0a000001/' }, '/url'],
    ['another scheme', { url: 'ftp://example.com/' }, '/url'],
    ['a name inside', { url: 'http://metadata.internal/' }, '/url'],
    ['a password', { url: 'https://a:b@example.com/' }, '/url'],
    ['no URL', { url: undefined }, '/url'],
    ['a blank URL', { url: '' }, '/url'],
    ['an unknown event', { events: ['invoice.created', 'invoice.eaten'] }, '/events/1'],
    ['events that are no list', { events: 'invoice.created' }, '/events'],
    ['a product that is no number', { productIds: [1, 'two'] }, '/productIds/1'],
    ['a product that is no integer', { productIds: [1.5] }, '/productIds/0'],
  ])('not %s', async (_, over, path) => {
    const { endpointId } = await newOne();
    await t.emitted();
    for (const operation of [newEndpoint, updateEndpoint]) {
      const result = await t.call(operation, { endpointId, url, ...over }, merchant);
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path }] });
    }
    expect(await steps()).toEqual([]);
  });
});

describe('webhook/update_endpoint', () => {
  it('sets URL, events and products, with one event and one log entry', async () => {
    const { endpointId } = await newOne({ productIds: [3] });
    const [before] = await listed();
    await t.emitted();
    clock.advance(60);
    const wishes = { endpointId, url: `${url}/2`, events: ['user.created' as const], productIds: [0, 7, 7] };
    expect(await t.done(updateEndpoint, wishes, merchant)).toEqual({});
    const after = {
      ...before,
      webhookUrl: `${url}/2`,
      webhookEvents: ['user.created'],
      productIds: [0, 7],
      gmtModify: clock.now(),
    };
    expect(await listed()).toEqual([after]);
    const [updated, logged, ...more] = await t.emitted();
    expect(updated).toMatchObject({ type: 'webhook.endpoint.updated', version: 2, data: after });
    expect(logged).toMatchObject({ data: { target: `WebhookEndpoint(${endpointId})`, content: 'Update' } });
    expect(more).toEqual([]);
  });

  it('leaves lists that are absent or null, and empties those that are []', async () => {
    const { endpointId } = await newOne({ productIds: [3] });
    const lists = async (over: object) => {
      await t.done(updateEndpoint, { endpointId, url, ...over }, merchant);
      return (await listed()).map(({ webhookEvents, productIds }) => [webhookEvents, productIds]);
    };
    expect(await lists({})).toEqual([[['invoice.created'], [3]]]);
    expect(await lists({ events: null, productIds: null })).toEqual([[['invoice.created'], [3]]]);
    expect(await lists({ productIds: [] })).toEqual([[['invoice.created'], []]]);
    expect(await lists({ events: [], productIds: [5] })).toEqual([[[], [5]]]);
  });

  it('that changes nothing tells nobody', async () => {
    const { endpointId } = await newOne({ events: ['invoice.created', 'invoice.paid'] });
    const before = await listed();
    await t.emitted();
    clock.advance(60);
    await t.done(updateEndpoint, { endpointId, url, events: ['invoice.paid', 'invoice.created'] }, merchant);
    expect(await steps()).toEqual([]);
    expect(await listed()).toEqual(before);
  });

  it('needs to know which', async () => {
    for (const endpointId of [undefined, 'one', 1.5]) {
      const result = await t.call(updateEndpoint, { endpointId, url }, merchant);
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/endpointId' }] });
    }
  });

  it('decides what is delivered from then on', async () => {
    const { endpointId } = await newOne({ productIds: [3] });
    await t.done(updateEndpoint, { endpointId, url: `${url}/2`, events: ['user.created'] }, merchant);
    await t.deliver('billing', [event()]);
    await t.deliver('identity', [event({ type: 'user.created', aggregate: 'user' })]);
    await deliver(endpointId);
    expect(received.map(({ path, body }) => [path, JSON.parse(body).type])).toEqual([['/hook/2', 'user.created']]);
  });

  it('puts a disabled one into service again, with a clean slate, and it is behind', async () => {
    const { endpointId } = await newOne();
    answerWith(410);
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    await t.deliver('billing', [event()]);
    expect(await listed()).toMatchObject([{ status: 2 }]);
    await t.emitted();

    answerWith(200);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    expect(await listed()).toMatchObject([{ status: 1 }]);
    expect(await steps()).toEqual(['webhook.endpoint.updated 3', `WebhookEndpoint(${endpointId}) Update`]);
    const slate = 'select failures, failing_since_ms, warned, disabled_because from endpoints where endpoint_id = $1';
    expect(await t.rows(slate, [endpointId])).toEqual([
      { failures: 0, failing_since_ms: null, warned: false, disabled_because: null },
    ]);
    expect(await t.rows('select endpoint_id::integer from catch_ups')).toEqual([{ endpoint_id: endpointId }]);
    received.length = 0;
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    expect(received).toHaveLength(1);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(['missed', 'missed', 'delivered']);
  });

  it('64 at once happen one after the other: versions without a gap, and the last one stands', async () => {
    const { endpointId } = await newOne();
    await t.emitted();
    await of64(at => t.done(updateEndpoint, { endpointId, url: `${url}/${at}` }, merchant));
    const emitted = await t.emitted();
    const updates = emitted.filter(({ type }) => type === 'webhook.endpoint.updated') as Event<{
      webhookUrl: string;
    }>[];
    expect(updates.map(({ version }) => version)).toEqual(Array.from({ length: 64 }, (_, at) => at + 2));
    expect(new Set(updates.map(({ data }) => data.webhookUrl)).size).toBe(64);
    expect(emitted).toHaveLength(128);
    expect(await listed()).toEqual([updates.at(-1)?.data]);
  });

  it('with one Idempotency-Key happens once', async () => {
    const { endpointId } = await newOne();
    await t.emitted();
    const keyed = { ...merchant, idempotencyKey: 'update-1' };
    const wishes = { endpointId, url: `${url}/2` };
    for (const result of await of64(() => t.call(updateEndpoint, wishes, keyed))) expect(result.ok).toBe(true);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    expect(await t.call(updateEndpoint, wishes, keyed)).toMatchObject({ data: {}, replayOf: expect.any(String) });
    expect(await t.call(updateEndpoint, { endpointId, url }, keyed)).toMatchObject({ slug: 'idempotency_reused' });
    expect((await steps()).filter(step => step.startsWith('webhook'))).toEqual([
      'webhook.endpoint.updated 2',
      'webhook.endpoint.updated 3',
    ]);
  });
});

describe('webhook/delete_endpoint', () => {
  it('ends an endpoint, with one event and one log entry; its log is kept', async () => {
    const kept = await newOne();
    const { endpointId } = await newOne();
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    await t.emitted();
    clock.advance(60);
    expect(await t.done(deleteEndpoint, { endpointId }, merchant)).toEqual({});
    const [deleted, logged, ...more] = await t.emitted();
    const data = { id: endpointId, isDeleted: clock.now(), gmtModify: clock.now() };
    expect(deleted).toMatchObject({ type: 'webhook.endpoint.deleted', version: 2, data });
    expect(logged).toMatchObject({ data: { target: `WebhookEndpoint(${endpointId})`, content: 'Delete' } });
    expect(more).toEqual([]);
    expect((await listed()).map(({ id }) => id)).toEqual([kept.endpointId]);
    expect(await t.rows('select outcome from attempts where endpoint_id = $1', [endpointId])).toEqual([
      { outcome: '200' },
    ]);
  });

  it('needs to know which', async () => {
    const result = await t.call(deleteEndpoint, {}, merchant);
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/endpointId' }] });
  });

  it('drops what was still to be sent to it, and to no other', async () => {
    const other = await newOne();
    const { endpointId } = await newOne();
    answerWith(503);
    await t.deliver('billing', [event(), event()]);
    await deliver(endpointId);
    await t.deliver('billing', [event()]);
    await t.done(deleteEndpoint, { endpointId }, merchant);
    expect((await deliveriesOf(endpointId)).map(row => [row.state, row.attempts, row.next_at_ms])).toEqual([
      ['missed', 1, null],
      ['missed', 1, null],
      ['missed', 0, null],
    ]);
    expect(await t.rows('select endpoint_id::integer from due where merchant_id = $1', [merchant.merchantId])).toEqual(
      Array(3).fill({ endpoint_id: other.endpointId }),
    );
    received.length = 0;
    clock.advance(86_400);
    await deliver(endpointId);
    expect(received).toEqual([]);
  });

  it('has no event recorded for it any more', async () => {
    const { endpointId } = await newOne();
    await t.done(deleteEndpoint, { endpointId }, merchant);
    await t.deliver('billing', [event()]);
    expect(await t.rows('select event_id from events where merchant_id = $1', [merchant.merchantId])).toEqual([]);
    expect(await deliveriesOf(endpointId)).toEqual([]);
  });

  it('64 at once: one deletes it, the others find none', async () => {
    const { endpointId } = await newOne();
    await t.emitted();
    const results = await of64(() => t.call(deleteEndpoint, { endpointId }, merchant));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results.filter(({ ok }) => !ok)) expect(result).toMatchObject({ slug: 'endpoint_not_found' });
    expect(await steps()).toEqual(['webhook.endpoint.deleted 2', `WebhookEndpoint(${endpointId}) Delete`]);
  });

  it('with one Idempotency-Key answers a repeat as it did the first', async () => {
    const { endpointId } = await newOne();
    const keyed = { ...merchant, idempotencyKey: 'delete-1' };
    expect(await t.call(deleteEndpoint, { endpointId }, keyed)).toEqual({ ok: true, data: {} });
    expect(await t.call(deleteEndpoint, { endpointId }, keyed)).toMatchObject({
      data: {},
      replayOf: expect.any(String),
    });
    expect(await t.call(deleteEndpoint, { endpointId }, merchant)).toMatchObject({ slug: 'endpoint_not_found' });
  });
});

describe('an endpoint that is unknown, deleted, or of another merchant', () => {
  it('is the same to whoever asks, and stays as it is', async () => {
    const { endpointId } = await newOne();
    const deleted = await newOne();
    await t.done(deleteEndpoint, { endpointId: deleted.endpointId }, merchant);
    const [own] = await listed();
    const stranger = { merchantId: 99 };
    for (const operation of [updateEndpoint, deleteEndpoint, listEndpointLogs, webhookSecret]) {
      const answers = [
        await t.call(operation, { endpointId: 9_007_199_254_740_991, url }, merchant),
        await t.call(operation, { endpointId: deleted.endpointId, url }, merchant),
        await t.call(operation, { endpointId, url }, stranger),
      ];
      const unknown = { ok: false, issues: [], slug: 'endpoint_not_found' };
      expect(answers.map(answer => JSON.stringify(answer))).toEqual(Array(3).fill(JSON.stringify(unknown)));
    }
    expect(await listed()).toEqual([own]);
    expect(await t.done(listEndpoints, {}, stranger)).toEqual({ endpointList: [], automationConnections: [] });
  });
});

describe('webhook/endpoint_list', () => {
  it('has the newest first', async () => {
    const ids: number[] = [];
    for (const seconds of [10, 0, 10]) {
      clock.advance(seconds);
      ids.unshift((await newOne()).endpointId);
    }
    expect((await listed()).map(({ id }) => id)).toEqual(ids);
  });

  it('never has more than 100: more are not made, even at once, until one is deleted', async () => {
    const results = [...(await of64(() => t.call(newEndpoint, { url }, merchant)))];
    results.push(...(await of64(() => t.call(newEndpoint, { url }, merchant))));
    expect(results.filter(({ ok }) => ok)).toHaveLength(100);
    for (const result of results.filter(({ ok }) => !ok)) expect(result).toMatchObject({ slug: 'too_many_endpoints' });
    const [{ id = 0 } = {}, ...others] = await listed();
    expect(others).toHaveLength(99);
    await t.done(deleteEndpoint, { endpointId: id }, merchant);
    await newOne();
    expect(await listed()).toHaveLength(100);
  });
});
