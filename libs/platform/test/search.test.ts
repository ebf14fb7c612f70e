import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestService, testService } from '../src/testing/index.js';
import { newThing, sample } from './sample.js';

let t: TestService;

beforeAll(async () => {
  t = await testService(sample);
  for (const name of ['Ada Lovelace', 'Adam', 'Grace Hopper', '100 % sure', 'under_score']) {
    await t.done(newThing, { name, size: 1 });
  }
});
afterAll(() => t.close());

async function names(part: string | undefined, merchantId = 15): Promise<string[] | undefined> {
  const ids = await t.db.search(t.callerOf({ merchantId }), 'things', [{ column: 'name', field: 'name', part }]);
  return (
    ids && (await t.rows('select name from things where id = any($1) order by id', [ids])).map(row => `${row.name}`)
  );
}

describe('a search', () => {
  it('finds what holds the part, whatever its case', async () => {
    expect(await names('ADA')).toEqual(['Ada Lovelace', 'Adam']);
    expect(await names('lace')).toEqual(['Ada Lovelace']);
    expect(await names('e')).toEqual(['Ada Lovelace', 'Grace Hopper', '100 % sure', 'under_score']);
    expect(await names('nobody')).toEqual([]);
    expect(await names('')).toBeUndefined();
    expect(await names(undefined)).toBeUndefined();
  });

  it('takes every character as itself', async () => {
    expect(await names('%')).toEqual(['100 % sure']);
    expect(await names('r_s')).toEqual(['under_score']);
    expect(await names('\\')).toEqual([]);
    expect(await names(`' or true --`)).toEqual([]);
  });

  it('finds what was there before, follows changes, and stays within the merchant', async () => {
    expect(await names('searchable', 99)).toEqual(['before it was searchable']);
    await t.rows(`update things set name = 'Ida' where name = 'Adam'`);
    expect(await names('ada')).toEqual(['Ada Lovelace']);
    expect(await names('ida')).toEqual(['Ida']);
    expect(await names('ada', 16)).toEqual([]);
  });

  it('names the field of a part that fits too many', async () => {
    await t.rows(`insert into things select 17, n, 'many ' || n, 1, 1 from generate_series(1, 40_000) n`);
    await expect(names('many', 17)).rejects.toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/name' }] });
    expect(await names('many 39999', 17)).toEqual(['many 39999']);
  });

  it('is found by the index, not by looking at every row', async () => {
    await t.rows('analyze things_search');
    const plan = await t.rows(
      `explain select id from things_search where merchant_id = 17 and name ilike '%ny 7777%' limit 10001`,
    );
    expect(JSON.stringify(plan)).toContain('things_search_parts');
  });
});
