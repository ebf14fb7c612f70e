import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { advanceTestClock, clockLimits, getTestClock } from '@recur/contracts';
import { eachItem, type Tx, type WorkItem, work } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';
import { ClockAdvance } from '../../src/test-clock/advance.js';

const day = 86_400;
const clock = new MovableClock();
const started = clock.now();
const { advanceSeconds: longest } = clockLimits;
/** Each test has its own. */
let merchantId = 15;
let done: [string, number][] = [];
let act: (tx: Tx, item: WorkItem) => Promise<void> = async () => undefined;
const probe = work(
  'probe',
  { time: 'merchant' },
  eachItem(async (tx, item) => {
    await act(tx, item);
    done.push([item.key, (tx.now - started) / day]);
  }),
);
const definition = { ...billing, work: (app: never) => [...(billing.work?.(app) ?? []), probe] };

let t: TestService;
beforeAll(async () => {
  t = await testService(definition, { clock });
});
afterAll(() => t.close());
afterEach(async () => {
  done = [];
  act = async () => undefined;
  merchantId += 2;
  await t.emitted();
});

const schedule = (key: string, days: number) =>
  t.db.apply(t.callerOf({ merchantId }), async tx => tx.schedule('probe', key, started + days * day));
const advance = (input: object, idempotencyKey?: string) =>
  t.call(advanceTestClock, input, { merchantId, idempotencyKey });
const read = () => t.done(getTestClock, {}, { merchantId });
const dataOf = async (answer: ReturnType<typeof advance>) => {
  const result = await answer;
  if (!result.ok) throw new Error(result.slug);
  return result.data;
};

describe('the clock of a merchant', () => {
  it('goes by the machine until it is advanced, each merchant for itself', async () => {
    const still = { now: started, offset: 0, status: 'ready', done: 0, target: 0 };
    expect(await read()).toEqual(still);
    const moved = { now: started + day, offset: day, status: 'ready', done: 0, target: started + day };
    expect(await dataOf(advance({ seconds: day }))).toEqual(moved);
    expect(await read()).toEqual(moved);
    expect(await t.done(getTestClock, {}, { merchantId: merchantId + 1 })).toEqual(still);
  });

  it('stops at everything that falls due on the way, and tells others of each time', async () => {
    for (const [key, days] of [
      ['b', 2],
      ['a', 2],
      ['c', 30],
      ['later', 32],
    ] as const)
      await schedule(key, days);
    act = async (tx, { key, dueAt }) => {
      if (key === 'c') tx.schedule('probe', 'again', dueAt + day);
    };
    const target = started + 31 * day;
    const expected = { now: target, offset: 31 * day, status: 'ready', done: 4, target };
    expect(await dataOf(advance({ to: target }))).toEqual(expected);
    expect(done).toEqual([
      ['a', 2],
      ['b', 2],
      ['c', 30],
      ['again', 31],
    ]);
    const moves = (await t.emitted()).filter(({ type }) => type === 'clock.moved');
    expect(moves.map(({ version, data }) => [version, data])).toEqual([
      [1, { now: started + 2 * day, offset: 2 * day }],
      [2, { now: started + 30 * day, offset: 30 * day }],
      [3, { now: target, offset: 31 * day }],
    ]);
    expect(await t.rows(`select key from due_work where merchant_id = $1 and kind = 'probe'`, [merchantId])).toEqual([
      { key: 'later' },
    ]);
  });

  it('is never moved back, nor by more than ten years at once', async () => {
    await advance({ seconds: day });
    for (const input of [{ to: started }, { seconds: -1 }, { seconds: longest + 1 }]) {
      expect(await advance(input)).toMatchObject({ ok: false, slug: 'invalid_parameters' });
    }
    expect(await advance({ to: started + day + longest + 1 })).toMatchObject({ slug: 'invalid_parameters' });
    for (const input of [{}, { seconds: 1, to: started }]) {
      expect(await advance(input)).toMatchObject({ slug: 'invalid_parameters' });
    }
    expect(await dataOf(advance({ seconds: longest }))).toMatchObject({ status: 'ready' });
  });

  it('stays where it is with an advance of nothing, which does what is due', async () => {
    await schedule('a', 0);
    expect(await dataOf(advance({ to: started }))).toMatchObject({ now: started, offset: 0, done: 1 });
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['operation.logged']);
  });
});

