import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lockText, removeText, rescheduledText, settleText } from '../src/store/due/work-changes.js';
import { emptyTable } from '../src/testing/index.js';
import {
  aheadOfText,
  aheadText,
  claimText,
  othersText,
  parkedText,
  readyText,
  releaseText,
  resumeText,
} from '../src/work/statements.js';
import { type Measured, prepareAll, tooCostly } from './plans.js';
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
const statements: Record<string, Measured> = {
  ready: [readyText, [[kind, 'thing.sweep'], now], 1_200],
  others: [othersText, [kind, now, -1], 1_500],
  ahead: [aheadText, [[kind, 'thing.sweep'], now], 300],
  claim: [claimText, [kind, 15, now, now, 'lease', now + 60, 50], 1_200],
  aheadOf: [aheadOfText, [[kind, 'thing.sweep'], 15], 400],
  release: [releaseText, [15, kind, some, 'lease', now, 0, '', null], 1_600],
  parked: [parkedText, [[kind]], 50],
  resume: [resumeText, [kind, now], 50],
  settle: [settleText, [15, kind, some, 'lease'], 1_600],
  rescheduled: [rescheduledText, [15, kind, some], 400],
  lock: [lockText, [15, some.map(() => kind), some], 400],
  remove: [removeText, [15, some.map(() => kind), some], 1_600],
};

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

describe.each(Object.entries(states))('planned for %s', (_, prepared) => {
  it.each(Object.entries(sizes))('statements cost what they take of %s', async (_, filled) => {
    await s.t.rows('truncate due_work');
    await prepared();
    const client = await s.t.owner();
    try {
      await prepareAll(client, statements);
      await emptyTable(s.t, 'due_work');
      await filled();
      expect(await tooCostly(client, statements)).toEqual([]);
    } finally {
      await client.end();
    }
  });
});
