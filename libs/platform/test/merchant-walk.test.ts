import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { eachItem, MerchantWalk, systemCaller, type Tx, type WorkItem, work } from '../src/index.js';
import { MovableClock, type TestService, testService } from '../src/testing/index.js';
import { sample } from './sample.js';

const clock = new MovableClock();
const day = 86_400;
const started = clock.now();
/** Kind, key and day of what was done; the clock of the tests stands still. */
let done: [string, string, number][] = [];
let act: (tx: Tx, item: WorkItem) => Promise<void> = async () => undefined;
const run = eachItem(async (tx, item) => {
  await act(tx, item);
  done.push([item.kind, item.key, (tx.now - started) / day]);
});
const kinds = [
  work('b.renew', { time: 'merchant' }, run),
  work('a.expire', { time: 'merchant', batch: 1 }, run),
  work('m.sweep', { time: 'machine' }, run),
];

let t: TestService;
let walk: MerchantWalk;
beforeAll(async () => {
  t = await testService({ ...sample, work: () => kinds }, { clock });
  walk = t.app.get(MerchantWalk);
});
afterAll(() => t.close());
afterEach(async () => {
  done = [];
  act = async () => undefined;
  await t.rows('truncate due_work, clocks');
});

const system = (merchantId = 15) => systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY);
const schedule = (kind: string, key: string, days: number, merchantId = 15) =>
  t.db.apply(system(merchantId), async tx => tx.schedule(kind, key, started + days * day));
const nowOf = (merchantId = 15) => t.db.read(system(merchantId), async reader => (reader.now - started) / day);
const to = async (days: number) => {
  const { now, done: all } = await walk.walk(15, started + days * day);
  return [(now - started) / day, all];
};

it('does the work of a merchant in its order across kinds, each at its own time, and leaves the clock at the end', async () => {
  await schedule('b.renew', 'x', 1);
  await schedule('b.renew', 'y', 3);
  await schedule('a.expire', 'x', 3);
  await schedule('a.expire', 'w', 3);
  await schedule('a.expire', 'later', 11);
  await schedule('m.sweep', 'of the machine', 2);
  await schedule('a.expire', 'of another', 2, 16);
  expect(await walk.ahead(15)).toEqual({ next: started + day, isUnderWay: false });
  expect(await to(10)).toEqual([10, true]);
  expect(done).toEqual([
    ['b.renew', 'x', 1],
    ['a.expire', 'w', 3],
    ['a.expire', 'x', 3],
    ['b.renew', 'y', 3],
  ]);
  expect([await nowOf(), await nowOf(16)]).toEqual([10, 0]);
  expect((await walk.ahead(15)).next).toBe(started + 11 * day);
  expect((await walk.ahead(17)).next).toBeUndefined();
});

it('does what becomes due on the way, and what was due before it began', async () => {
  act = async (tx, { kind, key, dueAt }) => {
    if (key === 'cycle') tx.schedule(kind, key, dueAt + 30 * day);
    expect(await nowOf()).toBe((tx.now - started) / day);
  };
  await schedule('b.renew', 'cycle', 30);
  await schedule('a.expire', 'late', -1);
  expect(await to(100)).toEqual([100, true]);
  expect(done.map(([, key, at]) => [key, at])).toEqual([
    ['late', 0],
    ['cycle', 30],
    ['cycle', 60],
    ['cycle', 90],
  ]);
});

it('stops at an item that fails, and goes on when it is done', async () => {
  act = async (_, { key }) => {
    if (key === 'poor') throw new Error('planted');
  };
  await schedule('a.expire', 'poor', 1);
  await schedule('b.renew', 'with it', 1);
  await schedule('b.renew', 'after it', 2);
  expect(await to(5)).toEqual([1, false]);
  expect(await to(5)).toEqual([1, false]);
  expect([done, await nowOf()]).toEqual([[], 1]);
  act = async () => undefined;
  // a pause of seconds, by the machine
  await t.rows('update due_work set lease_until = $1 where lease_until is not null', [clock.now()]);
  await t.work.drain();
  expect(await to(5)).toEqual([5, true]);
  expect(done.map(([, key, at]) => `${at} ${key}`).sort()).toEqual(['1 poor', '1 with it', '2 after it']);
});

it('leaves the order to no other worker: replicas that run meanwhile find nothing', async () => {
  const replica = await t.replica();
  replica.work.start();
  t.work.start();
  for (let at = 1; at <= 20; at++) await schedule(at % 2 === 0 ? 'a.expire' : 'b.renew', String(at), at);
  expect(await to(20)).toEqual([20, true]);
  await Promise.all([replica.work.stop(), t.work.stop()]);
  expect(done.map(([, key, at]) => [key, at])).toEqual(Array.from({ length: 20 }, (_, n) => [String(n + 1), n + 1]));
});

it('is not at its end while another worker has an item, whenever that took it', async () => {
  await schedule('b.renew', 'x', 0);
  const { db } = t;
  const read = db.queryIndexOnly.bind(db);
  jest.spyOn(db, 'queryIndexOnly').mockImplementationOnce(async (...query) => {
    const rows = await read(...query);
    await t.rows(`update due_work set lease = 'another', lease_until = $1`, [clock.now() + 60]);
    return rows;
  });
  expect(await to(5)).toEqual([0, false]);
  expect(await walk.ahead(15)).toEqual({ next: undefined, isUnderWay: true });
});

it('does more items of one time than a step leases, all at that time', async () => {
  await t.rows(`insert into due_work select 15, 'b.renew', n::text, $1, 0 from generate_series(1, 700) n`, [
    started + day,
  ]);
  expect(await to(2)).toEqual([2, true]);
  expect(done).toHaveLength(700);
  expect(new Set(done.map(([, , at]) => at))).toEqual(new Set([1]));
});

it('is refused in production', async () => {
  const live = await testService({ ...sample, work: () => kinds }, { clock, env: { RECUR_ENV: 'production' } });
  await expect(live.app.get(MerchantWalk).walk(15, started + day)).rejects.toThrow('sandbox');
  await live.close();
});