describe('an advance that takes its time', () => {
  it('is answered as advancing, refuses a second one, and goes on as due work', async () => {
    await schedule('slow', 1);
    await schedule('after', 2);
    act = async () => clock.advance(4);
    const expected = { now: started + day + 4, status: 'advancing', done: 1, target: started + 3 * day };
    expect(await dataOf(advance({ to: started + 3 * day }))).toMatchObject(expected);
    expect(await advance({ seconds: 1 })).toMatchObject({ ok: false, slug: 'clock_advancing' });
    expect(done.map(([key]) => key)).toEqual(['slow']);
    act = async () => undefined;
    clock.advance(5);
    await t.work.drain();
    expect(await read()).toMatchObject({ now: started + 3 * day, status: 'ready', done: 2 });
    expect(done.map(([key]) => key)).toEqual(['slow', 'after']);
  });

  it('waits for work that failed, which is tried again', async () => {
    await schedule('poor', 1);
    let fails = true;
    act = async () => {
      if (!fails) return;
      fails = false;
      throw new Error('planted');
    };
    const advancing = advance({ seconds: 2 * day });
    await until(async () => !fails);
    await until(
      async () => (await t.rows('select 1 from due_work where lease is null and reason is not null')).length > 0,
    );
    expect(await read()).toMatchObject({ now: started + day, status: 'advancing' });
    await t.rows('update due_work set lease_until = $1 where reason is not null', [clock.now()]);
    await t.work.drain();
    expect(await dataOf(advancing)).toMatchObject({ offset: 2 * day, status: 'ready' });
    expect(done).toEqual([['poor', 1]]);
  });

  it('goes on when the process that began it has ended', async () => {
    await schedule('a', 1);
    const advances = t.app.get(ClockAdvance);
    const { go } = advances;
    advances.go = async () => undefined;
    expect(await dataOf(advance({ seconds: 2 * day }))).toMatchObject({ offset: 0, status: 'advancing' });
    advances.go = go;
    const replica = await t.replica();
    clock.advance(6);
    await replica.work.drain();
    expect(await read()).toMatchObject({ status: 'ready', done: 1 });
    expect(done).toEqual([['a', 1]]);
  });
});

describe('a repeat under the same key', () => {
  it('gets the answer of the first, and moves nothing', async () => {
    const first = await dataOf(advance({ seconds: day }, 'k'));
    await advance({ seconds: day });
    expect(await dataOf(advance({ seconds: day }, 'k'))).toEqual(first);
    expect(await read()).toMatchObject({ offset: 2 * day });
  });

  it('goes on with the advance that the first has begun, if it has no answer yet', async () => {
    const advances = t.app.get(ClockAdvance);
    const { go } = advances;
    advances.go = () => Promise.reject(new Error('planted: the process ends here'));
    expect(await advance({ seconds: day }, 'k')).toMatchObject({ ok: false, slug: 'internal_error' });
    advances.go = go;
    expect(await dataOf(advance({ seconds: day }, 'k'))).toMatchObject({ offset: day, status: 'ready' });
  });
});

it('is not there in production', async () => {
  const live = await testService(billing, { env: { RECUR_ENV: 'production' } });
  expect(await live.call(advanceTestClock, { seconds: 1 })).toMatchObject({ ok: false, slug: 'unknown_path' });
  expect(await live.call(getTestClock, {})).toMatchObject({ ok: false, slug: 'unknown_path' });
  await live.close();
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(setImmediate);
}
