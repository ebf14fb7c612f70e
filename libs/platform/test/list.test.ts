import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { integer, money, table, text } from '../src/index.js';
import { Session } from '../src/store/session.js';
import { type TestService, testService } from '../src/testing/index.js';
import { listThings, sample, things } from './sample.js';

let t: TestService;
const first = { page: 0, count: 20 };

interface Explained {
  'QUERY PLAN': [{ Plan: Record<string, number> }];
}

beforeAll(async () => {
  t = await testService(sample);
  // merchant 15: ids 1 to 50, sizes 1 to 5; merchant 16 has many, so that totals are capped
  await t.rows(`insert into things select 15, n, 'thing ' || n, n % 5 + 1, 1 from generate_series(1, 50) n`);
  await t.rows(`insert into things select 16, n, 'other ' || n, n, 1 from generate_series(1, 10_050) n`);
});
afterAll(() => t.close());

describe.each([{ sparse: false }, { sparse: true }])('a list, %j', ({ sparse }) => {
  const list = (input: object, merchantId = 15) => t.done(listThings, { ...first, sparse, ...input }, { merchantId });

  it('shows each entry once, whatever the page and the order', async () => {
    for (const order of [{}, { sortField: 'size' }, { sortField: 'size', sortType: 'asc' }, { sortType: 'asc' }]) {
      const pages = await Promise.all([0, 1, 2].map(page => list({ ...order, page })));
      const ids = pages.flatMap(page => page.ids);
      expect(ids).toHaveLength(50);
      expect(new Set(ids).size).toBe(50);
      expect(pages.map(({ total }) => total)).toEqual([50, 50, 50]);
    }
    expect((await list({})).ids.slice(0, 3)).toEqual([50, 49, 48]);
    expect((await list({ sortField: 'size', count: 3 })).ids).toEqual([49, 44, 39]);
    expect((await list({ sortField: 'size', sortType: 'asc', count: 3 })).ids).toEqual([5, 10, 15]);
  });

  it('filters by what is given, and shows no row of another merchant', async () => {
    expect(await list({ sizes: [1, 2], name: 'thing 1%' })).toEqual({ ids: [16, 15, 11, 10, 1], total: 5 });
    expect(await list({ sizes: [], name: '' })).toMatchObject({ total: 50 });
    expect(await list({ sizes: [1, 1] })).toEqual(await list({ sizes: [1] }));
    expect(await list({ name: 'other%' })).toEqual({ ids: [], total: 0 });
    expect(await list({ name: `' or true --` })).toEqual({ ids: [], total: 0 });
  });

  it('shows the same pages whether values are looked for one by one or together', async () => {
    const sizes = [1, 2, 3, 4, 5];
    for (const order of [{}, { sortField: 'size' }, { sortField: 'size', sortType: 'asc' }, { sortType: 'asc' }]) {
      for (const page of [0, 1, 2]) {
        const together = await list({
          ...order,
          page,
          sizes: [...sizes, ...Array.from({ length: 20 }, (_, n) => 100 + n)],
        });
        expect(await list({ ...order, page, sizes })).toEqual(together);
        expect(together.ids).toHaveLength(page === 2 ? 10 : 20);
      }
    }
    expect(await list({ sizes: [3], page: 1, count: 4 })).toEqual({ ids: [27, 22, 17, 12], total: 10 });
    expect(await list({ sizes: [3], page: 5, count: 4 })).toEqual({ ids: [], total: 10 });
  });

  it('counts up to the last entry that a page can show', async () => {
    expect(await list({}, 16)).toMatchObject({ total: 10_000 });
    expect(await list({ sizes: [7, 8] }, 16)).toEqual({ ids: [8, 7], total: 2 });
  });

  it('gives its connection back, also when it fails', async () => {
    await t.rows('alter table things rename column size to extent');
    expect(await t.call(listThings, { ...first, sparse })).toMatchObject({ slug: 'internal_error' });
    await t.rows('alter table things rename column extent to size');
    const many = await Promise.all(Array.from({ length: 20 }, () => list({})));
    expect(many.map(({ total }) => total)).toEqual(Array.from({ length: 20 }, () => 50));
  });
});

