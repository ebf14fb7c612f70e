import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type TestService, testService } from '../src/testing/index.js';
import { ensureThing, getThing, growThing, newThing, sample } from './sample.js';

let fast: TestService;
let plain: TestService;

beforeAll(async () => {
  fast = await testService(sample);
  plain = await testService(sample, { env: { STORE_FAST: 'false' } });
});
afterAll(() => Promise.all([fast.close(), plain.close()]));

type Command = { does: 'new' | 'ensure' | 'grow' | 'get'; name: string; key?: string };

const names = fc.constantFrom('a', 'b"', '{c}', 'ü\\');
const command: fc.Arbitrary<Command> = fc.record({
  does: fc.constantFrom('new', 'ensure', 'grow', 'get'),
  name: names,
  key: fc.option(fc.constantFrom('k1', 'k2'), { nil: undefined }),
});

/** Runs commands, those of a batch at once; answers their outcomes, and what is left of them. */
async function outcome(t: TestService, merchantId: number, batches: readonly Command[][]) {
  const idOf = async (name: string) => {
    const [row] = await t.rows('select id from things where merchant_id = $1 and name = $2', [merchantId, name]);
    return Number(row?.id ?? 0);
  };
  const run = async ({ does, name, key }: Command, id: number) => {
    const caller = { merchantId, ...(key && { idempotencyKey: `${does} ${name} ${key}` }) };
    const calls = {
      new: () => t.call(newThing, { name, size: 1 }, caller),
      ensure: () => t.call(ensureThing, { name }, caller),
      grow: () => t.call(growThing, { id, by: 2, twice: name === 'a' }, caller),
      get: () => t.call(getThing, { id }, caller),
    };
    const result = await calls[does]();
    return result.ok ? `${does} ${name} ${result.data.thing.name}` : `${does} ${name} ${result.slug}`;
  };
  const outcomes: string[][] = [];
  for (const batch of batches) {
    const ids = await Promise.all(batch.map(({ name }) => idOf(name)));
    outcomes.push((await Promise.all(batch.map((one, at) => run(one, ids[at] ?? 0)))).sort());
  }
  const rows = await t.rows('select name, size, version from things where merchant_id = $1 order by name', [
    merchantId,
  ]);
  const events = await t.rows(
    `select type, version, envelope::json->'data' as data from outbox where merchant_id = $1 order by type, version, envelope::json->'data'->>'name'`,
    [merchantId],
  );
  const written = events.map(({ type, version, data }) => {
    const { id: _, target: __, ...of } = data as Record<string, unknown>;
    return type === 'operation.logged' ? type : JSON.stringify([type, version, of]);
  });
  const keys = await t.rows('select key from idempotency where merchant_id = $1 order by key', [merchantId]);
  return { outcomes, rows, written: written.sort(), keys };
}

it('the fast paths leave and answer what the plain ones do', async () => {
  let merchantId = 100;
  // a name is made by one kind of command, and a command that may be refused has no key: then races have one outcome
  const settled = (one: Command): Command => {
    if (one.does !== 'new' && one.does !== 'ensure') return one;
    return one.name < 'c' ? { does: 'new', name: one.name } : { ...one, does: 'ensure' };
  };
  const batches = fc.array(fc.array(command.map(settled), { maxLength: 6 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(batches, async commands => {
      merchantId++;
      expect(await outcome(fast, merchantId, commands)).toEqual(await outcome(plain, merchantId, commands));
    }),
    { numRuns: 25 },
  );
});

it('each command of the plain paths commits by itself, and is told of', async () => {
  const [first, second] = await Promise.all(
    ['one', 'two'].map(name => plain.done(newThing, { name, size: 1 }, { merchantId: 98 })),
  );
  const statements = await plain.rows('select distinct xmin::text from things where merchant_id = 98');
  expect(statements).toHaveLength(2);
  expect(Math.abs((first?.thing.id ?? 0) - (second?.thing.id ?? 0))).toBe(1);
});
