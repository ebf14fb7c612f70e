import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LOG, systemCaller, type WorkItem } from '../src/index.js';
import { claim } from '../src/work/lease.js';
import { newThing } from './sample.js';
import { gate, type Workshop, workshop } from './work-sample.js';

let s: Workshop;
beforeAll(async () => {
  s = await workshop({ batch: 10, attempts: 3 });
});
afterAll(() => s.t.close());
afterEach(async () => {
  s.forget();
  await s.t.rows('delete from due_work');
});

const keys = (items: readonly WorkItem[]) => items.map(({ key }) => key);
const system = (merchantId = 15) => systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY);
const thing = async () => String((await s.t.done(newThing, { name: `thing ${Math.random()}`, size: 0 })).thing.id);
const sizeOf = async (id: string) => Number((await s.t.rows('select size from things where id = $1', [id]))[0]?.size);
describe('an item', () => {
  it('is done when it is due and not before, once, and leaves the schedule', async () => {
    await s.schedule('a', s.now() + 60);
    await s.t.work.drain();
    expect(s.done).toEqual([]);
    s.clock.advance(60);
    await s.t.work.drain();
    await s.t.work.drain();
    expect(s.done).toEqual([
      {
        merchantId: 15,
        kind: 'thing.wilt',
        key: 'a',
        dueAt: s.now(),
        attempt: 1,
        requestId: expect.stringMatching(`^thing.wilt_a_${s.now()}_[0-9a-f]{8}$`),
      },
    ]);
    expect(await s.rows()).toEqual([]);
  });

  it('that is scheduled again within the same second is another one in the log', async () => {
    for (let at = 0; at < 2; at++) {
      await s.schedule('a', s.now());
      await s.t.work.drain();
    }
    expect(keys(s.done)).toEqual(['a', 'a']);
    expect(new Set(s.done.map(({ requestId }) => requestId)).size).toBe(2);
  });

  it('is scheduled and unscheduled with the commit of its command, or not at all', async () => {
    const write = (fails: boolean) =>
      s.t.db.write(system(), async tx => {
        tx.schedule('thing.wilt', 'a', 1);
        tx.log('Thing', 'Plan');
        if (fails) throw new Error('planted');
        return {};
      });
    await expect(write(true)).rejects.toThrow('planted');
    expect(await s.rows()).toEqual([]);
    await write(false);
    expect(await s.rows()).toEqual([{ key: 'a' }]);
    await s.t.db.write(system(), async tx => {
      tx.schedule('thing.wilt', 'b', 1);
      tx.unschedule('thing.wilt', 'b');
      tx.unschedule('thing.wilt', 'a');
      tx.unschedule('thing.wilt', 'unknown');
      return {};
    });
    expect(await s.rows()).toEqual([]);
  });

  it('has one time: scheduling it again replaces it, also within a command', async () => {
    await s.schedule('a', 1);
    await s.t.db.apply(system(), async tx => {
      tx.schedule('thing.wilt', 'a', 2);
      tx.schedule('thing.wilt', 'a', 3);
    });
    expect(await s.rows('key, due_at')).toEqual([{ key: 'a', due_at: '3' }]);
  });

  it('that many commands schedule at once is there once', async () => {
    await Promise.all(Array.from({ length: 32 }, (_, at) => s.schedule('a', at)));
    expect(await s.rows()).toEqual([{ key: 'a' }]);
  });

  it('may schedule itself again', async () => {
    s.behaviour.act = async (tx, items) => {
      for (const { kind, key, dueAt } of items) tx.schedule(kind, key, dueAt + 60);
    };
    const at = s.now();
    await s.schedule('a', at);
    await s.t.work.drain();
    expect(s.done).toHaveLength(1);
    expect(await s.rows('key, due_at, attempts, lease')).toEqual([
      { key: 'a', due_at: String(at + 60), attempts: 0, lease: null },
    ]);
  });

  it('that is rescheduled while a worker is at it stays', async () => {
    const at = s.now();
    s.behaviour.act = async () => s.schedule('a', at + 60);
    await s.schedule('a', at);
    await s.schedule('b', at);
    await s.t.work.drain();
    expect(keys(s.done)).toEqual(['a', 'b']);
    expect(await s.rows('key, due_at, lease')).toEqual([{ key: 'a', due_at: String(at + 60), lease: null }]);
  });

  it('that is unscheduled while a worker is at it is not done', async () => {
    const id = await thing();
    s.behaviour.act = async (tx, items) => {
      await s.grow(tx, items);
      await s.t.db.apply(system(), async other => other.unschedule('thing.wilt', id));
    };
    await s.schedule(id, s.now());
    await s.t.work.drain();
    expect(await sizeOf(id)).toBe(0);
    expect(await s.rows()).toEqual([]);
  });

  it('of no merchant has the machine as its clock', async () => {
    await s.schedule('partitions', s.now(), { merchantId: 0, kind: 'thing.sweep' });
    await s.t.work.drain();
    expect(s.done).toMatchObject([{ merchantId: 0, kind: 'thing.sweep', key: 'partitions' }]);
  });
});

