import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { plainArrays } from '../src/store/paths/paths.js';
import { rowsValues } from '../src/store/sql/rows.js';
import { saveText } from '../src/store/sql/statements.js';
import { type TestService, testService } from '../src/testing/index.js';
import { sample, things } from './sample.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(sample);
});
afterAll(() => t.close());

it('an update finds its rows by their keys, however many rows the merchant has', async () => {
  await t.rows(`insert into things select 18, n, 'thing ' || n, 5, 1 from generate_series(1, 20000) n`);
  await t.rows('analyze things');
  const rows = [7, 8].map(id => ({ row: { merchantId: 18, id, name: `other ${id}`, size: 6 }, version: 2 }));
  const values = rowsValues(things, rows, plainArrays);
  const owner = await t.owner();
  await owner.query(`begin; set local app.merchant_id = '18'; set local plan_cache_mode = force_generic_plan`);
  const query = { text: `explain ${saveText(things, 'update')}`, values, name: 'saved' };
  const plan = (await owner.query(query)).rows.map(row => row['QUERY PLAN']).join('\n');
  await owner.query('rollback');
  await owner.end();
  expect(plan).toMatch(/Index Cond: \(.*merchant_id.* AND \(id = r\.id\)\)/);
  expect(plan).not.toContain('Seq Scan');
});
