import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteEndpoint, listEndpointLogs, listEndpoints, updateEndpoint } from '@recur/contracts';
import { blockedBy, ownProcess } from '@recur/platform/testing';
import { endpoints } from '../../../src/endpoints/tables.js';
import { makeStand } from '../../stand.js';

const stand = await makeStand();
const another = await stand.anotherWorker();
const { t, clock, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, untilDue } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

/** Lets requests come in and not answers them, until `count` are there; then they can be answered all at once. */
async function holding(endpointId: number, count: number) {
  const held: ServerResponse[] = [];
  const all = new Promise<void>(resolve => {
    answerWith((_, response) => {
      held.push(response);
      if (held.length === count) resolve();
    });
  });
  const delivering = deliver(endpointId);
  await all;
  return {
    async answer(status: number, afterwards = 200) {
      answerWith(afterwards);
      for (const response of held) response.writeHead(status).end();
      await delivering;
    },
  };
}
const scheduled = async (count: number, over: Parameters<typeof newOne>[0] = {}) => {
  const { endpointId } = await newOne(over);
  await t.deliver(
    'billing',
    Array.from({ length: count }, () => event()),
  );
  return endpointId;
};
const remove = (endpointId: number) => t.done(deleteEndpoint, { endpointId }, merchant);
const move = (endpointId: number) => t.done(updateEndpoint, { endpointId, url: `${url}/new` }, merchant);
const endpointRow = (endpointId: number) =>
  t.rows('select state, failures, deleted_time > 0 as deleted, version from endpoints where endpoint_id = $1', [
    endpointId,
  ]);
const paths = () => received.map(({ path }) => path);

describe('an endpoint that is deleted while attempts are under way', () => {
  it.each([200, 503, 410])('has none of them recorded, whatever they bring (%i)', async status => {
    const endpointId = await scheduled(3);
    const { answer } = await holding(endpointId, 3);
    await remove(endpointId);
    const before = [await deliveriesOf(endpointId), await endpointRow(endpointId)];
    await t.emitted();
    await answer(status);
    expect([await deliveriesOf(endpointId), await endpointRow(endpointId)]).toEqual(before);
    expect(before).toMatchObject([Array(3).fill({ state: 'missed', attempts: 0 }), [{ deleted: true, version: 2 }]]);
    expect(await t.rows('select id from attempts where endpoint_id = $1', [endpointId])).toEqual([]);
    expect(await t.rows('select delivery_id from due where endpoint_id = $1', [endpointId])).toEqual([]);
    expect(await t.emitted()).toEqual([]);
  });

  it('is not sent the rest of a batch that was claimed before', async () => {
    const endpointId = await scheduled(40);
    const { answer } = await holding(endpointId, 8);
    await remove(endpointId);
    clock.advance(1);
    await answer(200);
    expect(received).toHaveLength(8);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(40).fill('missed'));
  });

  it('is not sent an event either that was taken in meanwhile', async () => {
    const endpointId = await scheduled(1);
    // as if the intake had read the endpoint just before it was deleted, and written just after
    await t.rows('update endpoints set deleted_time = 1 where endpoint_id = $1', [endpointId]);
    await deliver(endpointId);
    expect(received).toEqual([]);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'missed', attempts: 0, next_at_ms: null }]);
    expect(await t.rows('select delivery_id from due where endpoint_id = $1', [endpointId])).toEqual([]);
  });
});

describe('an endpoint that moves while attempts are under way', () => {
  it('is sent the rest at its new address', async () => {
    const endpointId = await scheduled(16);
    const { answer } = await holding(endpointId, 8);
    await move(endpointId);
    clock.advance(1);
    await answer(200);
    expect(paths()).toEqual([...Array(8).fill('/hook'), ...Array(8).fill('/hook/new')]);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(16).fill('delivered'));
  });

  it.each([503, 410])('is not to blame for what the old address answers (%i), and loses nothing', async status => {
    const endpointId = await scheduled(2);
    const { answer } = await holding(endpointId, 2);
    await move(endpointId);
    await answer(status);
    expect(await endpointRow(endpointId)).toMatchObject([{ state: 'enabled', failures: 0, version: 2 }]);
    const { endpointLogList } = await t.done(listEndpointLogs, { endpointId }, merchant);
    expect(endpointLogList.map(({ webhookUrl }) => webhookUrl)).toEqual([url, url]);
    for (const { mamo } of endpointLogList) expect(mamo).toMatch(new RegExp(`^failed: ${status}, next attempt at`));
    await untilDue(endpointId);
    await deliver(endpointId);
    expect(paths()).toEqual(['/hook', '/hook', '/hook/new', '/hook/new']);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  });

  it('64 times while deliveries are made loses neither a change nor a delivery', async () => {
    const endpointId = await scheduled(64);
    const delivering = Promise.all([deliver(endpointId), another.deliver(merchant.merchantId, endpointId)]);
    await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        t.done(updateEndpoint, { endpointId, url: `${url}/${at}`, productIds: [at] }, merchant),
      ),
    );
    await delivering;
    await deliver(endpointId);
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(64).fill('delivered'));
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(64);
    const { endpointLogList } = await t.done(listEndpointLogs, { endpointId, count: 100 }, merchant);
    expect(endpointLogList).toHaveLength(64);
    const [endpoint] = (await t.done(listEndpoints, {}, merchant)).endpointList;
    expect(endpoint?.webhookUrl).toBe(`${url}/${endpoint?.productIds[0]}`);
    expect(await endpointRow(endpointId)).toMatchObject([{ version: 65 }]);
  });
});

describe('a worker that was too slow', () => {
  it('records nothing: what was sent in its place stands', async () => {
    const endpointId = await scheduled(1);
    const { answer } = await holding(endpointId, 1);
    clock.advance(46);
    answerWith(503);
    await another.deliver(merchant.merchantId, endpointId);
    await answer(200);
    expect(received).toHaveLength(2);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'scheduled', attempts: 1, last_outcome: '503' }]);
    expect(await t.rows('select outcome from attempts where endpoint_id = $1', [endpointId])).toEqual([
      { outcome: '503' },
    ]);
  });
});

describe('an endpoint that is disabled', () => {
  const disabled = async () => {
    const endpointId = await scheduled(1);
    await t.rows(`update endpoints set state = 'disabled' where endpoint_id = $1`, [endpointId]);
    return endpointId;
  };

  it('misses what comes due', async () => {
    const endpointId = await disabled();
    await deliver(endpointId);
    expect(received).toEqual([]);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'missed', attempts: 0 }]);
  });

  it('does not miss what another worker has taken over', async () => {
    const endpointId = await disabled();
    let delivering: Promise<void> | undefined;
    await t.db.apply(t.callerOf(merchant), async tx => {
      await tx.lock(endpoints, { endpointId }, 'endpoint_not_found');
      const [process] = await tx.run(ownProcess, []);
      delivering = deliver(endpointId);
      while ((await blockedBy(t, process?.pid)).length === 0);
      await tx.run(`update due set lease_token = 'another', lease_until_ms = $2 where endpoint_id = $1`, [
        endpointId,
        clock.wall() + 1,
      ]);
    });
    await delivering;
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'scheduled' }]);
  });
});
