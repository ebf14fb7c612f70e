import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { binaryArrays } from '../src/store/paths/binary-arrays.js';
import { plainArrays } from '../src/store/paths/paths.js';
import { createPool } from '../src/store/pool.js';
import { rowsAmong, rowsWhere } from '../src/store/reads/reads.js';
import {
  document,
  encoded,
  flag,
  hydrate,
  int,
  integer,
  integers,
  money,
  optionalDocument,
  optionalInteger,
  optionalText,
  shown,
  type Table,
  table,
  text,
  texts,
} from '../src/store/schema/table.js';
import type { Source } from '../src/store/session.js';
import type { Arrays } from '../src/store/sql/arrays.js';
import { rowsText, rowsValues, rowsWidth } from '../src/store/sql/rows.js';

interface Every {
  id: number;
  small: number;
  amount: bigint;
  name: string;
  note: string | null;
  at: number | null;
  on: boolean;
  words: string[];
  ids: number[];
  shape: unknown;
  plan: unknown;
  level: 'low' | 'high';
  version: number;
}

const level = encoded<Every['level'], number>(int(), 'level_code', {
  decode: code => (code === 1 ? 'high' : 'low'),
  encode: value => ({ low: 0, high: 1 })[value],
});
const every = table<Every>('every', {
  key: ['id'],
  columns: {
    id: integer(),
    small: int(),
    amount: money(),
    name: text(),
    note: optionalText(),
    at: optionalInteger(),
    on: flag(),
    words: texts(),
    ids: integers(),
    shape: document(),
    plan: optionalDocument(),
    level,
    version: int(),
  },
});
const counts = table<{ merchantId: number; n: number }>('counts', {
  key: ['merchantId'],
  columns: { merchantId: integer(), n: int() },
});
const names = table<{ name: string }>('names', { key: ['name'], columns: { name: text() } });

const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
afterAll(() => pool.end());

async function through<T>(arrays: Arrays, of: Table<T>, rows: readonly T[], version = 0): Promise<T[]> {
  const values = rowsValues(
    of,
    rows.map(row => ({ row, version })),
    arrays,
  );
  expect(values).toHaveLength(rowsWidth(of));
  const list = of.columns.map(({ column }) => `r.${column}`).join(', ');
  const types = of.columns.map(({ column, type }) => `"${column}" ${type}`).join(', ');
  const client = await pool.connect();
  try {
    await client.query(`begin; create temporary table written (${types}, place serial)`);
    await client.query(`insert into written select ${list} from ${rowsText(of, 1)}`, values);
    const { rows: read } = await client.query('select * from written order by place');
    return read.map(row => hydrate(of, row));
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Texts without NUL, which PostgreSQL does not take; some of about the length from which they are written otherwise. */
const words = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary', minLength: 60, maxLength: 70 }),
  fc.string({ unit: 'binary-ascii', minLength: 60, maxLength: 70 }),
  fc.constantFrom('', '{}', 'null', '"', '\\', 'a,b', '\n', 'é'),
);
const said = words.map(word => word.replaceAll('\0', ''));
const whole = fc.maxSafeInteger();
const row: fc.Arbitrary<Every> = fc.record({
  id: whole,
  small: fc.integer(),
  amount: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  name: said,
  note: fc.option(said),
  at: fc.option(whole),
  on: fc.boolean(),
  words: fc.array(said, { maxLength: 4 }),
  ids: fc.array(whole, { maxLength: 4 }),
  shape: fc.record({ name: said, n: fc.integer() }),
  plan: fc.option(fc.constantFrom([], {}, 'text', 5, true)),
  level: fc.constantFrom('low' as const, 'high' as const),
  version: fc.constant(7),
});

describe.each([
  ['in binary', binaryArrays],
  ['in text', plainArrays],
])('rows %s', (_, arrays) => {
  it('of every type reach the database as they are, in their order, and with the version that is given', async () => {
    const some = fc.array(row, { minLength: 1, maxLength: 6 });
    await fc.assert(fc.asyncProperty(some, async rows => expect(await through(arrays, every, rows, 7)).toEqual(rows)));
  });

  it('may be of whole numbers, or of texts, alone', async () => {
    const tallies = [
      { merchantId: 1, n: 5 },
      { merchantId: 2, n: -6 },
    ];
    expect(await through(arrays, counts, tallies)).toEqual(tallies);
    expect(await through(arrays, names, [{ name: 'a' }, { name: '' }])).toEqual([{ name: 'a' }, { name: '' }]);
    expect(await through(arrays, names, [])).toEqual([]);
  });

  it.each([2 ** 63, 1.5, 1e300, 2n ** 63n, -(2n ** 63n) - 1n, Number.NaN, null, undefined, 'five'])(
    'with %p for a whole number are refused',
    n => {
      const write = () => rowsValues(counts, [{ row: { merchantId: 1, n }, version: 0 }], arrays);
      expect(write).toThrow(/64 bits|BigInt/);
    },
  );

  it('with a number that is too large for its column are refused by the database', async () => {
    await expect(through(arrays, counts, [{ merchantId: 1, n: 2 ** 31 }])).rejects.toThrow('integer out of range');
  });
});

it('are found by a column that holds its value in other words, by one value and by several', async () => {
  interface Rated {
    merchantId: number;
    id: number;
    level: Every['level'];
  }
  const rated = table<Rated>('rated', {
    key: ['merchantId', 'id'],
    columns: { merchantId: integer(), id: int(), level },
  });
  const client = await pool.connect();
  try {
    await client.query('begin; create temporary table rated (merchant_id bigint, id integer, level_code integer)');
    await client.query('insert into rated values (1, 1, 0), (1, 2, 1), (1, 3, 0), (2, 4, 1)');
    const query: Source['query'] = async (sql, values) => (await client.query(sql, [...values])).rows;
    const source: Source = { merchantId: 1, query };
    const ids = (rows: readonly Rated[]) => rows.map(({ id }) => id);
    expect(ids(await rowsWhere(source, rated, { level: 'low' }, 'order by id'))).toEqual([1, 3]);
    expect(ids(await rowsAmong(source, rated, 'level', ['high']))).toEqual([2]);
    expect(ids(await rowsAmong(source, rated, 'level', ['high', 'low'])).sort()).toEqual([1, 2, 3]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

it('of an object that was kept before its shape grew are read with the fields it lacks, empty, at any depth', () => {
  const step = z.object({ at: z.number(), unit: z.string() });
  const shape = z.object({ name: z.string(), change: step.nullable(), steps: z.array(step) });
  const of = table<{ view: z.output<typeof shape> }>('views', { key: [], columns: { view: shown(shape) } });
  expect(hydrate(of, { view: { name: 'kept', steps: [{ at: 3 }] } })).toEqual({
    view: { name: 'kept', change: null, steps: [{ at: 3, unit: '' }] },
  });
});
