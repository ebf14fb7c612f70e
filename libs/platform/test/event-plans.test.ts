import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clearText, earlierText, pageText } from '../src/events/dead-letters.js';
import { listed, settled, unpublished } from '../src/events/relay.js';
import { reachedText } from '../src/store/sql/dedupe.js';
import { emptyTable, type TestService, testService } from '../src/testing/index.js';
import { type Measured, prepareAll, tooCostly } from './plans.js';
import { sample } from './sample.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(sample, {});
  // the tests say when statistics are taken and dead rows removed
  for (const table of tables) await t.rows(`alter table ${table} set (autovacuum_enabled = false)`);
});
afterAll(() => t.close());

const tables = ['dead_letter', 'inbox', 'gate', 'unpublished', 'outbox'] as const;
const consumer = 'consumer-1';
const some = Array.from({ length: 50 }, (_, at) => at + 1);
const statements: Record<string, Measured> = {
  page: [pageText, [consumer, 0, ''], 1_500],
  next: [pageText, [consumer, 7, 'ev_000001'], 1_500],
  earlier: [earlierText, [consumer, 15, 'thing', '000500', 1_000], 20],
  reached: [reachedText, [consumer, 15, some.map(n => `kind ${n % 20}`), some.map(String)], 250],
  clear: [clearText, [consumer], 12_000],
  unpublished: [unpublished, [], 100],
  listed: [listed, [some], 300],
  settled: [settled, [some], 1_000],
};

/**
 * Parked events of three consumers, a third of each applied meanwhile, published ones before and after those listed, and
 * gates of twenty kinds of aggregates.
 */
const fill = async (rows: number) => {
  await t.rows(
    `with n as (select n, 'ev_' || lpad(n::text, 6, '0') as id, 'consumer-' || n % 3 as consumer from generate_series(1, $1) n),
       parked as (insert into dead_letter
         select consumer, id, 15, 'thing', lpad((n % 1000)::text, 6, '0'), n, '{}', 'planted', 1 from n),
       applied as (insert into inbox select consumer, id, 1 from n where n % 2 = 0),
       reached as (insert into gate select 'consumer-1', 15, 'kind ' || n % 20, n::text, n from n)
     insert into unpublished select n, array[n], 100 from n`,
    [rows],
  );
  await t.rows(
    `insert into outbox (seq, id, type, merchant_id, aggregate, aggregate_id, version, envelope, created_at)
     overriding system value select n, 'ev_' || n, 'thing.made', 15, 'thing', n::text, 1, '{}', 1 from generate_series(1, $1) n`,
    [rows],
  );
};
const tidy = async (command: string) => {
  for (const table of tables) await t.rows(`${command} ${table}`);
};
const empty = async () => {
  for (const table of tables) await emptyTable(t, table);
};

const states: Record<string, () => Promise<unknown>> = {
  'new tables': async () => undefined,
  'empty tables that were vacuumed': () => tidy('vacuum analyze'),
  'full tables, analyzed': async () => {
    await fill(20_000);
    await tidy('analyze');
  },
  'tables that were full': async () => {
    await fill(20_000);
    await tidy('vacuum analyze');
    await empty();
    await tidy('vacuum');
  },
};
const sizes: Record<string, () => Promise<unknown>> = {
  'empty ones': async () => undefined,
  'ones of 1000 rows': () => fill(1_000),
  'ones of 50 000 rows': () => fill(50_000),
  'ones of 50 000 rows, vacuumed and analyzed': async () => {
    await fill(50_000);
    await tidy('vacuum analyze');
  },
};

describe.each(Object.entries(states))('planned for %s', (_, prepared) => {
  it.each(Object.entries(sizes))(
    'statements of the relay and of consumers cost what they take of %s',
    async (_, filled) => {
      await t.rows(`truncate ${tables.join()}`);
      await prepared();
      const client = await t.owner();
      try {
        await prepareAll(client, statements);
        await empty();
        await filled();
        expect(await tooCostly(client, statements)).toEqual([]);
      } finally {
        await client.end();
      }
    },
  );
});
