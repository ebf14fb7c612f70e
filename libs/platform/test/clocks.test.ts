import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { systemCaller } from '../src/index.js';
import { newThing } from './sample.js';
import { gate, type Workshop, workshop } from './work-sample.js';

let s: Workshop;
beforeAll(async () => {
  s = await workshop();
});
afterAll(() => s.t.close());
afterEach(async () => {
  await s.t.work.stop();
  s.forget();
  await s.t.rows('truncate due_work, clocks');
});

const day = 86_400;
const system = (merchantId = 15) => systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY);
const move = (seconds: number, db = s.t.db) =>
  db.write(system(), async tx => {
    const { now } = await tx.moveClock(seconds);
    tx.log('Clock', 'Advance');
    return { now };
  });
const nowOf = async (merchantId: number, db = s.t.db) => [
  await db.read(system(merchantId), async reader => reader.now),
  (await db.write(system(merchantId), async tx => ({ now: tx.now }))).now,
];

describe("a sandbox merchant's clock", () => {
  it('is moved for this merchant alone, and every replica sees it with the commit', async () => {
    const replica = await s.t.replica();
    expect(await nowOf(15, replica.db)).toEqual([s.now(), s.now()]);
    expect(await move(day)).toEqual({ now: s.now() + day });
    for (const { db } of [s.t, replica]) {
      expect(await nowOf(15, db)).toEqual([s.now() + day, s.now() + day]);
      expect(await nowOf(16, db)).toEqual([s.now(), s.now()]);
    }
    s.clock.advance(5);
    expect(await nowOf(15)).toEqual([s.now() + day, s.now() + day]);
  });

  it('is never moved back', async () => {
    await move(2 * day);
    expect(await move(day)).toEqual({ now: s.now() + 2 * day });
    await expect(move(-1)).rejects.toThrow('no offset');
    await expect(move(0.5)).rejects.toThrow('no offset');
  });

  it('dates its events; what is kept for some time is as old as the machine says', async () => {
    await move(day);
    await s.t.emitted();
    await s.t.done(newThing, { name: 'of tomorrow', size: 1 });
    expect((await s.t.emitted()).map(({ at }) => at)).toEqual([s.now() + day, s.now() + day]);
    expect(await s.t.rows('select created_at from outbox order by seq desc limit 1')).toEqual([
      { created_at: String(s.now()) },
    ]);
  });
});

describe('a moved clock', () => {
  it('has what became due done, in its order, and nothing of other merchants or of the machine', async () => {
    for (const days of [3, 1, 2, 5]) await s.schedule(`day ${days}`, s.now() + days * day);
    await s.schedule('of another', s.now() + day, { merchantId: 16 });
    await s.schedule('of the machine', s.now() + day, { kind: 'thing.sweep' });
    await s.t.work.drain();
    expect(s.done).toEqual([]);
    await move(3 * day);
    await s.t.work.drain();
    expect(s.done.map(({ key }) => key)).toEqual(['day 1', 'day 2', 'day 3']);
    expect(await s.rows()).toEqual([{ key: 'of the machine' }, { key: 'day 5' }, { key: 'of another' }]);
  });

  it('wakes the workers of its merchant', async () => {
    await s.schedule('a', s.now() + day);
    s.t.work.start();
    const done = gate();
    s.behaviour.act = async () => done.open();
    await move(day);
    await done.opened;
    expect(s.batches.flat()).toMatchObject([{ key: 'a', dueAt: s.now() + day }]);
  });

  it('while work runs: a retry waits by the machine, and what becomes due meanwhile is done', async () => {
    let fails = true;
    const [begun, moved] = [gate(), gate()];
    s.behaviour.act = async (tx, [item]) => {
      if (item?.key !== 'a') return;
      begun.open();
      await moved.opened;
      expect(tx.now).toBe(s.now());
      if (fails) throw new Error('planted');
    };
    await s.schedule('a', s.now());
    await s.schedule('b', s.now() + day);
    const drained = s.t.work.drain();
    await begun.opened;
    await move(day);
    moved.open();
    await drained;
    await s.t.work.drain();
    expect(s.done.map(({ key }) => key)).toEqual(['b']);
    expect(await s.rows('key, attempts, reason')).toEqual([{ key: 'a', attempts: 1, reason: 'planted' }]);
    fails = false;
    s.behaviour.act = async () => undefined;
    s.clock.advance(60);
    await s.t.work.drain();
    expect(s.done.map(({ key }) => key)).toEqual(['b', 'a']);
  });

  it('of many merchants has the work of each done', async () => {
    const merchants = Array.from({ length: 40 }, (_, at) => 100 + at);
    for (const merchantId of merchants) await s.schedule('a', s.now() + merchantId * day, { merchantId });
    await s.t.rows('insert into clocks select m, m * $2::bigint from unnest($1::bigint[]) m', [merchants, day]);
    await s.t.work.drain();
    expect(s.done.map(({ merchantId }) => merchantId).sort()).toEqual(merchants);
  });
});

describe('in production', () => {
  it('no clock moves, and none is read', async () => {
    const live = await workshop({ env: { RECUR_ENV: 'production' } });
    await live.t.rows('insert into clocks values (15, 86400)');
    await live.schedule('a', live.now() + day);
    await live.t.work.drain();
    expect(live.done).toEqual([]);
    expect(await live.t.db.read(system(), async reader => reader.now)).toBe(live.now());
    await expect(live.t.db.write(system(), async tx => tx.moveClock(1))).rejects.toThrow('sandbox');
    live.clock.advance(day);
    await live.t.work.drain();
    expect(live.done).toHaveLength(1);
    await live.t.close();
  });
});
