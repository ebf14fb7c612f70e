import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteEndpoint, listEndpointLogs, updateEndpoint } from '@recur/contracts';
import { http } from '@recur/platform/testing';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, untilDue } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const logOf = (endpointId: number, over: object = {}) => t.done(listEndpointLogs, { endpointId, ...over }, merchant);
const iso = (ms: number) => new Date(ms).toISOString();

describe('webhook/endpoint_log_list', () => {
  it('has one entry for each attempt, newest first, each as it was at its time', async () => {
    const { endpointId } = await newOne();
    const happened = event();
    await t.deliver('billing', [happened]);
    answerWith(503);
    const begun = clock.wall();
    await deliver(endpointId);
    await untilDue(endpointId);
    await t.done(updateEndpoint, { endpointId, url: `${url}/2` }, merchant);
    answerWith(200);
    await deliver(endpointId);

    const { endpointLogList, total } = await logOf(endpointId);
    const [second, first] = endpointLogList;
    const nextMs = begun + 5_000;
    expect(total).toBe(2);
    expect(second).toEqual({
      id: expect.any(Number),
      merchantId: merchant.merchantId,
      endpointId,
      webhookEvent: 'invoice.created',
      webhookUrl: `${url}/2`,
      requestId: happened.id,
      body: received[1]?.body,
      requestHeaders: {
        'content-type': 'application/json',
        'user-agent': 'recur-webhooks/1',
        'webhook-id': happened.id,
        'webhook-timestamp': String(Math.floor(nextMs / 1000)),
      },
      response: 'no',
      httpStatus: 200,
      mamo: 'delivered',
      reconsumeCount: 1,
      createTime: Math.floor(nextMs / 1000),
      durationMs: expect.any(Number),
      nextTryTime: 0,
    });
    expect(first).toMatchObject({
      webhookUrl: url,
      requestId: happened.id,
      body: second?.body,
      mamo: `failed: 503, next attempt at ${iso(nextMs)}`,
      reconsumeCount: 0,
      createTime: Math.floor(begun / 1000),
      nextTryTime: Math.floor(nextMs / 1000),
    });
  });

  it('tells how each of the ten attempts ended, where nobody listens', async () => {
    const nobody = await http(() => {});
    await nobody.close();
    const { endpointId } = await newOne({ url: nobody.url });
    await t.deliver('billing', [event()]);
    do await deliver(endpointId);
    while (await untilDue(endpointId));
    const { endpointLogList } = await logOf(endpointId);
    expect(endpointLogList.map(({ reconsumeCount }) => reconsumeCount)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    const [last, ...before] = endpointLogList;
    expect(last).toMatchObject({ mamo: 'failed: connect: ECONNREFUSED, it was the last attempt', nextTryTime: 0 });
    for (const { mamo } of before) expect(mamo).toMatch(/^failed: connect: ECONNREFUSED, next attempt at 20/);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10 }]);
  });

  it('tells that a 410 disabled the endpoint', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', [event()]);
    answerWith(410);
    await deliver(endpointId);
    const { endpointLogList } = await logOf(endpointId);
    expect(endpointLogList).toMatchObject([{ mamo: 'failed: 410, the endpoint was disabled', nextTryTime: 0 }]);
  });

  it('keeps the first 2000 characters of an answer, and never half of one', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', [event()]);
    answerWith((_, response) => response.end(`${'x'.repeat(1_999)}🙂🙂`));
    await deliver(endpointId);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered' }]);
    expect((await logOf(endpointId)).endpointLogList[0]?.response).toBe('x'.repeat(1_999));
  });

  it('cuts bodies so that any page can be answered', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', [event({ data: { long: '€'.repeat(50_000), lines: [] } })]);
    await deliver(endpointId);
    const sent = received[0]?.body ?? '';
    for (const [count, characters] of [
      [1, sent.length],
      [20, 30_000],
      [100, 6_000],
    ] as const) {
      const body = (await logOf(endpointId, { count })).endpointLogList[0]?.body;
      expect(body?.length).toBe(characters);
      expect(body === sent.slice(0, characters)).toBe(true);
    }
  });

  it('goes page by page, through the attempts of one endpoint alone', async () => {
    const { endpointId } = await newOne();
    const other = await newOne();
    for (let round = 0; round < 5; round++) {
      await t.deliver('billing', [event(), event()]);
      await deliver(endpointId);
      await deliver(other.endpointId);
      clock.advance(1);
    }
    const whole = (await logOf(endpointId)).endpointLogList;
    expect(whole).toHaveLength(10);
    const place = ({ createTime, id }: { createTime: number; id: number }) => createTime * 1e6 + id;
    expect(whole).toEqual([...whole].sort((a, b) => place(b) - place(a)));
    const pages = await Promise.all([0, 1, 2, 3].map(page => logOf(endpointId, { page, count: 3 })));
    expect(pages.flatMap(({ endpointLogList }) => endpointLogList)).toEqual(whole);
    expect(pages.map(({ total }) => total)).toEqual([10, 10, 10, 10]);
    expect(await logOf(endpointId, { page: 4, count: 3 })).toEqual({ endpointLogList: [], total: 10 });
    // as in every list, 0 does not filter
    expect(await logOf(endpointId, { createTimeStart: 0, createTimeEnd: 0 })).toMatchObject({ total: 10 });
  });

  it.each<[object, string]>([
    [{ endpointId: undefined }, '/endpointId'],
    [{ endpointId: 'one' }, '/endpointId'],
    [{ page: -1 }, '/page'],
    [{ page: 100, count: 100 }, '/page'],
    [{ count: 0 }, '/count'],
    [{ count: 1_001 }, '/count'],
  ])('refuses %j', async (over, path) => {
    const { endpointId } = await newOne();
    const result = await t.call(listEndpointLogs, { endpointId, ...over }, merchant);
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path }] });
  });

  it('takes its fields as the text of a query', async () => {
    const { endpointId } = await newOne();
    expect(await logOf(endpointId, { endpointId: String(endpointId), page: '99', count: '100' })).toEqual({
      endpointLogList: [],
      total: 0,
    });
  });

  it('shows nothing of a merchant to another, even where the query forgets whose it is', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    const seen = (merchantId: number) =>
      t.db.read(t.callerOf({ merchantId }), reader => reader.query('select id from attempts', []));
    expect(await seen(merchant.merchantId)).toHaveLength(1);
    expect(await seen(99)).toEqual([]);
    await t.done(deleteEndpoint, { endpointId }, merchant);
    expect(await seen(merchant.merchantId)).toHaveLength(1);
  });
});
