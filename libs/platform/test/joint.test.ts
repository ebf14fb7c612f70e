import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { systemCaller, type Tx } from '../src/index.js';
import { type TestService, testService } from '../src/testing/index.js';
import { newThing, sample, thingAggregate, things } from './sample.js';

/* Items that go side by side in one transaction ask with one statement what they ask at the same point. */

let t: TestService;
const ids: number[] = [];
beforeAll(async () => {
  t = await testService(sample);
  for (let at = 0; at < 20; at++) {
    ids.push((await t.done(newThing, { name: `thing ${at}`, size: at })).thing.id);
  }
});
afterAll(() => t.close());

const query = jest.spyOn(pg.Client.prototype, 'query');
const statements = () =>
  query.mock.calls
    .map(([asked]) => String((asked as { text?: string }).text ?? asked))
    .filter(text => /things/.test(text));
beforeEach(() => {
  query.mockClear();
});

const within = (run: (tx: Tx) => Promise<unknown>) =>
  t.db.apply(systemCaller(15, 'test', Number.POSITIVE_INFINITY), run);

it('each gets the rows of its own question, whether it finds one, several or none', async () => {
  const found = new Map<number, [string | undefined, number, number[]]>();
  await within(tx =>
    tx.together([...ids, -1], async id => {
      const one = await tx.find(things, { id });
      const own = await tx.all(things, { name: one?.name ?? '' });
      const all = await tx.all(things, { merchantId: 15 }, 'order by id desc limit 3');
      found.set(id, [one?.name, own.length, all.map(each => each.id)]);
    }),
  );
  const last = [...ids].sort((a, b) => b - a).slice(0, 3);
  expect(ids.map(id => found.get(id))).toEqual(ids.map((_, at) => [`thing ${at}`, 1, last]));
  expect(found.get(-1)).toEqual([undefined, 0, last]);
  expect(statements().length).toBe(3);
});

it('locks rows with one statement, and writes them', async () => {
  await within(tx =>
    tx.together(ids, async id => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      tx.step(thingAggregate, { ...thing, size: thing.size + 100n }, 'thing.grown');
    }),
  );
  const sizes = await t.rows('select size::int as size from things where merchant_id = 15 order by id');
  expect(sizes.map(({ size }) => size)).toEqual(ids.map((_, at) => 100 + at));
  expect(statements().filter(text => text.includes('for update')).length).toBe(1);
});

it('a written read is asked once for all who ask it with the same values', async () => {
  const text = 'select count(*) as n from things where merchant_id = $1 and size >= $2';
  const counts: number[] = [];
  await within(tx =>
    tx.together([1, 2, 3, 4], async at => {
      const [row] = await tx.query(text, [tx.merchantId, BigInt(at % 2)]);
      counts.push(Number(row?.n));
    }),
  );
  expect(counts).toEqual([20, 20, 20, 20]);
  expect(statements().length).toBe(2);
});

it('questions of one kind are answered together and in their order, and by themselves outside', async () => {
  const asked: string[][] = [];
  const shout = async (words: readonly string[]) => {
    asked.push([...words]);
    return words.map(word => word.toUpperCase());
  };
  const answers: string[] = [];
  await within(async tx => {
    await tx.together(['b', 'a', 'c'], async word => {
      answers.push(await tx.jointly('shout', word, shout));
    });
    answers.push(await tx.jointly('shout', 'd', shout));
  });
  expect(answers).toEqual(['B', 'A', 'C', 'D']);
  expect(asked).toEqual([['b', 'a', 'c'], ['d']]);
});

it('a failure ends all of them, and is the first that was met', async () => {
  const attempt = within(tx =>
    tx.together(ids.slice(0, 3), async id => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      tx.step(thingAggregate, { ...thing, size: 7n }, 'thing.grown');
      await tx.jointly('short', id, async () => []);
    }),
  );
  await expect(attempt).rejects.toThrow('0 answers to 3 questions');
  expect(await t.rows('select id from things where merchant_id = 15 and size = 7')).toEqual([]);
});