describe('a batch', () => {
  it('is of one merchant and kind, in order of due_at, and leaves a log entry and request id for each item', async () => {
    const ids = [await thing(), await thing(), await thing()];
    await s.t.emitted();
    s.behaviour.act = s.grow;
    for (const [at, id] of ids.entries()) await s.schedule(id, s.now() - at);
    await s.t.work.drain();
    expect(s.batches.map(keys)).toEqual([[...ids].reverse()]);
    const events = await s.t.emitted();
    const of = (type: string) => events.filter(event => event.type === type);
    expect(of('thing.grown').map(({ aggregateId, requestId }) => [aggregateId, requestId])).toEqual(
      [...ids.entries()]
        .reverse()
        .map(([at, id]) => [id, expect.stringMatching(`^thing.wilt_${id}_${s.now() - at}_[0-9a-f]{8}$`)]),
    );
    expect(of('operation.logged').map(({ requestId, data }) => [requestId, data])).toEqual(
      [...ids.entries()]
        .reverse()
        .map(([at, id]) => [
          expect.stringMatching(`^thing.wilt_${id}_${s.now() - at}_[0-9a-f]{8}$`),
          { actor: { kind: 'system', id: '', display: 'system' }, target: `Thing(${id})`, content: 'Wilt', ids: {} },
        ]),
    );
  });

  it('never mixes merchants or kinds', async () => {
    for (const merchantId of [15, 16]) {
      for (const kind of ['thing.wilt', 'thing.sweep']) await s.schedule('a', 1, { merchantId, kind });
    }
    await s.t.work.drain();
    const of = s.batches.map(items => items.map(({ merchantId, kind }) => `${merchantId} ${kind}`).join());
    expect(of.sort()).toEqual(['15 thing.sweep', '15 thing.wilt', '16 thing.sweep', '16 thing.wilt']);
  });

  it('that fails is done one by one: the poisoned item alone is tried later, then parked, and can be resumed', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, thing));
    const [poisoned = ''] = ids;
    let poison = true;
    s.behaviour.act = async (tx, items) => {
      await s.grow(tx, items);
      if (poison && keys(items).includes(poisoned)) throw new Error('poisoned');
    };
    for (const id of ids) await s.schedule(id, s.now());
    await s.t.work.drain();
    expect(keys(s.done).sort()).toEqual(ids.slice(1).sort());
    expect(await Promise.all(ids.map(sizeOf))).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
    expect(await s.rows('key, attempts, lease, reason, parked_at')).toEqual([
      { key: poisoned, attempts: 1, lease: null, reason: 'poisoned', parked_at: null },
    ]);
    const tried = () => s.batches.filter(items => keys(items).includes(poisoned)).length;
    expect(tried()).toBe(2);
    await s.t.work.drain();
    expect(tried()).toBe(2);
    for (let attempt = 2; attempt <= 3; attempt++) {
      s.clock.advance(3_600);
      await s.t.work.drain();
      expect(tried()).toBe(attempt + 1);
    }
    expect(await s.rows('key, attempts, lease, reason, parked_at')).toEqual([
      { key: poisoned, attempts: 3, lease: null, reason: 'poisoned', parked_at: String(s.now()) },
    ]);
    s.clock.advance(1_000_000);
    await s.t.work.drain();
    expect(tried()).toBe(4);
    poison = false;
    expect(await s.t.work.resume()).toEqual({ 'thing.wilt': 1 });
    await s.t.work.drain();
    expect(await sizeOf(poisoned)).toBe(1);
    expect(await s.rows()).toEqual([]);
  });
});

describe('a worker that was killed', () => {
  const parts = () => ({ db: s.t.db, clock: s.clock, log: s.t.app.get(LOG), random: Math.random, clocksMove: true });
  const wilt = () => claim(parts(), s.wilt, 15);

  it('is replaced when its lease is over, and not before; its items are then done one by one', async () => {
    for (const key of ['a', 'b', 'c']) await s.schedule(key, s.now());
    expect(keys((await wilt())?.items ?? [])).toEqual(['a', 'b', 'c']);
    s.clock.advance(59);
    await s.t.work.drain();
    expect(s.done).toEqual([]);
    s.clock.advance(1);
    await s.t.work.drain();
    expect(s.batches.map(keys)).toEqual([['a'], ['b'], ['c']]);
    expect(s.done.map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
    expect(await s.rows()).toEqual([]);
  });

  it('again and again by one item has that one parked in the end, and no other', async () => {
    for (const key of ['a', 'b', 'c']) await s.schedule(key, s.now());
    await wilt();
    // each time the item that comes first ends its worker
    for (let times = 0; times < 2; times++) {
      s.clock.advance(60);
      expect(keys((await wilt())?.items ?? [])).toEqual(['a']);
      await s.t.work.drain();
    }
    s.clock.advance(60);
    await s.t.work.drain();
    expect(keys(s.done)).toEqual(['b', 'c']);
    expect(await s.rows('key, attempts, reason, parked_at')).toEqual([
      { key: 'a', attempts: 4, reason: 'its workers ended before it was done', parked_at: String(s.now()) },
    ]);
  });

  it('but goes on after all changes nothing: another one has its items', async () => {
    const ids = [await thing(), await thing()].sort();
    const [slow, taken] = [gate(), gate()];
    let first = true;
    s.behaviour.act = async (tx, items) => {
      await s.grow(tx, items);
      if (!first) return;
      first = false;
      taken.open();
      await slow.opened;
    };
    for (const id of ids) await s.schedule(id, s.now());
    const late = s.t.work.drain();
    await taken.opened;
    // the lease is over, and the rows that the first worker has locked are its own still: another claims the items
    s.clock.advance(60);
    const other = await wilt();
    expect(other).toMatchObject({ alone: true, items: [{ key: ids[0] }] });
    slow.open();
    await late;
    expect(await Promise.all(ids.map(sizeOf))).toEqual([0, 1]);
    s.clock.advance(60);
    await s.t.work.drain();
    expect(await Promise.all(ids.map(sizeOf))).toEqual([1, 1]);
  });
});