it('a list of which it is known how many fit shows the same pages, met or collected, and counts nothing', async () => {
  const list = (input: object) => t.done(listThings, { ...first, sizes: [3], count: 4, ...input });
  for (const among of [10, 1_000_000]) {
    for (const page of [0, 1, 2, 3]) {
      expect(await list({ page, known: { fitting: 10, among } })).toEqual(await list({ page }));
    }
    expect((await list({ known: { fitting: 7, among } })).total).toBe(7);
    expect((await list({ known: { fitting: 20_000, among } })).total).toBe(10_000);
  }
  expect(await list({ known: { fitting: 0, among: 50 } })).toEqual({ ids: [], total: 0 });
});

it('the rows of a page are found by an index that holds only for what the list shows', async () => {
  await t.rows('create index things_large on things (merchant_id, size) where size > 100');
  await t.rows('vacuum analyze things');
  const asked = jest.spyOn(Session.prototype, 'queryUnprepared');
  await t.db.read(t.callerOf({ merchantId: 16 }), reader =>
    reader.page({ from: things, where: [['size > ?', 100]], order: 'size desc', ...first }),
  );
  const [[text, values]] = asked.mock.calls as unknown as [[string, unknown[]]];
  asked.mockRestore();
  const found = await t.rows(`explain (analyze, buffers, format json) ${text}`, values);
  const plan = (found as unknown as [Explained])[0]['QUERY PLAN'][0].Plan;
  expect(plan).toMatchObject({ 'Actual Rows': 20 });
  // three for each row; a merchant's rows are on some eighty pages
  expect(plan['Shared Hit Blocks']).toBeLessThan(70);
  await t.rows('drop index things_large');
});

it('what is one of many values is collected, for it may lie far from the first page', async () => {
  const once = jest.spyOn(Session.prototype, 'queryUnprepared');
  const sizes = (last: number) => ({ sizes: Array.from({ length: last }, (_, at) => at + 1) });
  const pages = [];
  for (const last of [24, 25]) {
    pages.push(await t.done(listThings, { ...first, ...sizes(last) }));
    expect(once.mock.calls.splice(0).some(([text]) => text.includes('fitting as materialized'))).toBe(last > 24);
  }
  once.mockRestore();
  expect(pages[1]).toEqual(pages[0]);
});

it('rows among values are found each once, and no other merchant has them', async () => {
  const among = (merchantId: number, property: 'id' | 'name', values: (number | string)[]) =>
    t.db.read(t.callerOf({ merchantId }), async reader => {
      const rows = await reader.among(things, property, values);
      return rows.map(({ id }) => id).sort((a, b) => a - b);
    });
  expect(await among(15, 'id', [3, 1, 3, 9_000])).toEqual([1, 3]);
  expect(await among(15, 'name', ['thing 7', 'other 7'])).toEqual([7]);
  expect(await among(17, 'id', [1, 3])).toEqual([]);
  expect(await among(15, 'id', [])).toEqual([]);
});

it('rows among values are found whatever a table calls its columns', async () => {
  interface Odd {
    merchantId: number;
    asked: number;
    found: string;
    value: bigint;
  }
  const odd = table<Odd>('odd', {
    key: ['merchantId', 'asked'],
    columns: { merchantId: integer(), asked: integer(), found: text(), value: money() },
  });
  await t.rows(`create view odd with (security_invoker) as
    select merchant_id, id as asked, name as found, size as value from things`);
  await t.rows('grant select on odd to public');
  await t.db.read(t.callerOf({ merchantId: 15 }), async reader => {
    expect(await reader.among(odd, 'found', ['thing 7', 'other 7'])).toMatchObject([{ asked: 7, value: 3n }]);
    expect(await reader.among(odd, 'asked', [8])).toMatchObject([{ found: 'thing 8' }]);
  });
});

it('a sparse list of which too much fits to be collected is met along the index of its order', async () => {
  await t.rows('alter table things disable trigger user');
  await t.rows(`insert into things select 17, n, 'many ' || n, n % 2, 1 from generate_series(1, 100_001) n`);
  const all = { page: 499, count: 20, sparse: true };
  const { ids, total } = await t.done(listThings, { ...all, sizes: [0, 1] }, { merchantId: 17 });
  expect([ids[0], ids.length, total]).toEqual([90_021, 20, 10_000]);
  const even = await t.done(listThings, { ...all, sizes: [0] }, { merchantId: 17 });
  expect([even.ids[0], even.total]).toEqual([80_040, 10_000]);
});
