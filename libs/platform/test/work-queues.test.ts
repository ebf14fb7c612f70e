import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LOG, type Tx, type WorkItem, work } from '../src/index.js';
import { WorkRunner } from '../src/work/work-runner.js';
import { gate, type Workshop, workshop } from './work-sample.js';

let s: Workshop;
beforeAll(async () => {
  s = await workshop({ batch: 1_000 });
});
afterAll(() => s.t.close());
afterEach(async () => {
  await s.t.work.stop();
  s.forget();
  await s.t.rows('truncate due_work');
});

describe('100 000 items of one merchant that are due at once', () => {
  it('are claimed in order of due_at by two workers, each once', async () => {
    await s.fill(100_000, s.now() - 200_000);
    const seen: WorkItem[][] = [];
    const runner = (db: Workshop['t']['db']) => {
      const claimed: WorkItem[] = [];
      seen.push(claimed);
      const run = async (_: Tx, items: readonly WorkItem[]) => void claimed.push(...items);
      const parts = { db, clock: s.clock, log: s.t.app.get(LOG), random: Math.random, clocksMove: true };
      return new WorkRunner(parts, [work('thing.wilt', { time: 'merchant', batch: 1_000 }, run)]);
    };
    const replica = await s.t.replica();
    await Promise.all([runner(s.t.db).drain(), runner(replica.db).drain()]);
    for (const claimed of seen) {
      expect(claimed.length).toBeGreaterThan(0);
      expect(claimed.every(({ dueAt }, at) => at === 0 || dueAt > Number(claimed[at - 1]?.dueAt))).toBe(true);
    }
    const all = seen.flat().map(({ key }) => Number(key));
    expect(all.length).toBe(100_000);
    expect(new Set(all).size).toBe(100_000);
    expect(await s.rows()).toEqual([]);
  });
});

describe('a long queue', () => {
  it('of one merchant holds up no other, whose items were due later', async () => {
    await s.fill(20_000, s.now() - 100_000);
    for (const merchantId of [7, 16, 17]) await s.schedule('a', s.now(), { merchantId });
    let before: number | undefined;
    s.behaviour.act = async (_, [item]) => {
      if (item?.merchantId !== 15 && s.batches.filter(([first]) => first?.merchantId !== 15).length === 3) {
        before ??= s.done.length;
      }
    };
    await s.t.work.drain();
    expect(s.done).toHaveLength(20_003);
    expect(before).toBeLessThan(5_000);
  });

  it('of one kind holds up no other kind', async () => {
    await s.fill(20_000, s.now() - 100_000);
    await s.schedule('a', s.now(), { kind: 'thing.sweep' });
    let before: number | undefined;
    s.behaviour.act = async (_, [item]) => {
      if (item?.kind === 'thing.sweep') before = s.done.length;
    };
    await s.t.work.drain();
    expect(before).toBeLessThan(5_000);
  });

  it('behind an item that never ends is not held up, nor are other merchants', async () => {
    const end = gate();
    s.behaviour.act = async (_, [item]) => (item?.merchantId === 15 ? end.opened : undefined);
    for (const merchantId of [15, 16, 17, 18]) await s.schedule('a', s.now(), { merchantId });
    const drained = s.t.work.drain();
    while (s.done.length < 3) await new Promise(setImmediate);
    expect(s.done.map(({ merchantId }) => merchantId).sort()).toEqual([16, 17, 18]);
    end.open();
    await drained;
  });
});

describe('a running service', () => {
  /** Resolves when an item is done. */
  const nextDone = () =>
    new Promise<WorkItem>(resolve => {
      s.behaviour.act = async (_, [item]) => item && resolve(item);
    });

  it('does at once what a commit schedules for now, and what comes later when it is time', async () => {
    s.t.work.start();
    let done = nextDone();
    await s.schedule('now', s.now());
    expect(await done).toMatchObject({ key: 'now' });
    done = nextDone();
    await s.schedule('later', s.now() + 60);
    s.clock.advance(60);
    expect(await done).toMatchObject({ key: 'later' });
  });

  it('does what has been due since before it started', async () => {
    await s.schedule('old', 1);
    const done = nextDone();
    s.t.work.start();
    expect(await done).toMatchObject({ key: 'old' });
  });

  it('that stops ends with the batch that is under way', async () => {
    await s.fill(5_000, 1);
    const [begun, go] = [gate(), gate()];
    s.behaviour.act = () => {
      begun.open();
      return go.opened;
    };
    s.t.work.start();
    await begun.opened;
    const stopped = s.t.work.stop();
    go.open();
    await stopped;
    expect(s.done).toHaveLength(1_000);
    expect(await s.rows('count(*)::int as left, count(lease)::int as leased')).toEqual([{ left: 4_000, leased: 0 }]);
  });
});
