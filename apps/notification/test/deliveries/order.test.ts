import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteEndpoint, listEndpoints, newEndpoint, updateEndpoint } from '@recur/contracts';
import type { Event } from '@recur/platform';
import { catchUpKind } from '../../src/deliveries/catch-ups.js';
import { makeStand, type Received } from '../stand.js';

const stand = await makeStand();
const another = await stand.anotherWorker();
const { t, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, untilDue } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

/** The steps of objects, one after the other as their services emit them: of each object its versions from `from` on. */
const steps = (objects: readonly string[], versions: number, from = 1): Event[] =>
  Array.from({ length: versions }, (_, at) => at + from).flatMap(version =>
    objects.map(aggregateId => event({ aggregateId, version, data: { invoiceId: aggregateId, lines: [] } })),
  );
const bodyOf = ({ body }: Received) => JSON.parse(body) as { sequence: number; data: { invoiceId: string } };
/** The versions of an object in the order in which they arrived. */
const arrived = (object: string) =>
  received.map(bodyOf).flatMap(({ sequence, data }) => (data.invoiceId === object ? [sequence] : []));
const upTo = (version: number) => Array.from({ length: version }, (_, at) => at + 1);
/** Whether what has just arrived is of this object. */
const isOf = (object: string, version = 1) => {
  const { sequence, data } = bodyOf(received.at(-1) as Received);
  return data.invoiceId === object && sequence === version;
};
const states = async (endpointId: number) => (await deliveriesOf(endpointId)).map(({ state }) => state);
const objects = ['in_a', 'in_b', 'in_c'];

describe('an endpoint that wants events in order', () => {
  it('gets those of one object one after the other, those of several at once', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(objects, 6));
    const held: ServerResponse[] = [];
    let most = 0;
    answerWith((_, response) => {
      held.push(response);
      most = Math.max(most, held.length);
      // answered when each object has one under way, or when no more can come
      if (held.length === objects.length) for (const each of held.splice(0)) each.end();
    });
    await deliver(endpointId);
    expect(most).toBe(objects.length);
    for (const object of objects) expect(arrived(object)).toEqual(upTo(6));
    expect(new Set(await states(endpointId))).toEqual(new Set(['delivered']));
  });

  it('waits for an object that is stuck, and for that one alone', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(objects, 4));
    answerWith((_, response) => response.writeHead(isOf('in_a') ? 503 : 200).end());
    await deliver(endpointId);
    expect(arrived('in_a')).toEqual([1]);
    for (const object of ['in_b', 'in_c']) expect(arrived(object)).toEqual(upTo(4));
    // what happens meanwhile gets in line
    await t.deliver('billing', [...steps(['in_a'], 1, 5), ...steps(['in_d'], 1)]);
    await deliver(endpointId);
    expect(arrived('in_a')).toEqual([1]);
    expect(arrived('in_d')).toEqual([1]);

    answerWith(200);
    await untilDue(endpointId);
    await deliver(endpointId);
    expect(arrived('in_a')).toEqual([1, ...upTo(5)]);
    expect(await t.rows('select delivery_id from due where endpoint_id = $1', [endpointId])).toEqual([]);
  });

  it('waits for a payment with the reports about it, which are numbered with its events', async () => {
    const of = { aggregateId: 'pay_a', data: { paymentId: 'pay_a' } };
    const report = { ...of, type: 'payment.report.mismatch', aggregate: 'paymentReport' } as const;
    await t.deliver('billing', [event(report)]);
    const { endpointId } = await newOne({ ordered: true, events: ['payment.created', 'payment.report.mismatch'] });
    await t.deliver('billing', [
      event({ ...of, type: 'payment.created', aggregate: 'payment' }),
      event({ ...report, version: 2 }),
    ]);
    const types = () => received.map(({ body }) => JSON.parse(body).type);
    answerWith(503);
    await deliver(endpointId);
    expect(types()).toEqual(['payment.created']);
    answerWith(200);
    await untilDue(endpointId);
    await deliver(endpointId);
    expect(types()).toEqual(['payment.created', 'payment.created', 'payment.report.mismatch']);
  });

  it('is sent the next when one has failed for good', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(['in_a'], 3));
    answerWith((_, response) => response.writeHead(isOf('in_a', 1) ? 503 : 200).end());
    do await deliver(endpointId);
    while (await untilDue(endpointId));
    expect(arrived('in_a')).toEqual([...Array(10).fill(1), 2, 3]);
    expect(await states(endpointId)).toEqual(['failed', 'delivered', 'delivered']);
  });

  it('keeps the order between several workers, while events come in', async () => {
    const { endpointId } = await newOne({ ordered: true });
    const many = Array.from({ length: 16 }, (_, at) => `in_${at}`);
    answerWith((_, response) => setImmediate(() => response.end()));
    const work = () => Promise.all([deliver(endpointId), another.deliver(merchant.merchantId, endpointId)]);
    for (let version = 1; version <= 8; version++) {
      await Promise.all([t.deliver('billing', steps(many, 1, version)), work()]);
    }
    // each may have left to the other what that one could not take any more
    for (let round = 0; round < 50 && (await states(endpointId)).includes('scheduled'); round++) await work();
    for (const object of many) expect(arrived(object)).toEqual(upTo(8));
  });

  it('does not wait for what goes to another endpoint, nor does one that wants no order', async () => {
    const { endpointId } = await newOne({ ordered: true });
    const free = await newOne();
    answerWith(503);
    await t.deliver('billing', steps(['in_a'], 3));
    await deliver(endpointId);
    expect(received).toHaveLength(1);
    await deliver(free.endpointId);
    expect(received).toHaveLength(4);
  });

  it('has what waits dropped too when it is deleted', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(['in_a'], 3));
    await t.done(deleteEndpoint, { endpointId }, merchant);
    expect(await states(endpointId)).toEqual(['missed', 'missed', 'missed']);
    expect(await t.rows('select delivery_id from due where endpoint_id = $1', [endpointId])).toEqual([]);
  });

  it('is one that says so: in its list, and from then on', async () => {
    const listed = async () => (await t.done(listEndpoints, {}, merchant)).endpointList.map(({ ordered }) => ordered);
    const { endpointId } = await newOne();
    expect(await listed()).toEqual([false]);
    await t.done(updateEndpoint, { endpointId, url, ordered: true }, merchant);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    expect(await listed()).toEqual([true]);
    await t.deliver('billing', steps(['in_a'], 2));
    await t.done(updateEndpoint, { endpointId, url, ordered: false }, merchant);
    expect(await listed()).toEqual([false]);
    await t.deliver('billing', steps(['in_a'], 1, 3));
    answerWith(503);
    await deliver(endpointId);
    expect(arrived('in_a').sort()).toEqual([1, 3]);
    for (const operation of [newEndpoint, updateEndpoint]) {
      for (const ordered of ['true', 1, []]) {
        const result = await t.call(operation, { endpointId, url, ordered }, merchant);
        expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/ordered' }] });
      }
    }
  });
});

