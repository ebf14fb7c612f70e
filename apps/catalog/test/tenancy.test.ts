import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { activatePlan, newPlan, newProduct } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../src/service.js';

let t: TestService;
const plan = { amount: 1, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };
const theirs = { merchantId: 16 };
let their: { main: number; addon: number; setup: number; product: number };

beforeAll(async () => {
  t = await testService(catalog);
  const main = await t.done(newPlan, { ...plan, externalPlanId: 'theirs' }, theirs);
  const addon = await t.done(newPlan, { ...plan, type: 2 }, theirs);
  const setup = await t.done(newPlan, { ...plan, type: 3 }, theirs);
  const { product } = await t.done(newProduct, {}, theirs);
  their = { main: main.plan.id, addon: addon.plan.id, setup: setup.plan.id, product: product.id };
  await t.emitted();
});
afterAll(() => t.close());

it("gives another merchant's ids the answer that unknown ones get, and changes nothing", async () => {
  const unknown = 9_000_000;
  const pairs: [typeof newPlan | typeof activatePlan, object, object][] = [
    [newPlan, { ...plan, productId: their.product }, { ...plan, productId: unknown }],
    [newPlan, { ...plan, addonIds: [their.addon] }, { ...plan, addonIds: [unknown] }],
    [newPlan, { ...plan, onetimeAddonIds: [their.setup] }, { ...plan, onetimeAddonIds: [unknown] }],
    [newPlan, { ...plan, autoUpgradePlanId: their.main }, { ...plan, autoUpgradePlanId: unknown }],
    [activatePlan, { planId: their.main }, { planId: unknown }],
    [activatePlan, { externalPlanId: 'theirs' }, { externalPlanId: 'nobodys' }],
  ];
  for (const [operation, foreign, none] of pairs) {
    const bytes = async (input: object) =>
      (await t.dispatcher.dispatch(operation.name, JSON.stringify(input), t.callerOf())).bytes.toString();
    const answer = await bytes(foreign);
    expect(answer).toMatch(/"slug":"(plan|product)_not_found"/);
    expect(answer).toBe(await bytes(none));
  }
  expect(await t.emitted()).toEqual([]);
  expect(await t.rows('select distinct status, version from plans')).toEqual([{ status: 'editing', version: 1 }]);
});

it('hides rows from a query that forgets its merchant', async () => {
  for (const name of ['plans', 'products']) {
    const seen = (caller: object) =>
      t.db.read(t.callerOf(caller), reader => reader.query(`select id from ${name}`, []));
    expect(await seen({})).toEqual([]);
    expect((await seen(theirs)).length).toBeGreaterThan(0);
  }
});

it('secures every table of its own, against its owner too', async () => {
  const secured = await t.rows('select relname from pg_class where relrowsecurity and relforcerowsecurity');
  const names = secured.map(({ relname }) => relname);
  expect(catalog.schema.tables.filter(({ options }) => !names.includes(options.tableName))).toEqual([]);
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});
