import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LOG, type Log } from '@recur/platform';
import { http, tcp } from '@recur/platform/testing';
import { Redis } from 'ioredis';
import { DeliveryWaker } from '../../../src/deliveries/sending/delivery-waker.js';
import { Dispatcher } from '../../../src/deliveries/sending/dispatcher.js';
import { makeStand } from '../../stand.js';

const stand = await makeStand();
const another = await stand.anotherWorker();
const { t, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, untilDue, until } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const events = (count: number, of = event) => Array.from({ length: count }, () => of());
const statesOf = async (endpointId: number, of = stand) =>
  (await of.deliveriesOf(endpointId)).map(({ state }) => state);

describe('endpoints that do not answer', () => {
  it('hold up no other, however many they are and however much is due to them', async () => {
    const own = await makeStand();
    const waker = own.t.app.get(DeliveryWaker);
    const held: ServerResponse[] = [];
    const pit = await http((_, response) => void held.push(response));
    const of = (url: string) => async () => (await own.newOne({ url })).endpointId;
    const healthy = await Promise.all(Array.from({ length: 20 }, (_, at) => of(`${own.url}/${at}`)()));
    const slow = await Promise.all(Array.from({ length: 70 }, of(pit.url)));
    await own.t.deliver('billing', events(20, own.event));
    waker.start();
    try {
      await own.until(() => own.received.length === 20 * 20);
      // every slow one holds what it was given, and has given nothing back
      expect(await own.t.rows('select id from attempts where url = $1', [pit.url])).toEqual([]);
      await own.t.deliver('billing', events(5, own.event));
      await own.until(() => own.received.length === 20 * 25);
      expect(await own.t.rows('select id from attempts where url = $1', [pit.url])).toEqual([]);
    } finally {
      pit.server.on('request', (_, response) => response.end());
      for (const response of held) response.end();
      await waker.stop();
    }
    expect(held.length).toBeGreaterThanOrEqual(slow.length);
    const arrivals = own.received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`);
    expect(new Set(arrivals).size).toBe(20 * 25);
    for (const endpointId of healthy) expect(await statesOf(endpointId, own)).toEqual(Array(25).fill('delivered'));
    // what is due to a slow one is delivered or still scheduled: nothing is lost
    for (const endpointId of slow) {
      const states = await statesOf(endpointId, own);
      expect(states).toHaveLength(25);
      expect(states.every(state => state === 'delivered' || state === 'scheduled')).toBe(true);
    }
    await own.close();
    await pit.close();
  });
});

describe('an endpoint that keeps failing', () => {
  /** Tries of one endpoint under way at once, over two workers that look for work until there is none. */
  const mostAtOnce = async (endpointId: number, status: number) => {
    let [now, most] = [0, 0];
    answerWith((_, response) => {
      most = Math.max(most, ++now);
      // long enough for others to arrive, if there are any
      setTimeout(() => {
        now--;
        response.writeHead(status).end();
      }, 5);
    });
    await Promise.all([deliver(endpointId), another.deliver(merchant.merchantId, endpointId)]);
    return most;
  };
  const due = async (endpointId: number) =>
    Number((await t.rows('select count(*) as count from due where endpoint_id = $1', [endpointId]))[0]?.count);

  it('is tried by one attempt at a time over all workers, until one succeeds', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', events(8));
    expect(await mostAtOnce(endpointId, 503)).toBeGreaterThan(1);
    await t.deliver('billing', events(40));
    received.length = 0;
    expect(await mostAtOnce(endpointId, 503)).toBe(1);
    // each was tried once: nothing is given up because others fail
    expect(received).toHaveLength(40);
    expect(await due(endpointId)).toBe(48);

    await untilDue(endpointId);
    stand.clock.advance(10);
    received.length = 0;
    expect(await mostAtOnce(endpointId, 200)).toBeGreaterThan(1);
    expect(received).toHaveLength(48);
    expect(new Set(await statesOf(endpointId))).toEqual(new Set(['delivered']));
  });

  it('is tried by no more while the one is under way', async () => {
    const { endpointId } = await newOne();
    await t.deliver('billing', events(5));
    answerWith(503);
    await deliver(endpointId);
    await t.deliver('billing', events(20));
    const waiting: ServerResponse[] = [];
    answerWith((_, response) => void waiting.push(response));
    const delivering = deliver(endpointId);
    await until(() => waiting.length === 1);
    await another.deliver(merchant.merchantId, endpointId);
    expect(waiting).toHaveLength(1);
    answerWith(200);
    for (const response of waiting) response.end();
    await delivering;
    expect(await deliveriesOf(endpointId)).toHaveLength(25);
    expect(await due(endpointId)).toBe(5);
  });
});

describe('a wake that is lost', () => {
  it('is not needed: without Redis, chosen by one setting, the sweep finds what is due', async () => {
    const alone = await makeStand({ REDIS_URL: '' });
    const { endpointId } = await alone.newOne();
    const waker = alone.t.app.get(DeliveryWaker);
    // taken in before anybody listens
    await alone.t.deliver('billing', events(2, alone.event));
    waker.start();
    await alone.until(() => alone.received.length === 2);
    await alone.t.deliver('billing', events(1, alone.event));
    await alone.until(() => alone.received.length === 3);
    await waker.stop();
    expect(await statesOf(endpointId, alone)).toEqual(Array(3).fill('delivered'));
    await alone.close();
  });

  it('starts deliveries at once where Redis was never there: no sweep is waited for', async () => {
    const alone = await makeStand({ REDIS_URL: 'redis://127.0.0.1:1' });
    const waker = alone.t.app.get(DeliveryWaker);
    const dispatcher = alone.t.app.get(Dispatcher);
    const heard = new Promise(resolve => {
      jest.spyOn(dispatcher, 'deliverAll').mockImplementation((merchantId, endpointIds) => {
        resolve([merchantId, ...endpointIds]);
        return true;
      });
    });
    waker.start();
    // nothing is due to it, which a sweep could find
    waker.wake(merchant.merchantId, [7]);
    expect(await heard).toEqual([merchant.merchantId, 7]);
    await waker.stop();
    await alone.close();
  });

  it('does not keep a replica from ending while Redis is away', async () => {
    const alone = await makeStand({ REDIS_URL: 'redis://127.0.0.1:1' });
    const { endpointId } = await alone.newOne();
    const waker = alone.t.app.get(DeliveryWaker);
    const warn = jest.spyOn(alone.t.app.get<Log>(LOG), 'warn');
    waker.start();
    await alone.t.deliver('billing', events(1, alone.event));
    await alone.until(() => alone.received.length === 1);
    await waker.stop();
    // not at each try
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('Redis is away'));
    expect(await statesOf(endpointId, alone)).toEqual(['delivered']);
    await alone.close();
  });

  it('does not keep a replica from ending when Redis went away while jobs were waited for', async () => {
    const { hostname, port, password } = new URL(process.env.TEST_REDIS_URL ?? '');
    const relay = await tcp(socket => {
      const redis = connect(Number(port), hostname).on('error', () => undefined);
      socket.on('close', () => redis.destroy());
      socket.pipe(redis).pipe(socket);
    });
    const own = await makeStand({ REDIS_URL: relay.url.replace(/^\w+:\/\//, `redis://:${password}@`) });
    const waker = own.t.app.get(DeliveryWaker);
    await own.newOne();
    waker.start();
    await own.t.deliver('billing', events(1, own.event));
    await own.until(() => own.received.length === 1);
    const refused = new Promise<void>(resolve => {
      let times = 0;
      // each of the two connections has tried again
      jest.spyOn(own.t.app.get<Log>(LOG), 'debug').mockImplementation(() => void (++times === 4 && resolve()));
    });
    await relay.close();
    await refused;
    await waker.stop();
    await own.close();
  });

  it('is made up for when Redis has lost all that it held', async () => {
    const own = await makeStand();
    const { endpointId } = await own.newOne();
    const waker = own.t.app.get(DeliveryWaker);
    const redis = new Redis(process.env.TEST_REDIS_URL ?? '');
    waker.start();
    for (let round = 1; round <= 3; round++) {
      await own.t.deliver('billing', events(2, own.event));
      await redis.flushall();
      await own.until(() => own.received.length === 2 * round);
    }
    await waker.stop();
    redis.disconnect();
    expect(await statesOf(endpointId, own)).toEqual(Array(6).fill('delivered'));
    await own.close();
  });
});
