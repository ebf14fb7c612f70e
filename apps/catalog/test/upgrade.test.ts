import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listPlans, listProducts } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../src/service.js';

const { tables, migrations } = catalog.schema;
const before = migrations.slice(0, 2);

let t: TestService;
beforeAll(async () => {
  t = await testService({ ...catalog, schema: { tables, migrations: before } });
  await t.rows(`insert into plans select 15, n, 1, 'active', 'published', 'main', 0, (array['Pro', 'basic'])[n], '', '', '',
    'USD', 999, 0, 'month', 1, 0, 0, '', false, false, 'user', '', '', '', 0, 0, '{}', '{}', '', '', 1000, 1000, '{}',
    '[]', '[]', '[]', '[]', '[]', null from generate_series(1, 2) n`);
  await t.rows(`insert into products select 15, n, 1, 'active', (array['Pro', 'basic'])[n], '', '', '', '{}', null, 1000,
    1000, 0 from generate_series(1, 2) n`);
  // as the owner, whom row-level security binds, too
  const query = (text: string) => t.rows(`set role catalog_owner; ${text}; reset role`);
  for (const Migration of migrations.slice(before.length)) await new Migration().up({ query } as never);
});
afterAll(() => t.close());

it('a database from before becomes what the tables are mapped to', async () => {
  expect(await t.drift()).toEqual([]);
});

it('its plans are sorted and searched by their names', async () => {
  const names = async (input: object) => (await t.done(listPlans, input)).plans.map(({ plan }) => plan.planName);
  expect(await names({ sortField: 'planName', sortType: 'asc' })).toEqual(['basic', 'Pro']);
  expect(await names({ searchKey: 'PRO' })).toEqual(['Pro']);
});

it('its products are sorted by their names', async () => {
  const { products } = await t.done(listProducts, { sortField: 'productName', sortType: 'asc' });
  expect(products.map(({ productName }) => productName)).toEqual(['basic', 'Default', 'Pro']);
});
