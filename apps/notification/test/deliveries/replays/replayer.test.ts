import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelReplay, deleteEndpoint, type In, replayDetail, replayStatus, replayWebhooks } from '@recur/contracts';
import { makeStand, of64 } from '../../stand.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

type Wishes = Partial<In<typeof replayWebhooks>>;
const replay = (endpointId: number, over: Wishes = {}) =>
  t.done(replayWebhooks, { endpointId, createTimeStart: 0, ...over }, merchant);
const count = async (endpointId: number, over: Wishes = {}) =>
  (await replay(endpointId, { ...over, dryRun: true })).count;
const detail = async (replayId: string) => (await t.done(replayDetail, { replayId }, merchant)).replay;
const setState = (endpointId: number, state: string) =>
  t.rows('update endpoints set state = $2 where endpoint_id = $1', [endpointId, state]);
/** Runs rounds until each replay waits for its endpoint, or is over. */
const sweep = async (replicas: Pick<typeof t, 'work'>[] = [t]) => {
  await t.rows('update due_work set due_at = 0');
  await Promise.all(replicas.map(({ work }) => work.drain()));
};
const scheduled = (replayId: string) => t.rows('select 1 from due_work where key = $1', [replayId]);
const idsSent = () => received.map(({ headers }) => headers['webhook-id']);

/** An endpoint that got the first of these events and missed the others while it was disabled; a second apart. */
async function missing(types: readonly string[], over: Parameters<typeof newOne>[0] = {}) {
  const { endpointId } = await newOne({ events: ['invoice.created', 'invoice.paid'], ...over });
  const events: { id: string; at: number }[] = [];
  for (const [at, type] of types.entries()) {
    if (at === 1) await setState(endpointId, 'disabled');
    const { id } = event({ type });
    await t.deliver('billing', [event({ id, type })]);
    events.push({ id, at: clock.now() });
    if (at === 0) await deliver(endpointId);
    clock.advance(1);
  }
  await setState(endpointId, 'enabled');
  received.length = 0;
  await t.emitted();
  return { endpointId, events };
}
/** Many deliveries that are missed, without taking each in. */
async function flood(count: number, round = 0) {
  const { endpointId } = await newOne();
  const of = `'ev_' || lpad((n + ${round} * 100000)::text, 26, '0')`;
  await t.rows(
    `with e as (insert into events select ${merchant.merchantId}, ${of}, 'invoice.created', 0, '{}' from generate_series(1, $1::integer) n)
     insert into deliveries (merchant_id, delivery_id, endpoint_id, event_id, state, attempts, create_time, last_outcome, last_answer)
     select ${merchant.merchantId}, 'dl_' || ${merchant.merchantId} || '_${round}_' || n, $2, ${of}, 'missed', 0, 0, '', '' from generate_series(1, $1::integer) n`,
    [count, endpointId],
  );
  return endpointId;
}

