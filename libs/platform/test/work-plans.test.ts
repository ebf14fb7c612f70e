import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { indexOnly } from '../src/store/due/indexed.js';
import { lockText, removeText, rescheduledText, settleText } from '../src/store/due/work-changes.js';
import { emptyTable } from '../src/testing/index.js';
import {
  aheadText,
  claimText,
  nextDueText,
  othersText,
  parkedText,
  readyText,
  releaseText,
  resumeText,
  underWayText,
} from '../src/work/statements.js';
import { type Workshop, workshop } from './work-sample.js';

let s: Workshop;
beforeAll(async () => {
  s = await workshop();
  // the tests say when statistics are taken and dead rows removed
  await s.t.rows('alter table due_work set (autovacuum_enabled = false)');
});
afterAll(() => s.t.close());

const now = 1_000_000;
const kind = 'thing.wilt';
const some = Array.from({ length: 50 }, (_, n) => String(n).padStart(6, '0'));
/** Each statement, typical values, and the pages that it may touch, whatever is in the table. */
const statements: Record<string, [text: string, values: unknown[], pages: number]> = {
  ready: [readyText, [[kind, 'thing.sweep'], now], 1_200],
  others: [othersText, [kind, now, -1], 1_500],
  ahead: [aheadText, [[kind, 'thing.sweep'], now], 300],
  claim: [claimText, [kind, 15, now, now, 'lease', now + 60, 50], 1_200],
  next: [nextDueText, [[kind, 'thing.sweep'], 15], 200],
  underWay: [underWayText, [[kind, 'thing.sweep'], 15], 200],
  release: [releaseText, [15, kind, some, 'lease', now, 0, '', null], 1_600],
  parked: [parkedText, [[kind]], 50],
  resume: [resumeText, [kind, now], 50],
  settle: [settleText, [15, kind, some, 'lease'], 1_600],
  rescheduled: [rescheduledText, [15, kind, some], 400],
  lock: [lockText, [15, some.map(() => kind), some], 400],
  remove: [removeText, [15, some.map(() => kind), some], 1_600],
};

interface Node {
  'Node Type': string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

const fill = (rows: number) =>
  s.t.rows(
    `insert into due_work select case when n % 2 = 0 then 15 else n % 100 end, $1, lpad(n::text, 6, '0'), n, 0
       from generate_series(0, $2 - 1) n`,
    [kind, rows],
  );
const states: Record<string, () => Promise<unknown>> = {
  'a new table': async () => undefined,
  'an empty table that was vacuumed': () => s.t.rows('vacuum analyze due_work'),
  'a table of 1000 rows': () => fill(1_000),
  'a full table, analyzed': async () => {
    await fill(20_000);
    await s.t.rows('analyze due_work');
  },
  'a table that was full': async () => {
    await fill(20_000);
    await s.t.rows('vacuum analyze due_work');
    await s.t.rows('delete from due_work');
    await s.t.rows('vacuum due_work');
  },
};

const sizes: Record<string, () => Promise<unknown>> = {
  'an empty one': async () => undefined,
  'one of 1000 rows': () => fill(1_000),
  'one of 100 000 rows': () => fill(100_000),
  'one of 100 000 rows, vacuumed and analyzed': async () => {
    await fill(100_000);
    await s.t.rows('vacuum analyze due_work');
  },
};

const plainOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array[${value.map(plainOf).join()}]::text[]`;
  return typeof value === 'number' ? String(value) : `'${value}'`;
};

async function prepare(client: pg.Client): Promise<void> {
  await client.query('begin');
  await client.query(indexOnly);
  for (const [name, [text, values]] of Object.entries(statements)) {
    await client.query(`prepare ${name} as ${text}`);
    // this makes the plan that is kept
    await client.query(`execute ${name}(${values.map(plainOf).join()})`);
  }
  await client.query('rollback');
}

async function look(client: pg.Client, name: string, values: readonly unknown[]): Promise<Node> {
  await client.query('begin');
  await client.query(indexOnly);
  const { rows } = await client.query(
    `explain (analyze, buffers, format json) execute ${name}(${values.map(plainOf).join()})`,
  );
  await client.query('rollback');
  return rows[0]['QUERY PLAN'][0].Plan;
}

const nodesOf = (node: Node): string[] => [node['Node Type'], ...(node.Plans ?? []).flatMap(nodesOf)];

describe.each(Object.entries(states))('planned for %s', (_, prepared) => {
  it.each(Object.entries(sizes))('statements cost what they take of %s', async (_, filled) => {
    await s.t.rows('truncate due_work');
    await prepared();
    const client = await s.t.owner();
    try {
      await client.query('set plan_cache_mode = force_generic_plan');
      await prepare(client);
      await emptyTable(s.t, 'due_work');
      await filled();
      for (const [name, [, values, pages]] of Object.entries(statements)) {
        // what was deleted is passed over once, and then no more
        await look(client, name, values);
        const plan = await look(client, name, values);
        const touched = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
        expect([name, nodesOf(plan).filter(node => /^(Seq Scan|Sort|Hash Join|Bitmap)/.test(node))]).toEqual([
          name,
          [],
        ]);
        expect([name, touched, touched <= pages]).toEqual([name, touched, true]);
      }
    } finally {
      await client.end();
    }
  });
});