describe('an endpoint that wants events in order, disabled and enabled again', () => {
  it('gets what it missed before what happens meanwhile, each object in order', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(objects, 2));
    answerWith(410);
    await deliver(endpointId);
    await deliver(endpointId);
    await t.deliver('billing', steps(objects, 1, 3));
    expect(new Set(await states(endpointId))).toEqual(new Set(['missed']));
    received.length = 0;

    answerWith(200);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    await t.deliver('billing', steps(objects, 1, 4));
    await deliver(endpointId);
    expect(received).toEqual([]);
    await stand.work(catchUpKind);
    await t.deliver('billing', steps(objects, 1, 5));
    await deliver(endpointId);
    for (const object of objects) expect(arrived(object)).toEqual(upTo(5));
    expect(await t.rows('select * from catch_ups')).toEqual([]);
  });

  it('gets what answered 410 before the next, also where its worker stopped at that', async () => {
    const { endpointId } = await newOne({ ordered: true });
    await t.deliver('billing', steps(['in_a'], 3));
    const leaving = await stand.anotherWorker();
    let stopped: Promise<void> | undefined;
    answerWith((_, response) => {
      stopped = leaving.stop();
      response.writeHead(410).end();
    });
    await leaving.deliver(merchant.merchantId, endpointId);
    await stopped;
    expect(await states(endpointId)).toEqual(['missed', 'scheduled', 'scheduled']);
    answerWith(200);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    await deliver(endpointId);
    await stand.work(catchUpKind);
    await deliver(endpointId);
    expect(arrived('in_a')).toEqual([1, ...upTo(3)]);
  });
});