describe('a replay', () => {
  it('delivers exactly what was missed, with the same ids, in the order of the events; its dry run counts the same', async () => {
    const { endpointId, events } = await missing(Array(5).fill('invoice.created'));
    const missed = events.slice(1).map(({ id }) => id);
    expect(await count(endpointId)).toBe(4);
    expect(await t.emitted()).toEqual([]);
    const { replayId, count: total } = await replay(endpointId);
    expect(total).toBe(4);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.running, total: 4, scheduled: 0, endTime: 0 });
    await sweep();
    await deliver(endpointId);
    expect(idsSent().sort()).toEqual([...missed].sort());
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual(Array(5).fill('delivered'));
    expect(await detail(replayId)).toEqual({
      replayId,
      merchantId: merchant.merchantId,
      endpointId,
      status: replayStatus.finished,
      events: [],
      deliveredToo: false,
      total: 4,
      scheduled: 4,
      createTime: clock.now(),
      endTime: clock.now(),
    });
    expect(await count(endpointId)).toBe(0);
    const logged = (await t.emitted()).map(({ data }) => data);
    expect(logged).toMatchObject([{ target: `WebhookEndpoint(${endpointId})`, content: `Replay ${replayId}` }]);
  });

  it('of what was delivered too sends everything, where the merchant asks for it', async () => {
    const { endpointId, events } = await missing(Array(3).fill('invoice.created'));
    expect(await count(endpointId, { deliveredToo: true })).toBe(3);
    await replay(endpointId, { deliveredToo: true });
    await sweep();
    await deliver(endpointId);
    expect(idsSent().sort()).toEqual(events.map(({ id }) => id).sort());
  });

  it('keeps to its time range, both ends included, and to its events', async () => {
    const types = ['invoice.created', 'invoice.created', 'invoice.paid', 'invoice.created', 'invoice.paid'];
    const { endpointId, events } = await missing(types);
    const [, second, third, fourth] = events.map(({ at }) => at);
    expect(await count(endpointId, { createTimeStart: third })).toBe(3);
    expect(await count(endpointId, { createTimeStart: second, createTimeEnd: third })).toBe(2);
    expect(await count(endpointId, { createTimeEnd: fourth, events: ['invoice.paid'] })).toBe(1);
    expect(await count(endpointId, { events: ['user.created'] })).toBe(0);
    await replay(endpointId, {
      createTimeStart: second,
      createTimeEnd: fourth,
      events: ['invoice.paid', 'invoice.paid'],
    });
    await sweep();
    await deliver(endpointId);
    expect(idsSent()).toEqual([events[2]?.id]);
  });

  it('of nothing is over at once', async () => {
    const { endpointId } = await newOne();
    const { replayId, count } = await replay(endpointId);
    expect(count).toBe(0);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, total: 0 });
    expect(await scheduled(replayId)).toEqual([]);
  });

  it('that is over is kept for as long as what it sent, and then removed by the next', async () => {
    const { endpointId } = await missing(Array(2).fill('invoice.created'));
    const { replayId: over } = await replay(endpointId, { events: ['invoice.paid'] });
    const { replayId: running } = await replay(endpointId);
    clock.advance(29 * 86_400);
    const { endpointId: another } = await newOne();
    await replay(another);
    expect(await detail(over)).toMatchObject({ status: replayStatus.finished });
    clock.advance(2 * 86_400);
    await replay(another);
    expect(await t.call(replayDetail, { replayId: over }, merchant)).toMatchObject({ slug: 'replay_not_found' });
    expect(await detail(running)).toMatchObject({ status: replayStatus.running });
  });

  it('leaves alone what is scheduled, and what happens after it began', async () => {
    const { endpointId } = await missing(Array(2).fill('invoice.created'));
    await t.deliver('billing', [event()]);
    const { replayId, count: total } = await replay(endpointId);
    expect(total).toBe(1);
    clock.advance(1);
    await setState(endpointId, 'disabled');
    await t.deliver('billing', [event()]);
    await setState(endpointId, 'enabled');
    await sweep();
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, total: 1, scheduled: 1 });
    expect((await deliveriesOf(endpointId)).map(({ state }) => state)).toEqual([
      'delivered',
      'scheduled',
      'scheduled',
      'missed',
    ]);
  });

  it('schedules a bounded number at a time, and goes on as the endpoint takes them', async () => {
    const endpointId = await flood(1_000);
    const { replayId } = await replay(endpointId);
    const due = async () =>
      Number((await t.rows('select count(*) from due where endpoint_id = $1', [endpointId]))[0]?.count);
    await sweep();
    expect(await due()).toBe(400);
    await sweep();
    expect(await due()).toBe(400);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.running, total: 1_000, scheduled: 400 });
    for (let round = 0; round < 5; round++) {
      await t.rows('with d as (delete from due where endpoint_id = $1) select 1', [endpointId]);
      await sweep();
    }
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, scheduled: 1_000 });
  });

  it('is left where it is when the worker stops, for another to go on', async () => {
    const replayIds: string[] = [];
    for (let at = 0; at < 3; at++) replayIds.push((await replay(await flood(300, at))).replayId);
    t.work.start();
    await t.work.stop();
    const counts = (await Promise.all(replayIds.map(detail))).map(one => one.scheduled);
    expect(Math.max(...counts)).toBeLessThanOrEqual(200);
    await t.rows('delete from due');
    await sweep();
    for (const replayId of replayIds) expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished });
  });

  it('is continued by many workers at once without sending anything twice', async () => {
    const endpointId = await flood(700);
    const { replayId } = await replay(endpointId);
    const replicas = [t, ...(await Promise.all(Array.from({ length: 3 }, () => t.replica())))];
    await sweep(replicas);
    await t.rows('delete from due where endpoint_id = $1', [endpointId]);
    await sweep(replicas);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, scheduled: 700 });
  });

  it('looks past many deliveries that it does not send', async () => {
    const endpointId = await flood(5_200);
    await t.rows(
      `update deliveries set state = 'delivered' where endpoint_id = $1 and event_id < 'ev_' || lpad('5101', 26, '0')`,
      [endpointId],
    );
    const { replayId, count: total } = await replay(endpointId);
    expect(total).toBe(100);
    await sweep();
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, scheduled: 100 });
  });

  it('is one at a time to an endpoint, also when 64 are asked for at once', async () => {
    const { endpointId } = await missing(Array(3).fill('invoice.created'));
    const results = await of64(() => t.call(replayWebhooks, { endpointId, createTimeStart: 0 }, merchant));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results) if (!result.ok) expect(result.slug).toBe('replay_running');
    expect(await t.emitted()).toHaveLength(1);
  });

  it('stops where its endpoint is disabled or deleted', async () => {
    for (const end of ['disabled', 'deleted']) {
      const { endpointId } = await missing(Array(3).fill('invoice.created'));
      const { replayId } = await replay(endpointId);
      if (end === 'disabled') await setState(endpointId, end);
      else await t.done(deleteEndpoint, { endpointId }, merchant);
      await sweep();
      expect(await detail(replayId)).toMatchObject({
        status: replayStatus.stopped,
        scheduled: 0,
        endTime: clock.now(),
      });
      expect(await scheduled(replayId)).toEqual([]);
    }
    expect(received).toEqual([]);
  });
});

