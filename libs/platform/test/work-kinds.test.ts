import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eachItem, fetchedWork, systemCaller, work } from '../src/index.js';
import { MovableClock, type TestService, testService } from '../src/testing/index.js';
import { sample, things } from './sample.js';
import { gate } from './work-sample.js';

const clock = new MovableClock();
const source = { fetch: async () => 'unset', fetches: 0 };
let written: string[] = [];
const prune = work(
  'thing.prune',
  { time: 'machine', logged: false },
  eachItem(async (tx, { kind, key, dueAt }) => {
    const thing = await tx.lockIfAny(things, { id: Number(key) });
    if (!thing || thing.size === 0n) return;
    tx.save(things, { ...thing, size: thing.size - 1n });
    tx.schedule(kind, key, dueAt + 60);
  }),
);
const refresh = fetchedWork(
  'thing.refresh',
  { time: 'machine', logged: false },
  () => {
    source.fetches++;
    return source.fetch();
  },
  async (tx, _, fetched) => {
    written.push(`${fetched} of ${tx.merchantId}`);
  },
);

let t: TestService;
beforeAll(async () => {
  t = await testService({ ...sample, work: () => [prune, refresh] }, { clock });
});
afterAll(() => t.close());
afterEach(async () => {
  Object.assign(source, { fetches: 0 });
  written = [];
  await t.rows('delete from due_work');
});

const system = (merchantId = 15) => systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY);
const schedule = (kind: string, key: string, merchantId = 0) =>
  t.db.apply(system(merchantId), async tx => tx.schedule(kind, key, clock.now()));
const scheduled = () => t.rows('select kind, key, due_at from due_work order by key');

describe('a command that appends', () => {
  it('schedules with its rows, or not at all', async () => {
    const create = (id: number, name: string) =>
      t.db.append(system(), async appender => {
        appender.add(things, { merchantId: 15, id, name, size: 1n, version: 1 });
        appender.schedule('thing.prune', String(id), 7);
        appender.log(`Thing(${id})`, 'New');
        return {};
      });
    await create(501, 'appended');
    await expect(create(502, 'appended')).rejects.toMatchObject({ constraint: 'things_name' });
    expect(await scheduled()).toEqual([{ kind: 'thing.prune', key: '501', due_at: '7' }]);
  });

  it('replaces the time of an item, also when many do at once', async () => {
    const move = (at: number) =>
      t.db.append(system(), async appender => {
        appender.schedule('thing.prune', '501', at);
        return {};
      });
    await Promise.all(Array.from({ length: 16 }, (_, at) => move(at)));
    expect(await scheduled()).toHaveLength(1);
    await move(99);
    expect(await scheduled()).toEqual([{ kind: 'thing.prune', key: '501', due_at: '99' }]);
  });

  it('has what is due now done at once', async () => {
    const done = gate();
    source.fetch = async () => {
      done.open();
      return 'now';
    };
    t.work.start();
    await t.db.append(system(), async appender => {
      appender.schedule('thing.refresh', 'a', appender.now);
      return {};
    });
    await done.opened;
    await t.work.stop();
    expect(written).toEqual(['now of 15']);
  });
});

describe('upkeep', () => {
  it('changes rows without an entry in the operation log, and goes on by itself', async () => {
    await t.rows(`insert into things values (15, 600, 'pruned', 2, 1)`);
    await t.emitted();
    await schedule('thing.prune', '600', 15);
    for (let round = 0; round < 4; round++) {
      await t.work.drain();
      clock.advance(60);
    }
    expect(await t.rows('select size from things where id = 600')).toEqual([{ size: '0' }]);
    expect(await scheduled()).toEqual([]);
    expect(await t.emitted()).toEqual([]);
  });
});

describe('work that fetches', () => {
  it('fetches once, before its transaction, however many replicas look', async () => {
    const replica = await t.replica();
    const [begun, answered] = [gate(), gate()];
    source.fetch = async () => {
      begun.open();
      await answered.opened;
      return 'rates';
    };
    await schedule('thing.refresh', 'a');
    const drained = t.work.drain();
    await begun.opened;
    await replica.work.drain();
    const waiting = `select count(*) from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`;
    expect(await t.rows(waiting)).toEqual([{ count: '0' }]);
    answered.open();
    await drained;
    expect([source.fetches, written]).toEqual([1, ['rates of 0']]);
    expect(await scheduled()).toEqual([]);
  });

  it('is retried later when the fetch fails', async () => {
    source.fetch = () => Promise.reject(new Error('planted'));
    await schedule('thing.refresh', 'a');
    await t.work.drain();
    expect(await t.rows('select attempts, reason from due_work')).toEqual([{ attempts: 1, reason: 'planted' }]);
    source.fetch = async () => 'later';
    clock.advance(60);
    await t.work.drain();
    expect(written).toEqual(['later of 0']);
  });
});