describe('webhook/replay_cancel', () => {
  it('stops it: what is scheduled is sent, and nothing more', async () => {
    const endpointId = await flood(1_000);
    const { replayId } = await replay(endpointId);
    await sweep();
    await t.emitted();
    await t.done(cancelReplay, { replayId }, merchant);
    expect((await t.emitted()).map(({ data }) => data)).toMatchObject([{ content: `CancelReplay ${replayId}` }]);
    await t.rows('delete from due where endpoint_id = $1', [endpointId]);
    await sweep();
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.cancelled, total: 1_000, scheduled: 400 });
    await t.done(cancelReplay, { replayId }, merchant);
    expect(await t.emitted()).toEqual([]);
    expect((await replay(endpointId)).count).toBe(600);
  });

  it('64 times, against the worker, cancels it once', async () => {
    const endpointId = await flood(900);
    const { replayId } = await replay(endpointId);
    await t.emitted();
    await Promise.all([sweep(), of64(() => t.done(cancelReplay, { replayId }, merchant))]);
    expect(await t.emitted()).toHaveLength(1);
    expect((await detail(replayId)).status).toBe(replayStatus.cancelled);
  });

  it('of one that has ended changes nothing', async () => {
    const { endpointId } = await newOne();
    const { replayId } = await replay(endpointId);
    const before = await detail(replayId);
    await t.emitted();
    clock.advance(1);
    expect(await t.done(cancelReplay, { replayId }, merchant)).toEqual({});
    expect(await detail(replayId)).toEqual(before);
    expect(await t.emitted()).toEqual([]);
  });
});

describe('what a replay may be', () => {
  it.each<[object, string]>([
    [{ endpointId: undefined }, '/endpointId'],
    [{ endpointId: 'one' }, '/endpointId'],
    [{ createTimeStart: undefined }, '/createTimeStart'],
    [{ createTimeStart: -1 }, '/createTimeStart'],
    [{ createTimeStart: 1e15 }, '/createTimeStart'],
    [{ createTimeStart: 1.5 }, '/createTimeStart'],
    [{ createTimeStart: 10, createTimeEnd: 9 }, '/createTimeEnd'],
    [{ events: ['invoice.eaten'] }, '/events/0'],
    [{ deliveredToo: 1 }, '/deliveredToo'],
    [{ dryRun: 'yes' }, '/dryRun'],
  ])('not %j', async (over, path) => {
    const { endpointId } = await newOne();
    const result = await t.call(replayWebhooks, { endpointId, createTimeStart: 0, ...over }, merchant);
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path }] });
  });

  it('not one to an endpoint that is disabled, though it may be counted', async () => {
    const { endpointId } = await missing(Array(3).fill('invoice.created'));
    await setState(endpointId, 'disabled');
    const asked = { endpointId, createTimeStart: 0 };
    expect(await t.call(replayWebhooks, asked, merchant)).toMatchObject({ slug: 'endpoint_disabled' });
    expect(await count(endpointId)).toBe(2);
  });

  it("not one of another merchant's: all three answer as of an unknown one, and nothing changes", async () => {
    const { endpointId } = await missing(Array(3).fill('invoice.created'));
    const { replayId } = await replay(endpointId);
    const before = await detail(replayId);
    const stranger = { merchantId: 99 };
    for (const dryRun of [true, false]) {
      const ask = (id: number) => t.call(replayWebhooks, { endpointId: id, createTimeStart: 0, dryRun }, stranger);
      expect(await ask(endpointId)).toMatchObject({ slug: 'endpoint_not_found' });
      expect(await ask(endpointId)).toEqual(await ask(900_000));
    }
    for (const operation of [replayDetail, cancelReplay]) {
      const refusal = await t.call(operation, { replayId }, stranger);
      expect(refusal).toMatchObject({ slug: 'replay_not_found' });
      expect(refusal).toEqual(await t.call(operation, { replayId: 'rp_nobody' }, stranger));
    }
    expect(await detail(replayId)).toEqual(before);
  });

  it('with one Idempotency-Key is one', async () => {
    const { endpointId } = await missing(Array(3).fill('invoice.created'));
    const caller = { ...merchant, idempotencyKey: 'replay once' };
    const answers = await of64(() => t.done(replayWebhooks, { endpointId, createTimeStart: 0 }, caller));
    expect(new Set(answers.map(({ replayId }) => replayId)).size).toBe(1);
  });
});

it('is done by the worker as soon as it is asked for', async () => {
  const { endpointId } = await missing(Array(3).fill('invoice.created'), { url: `${url}/replayed` });
  t.work.start();
  try {
    const { replayId } = await replay(endpointId);
    for (let looked = 0; looked < 1_000 && (await detail(replayId)).status === replayStatus.running; looked++);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, scheduled: 2 });
  } finally {
    await t.work.stop();
  }
});
