import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  activatePlan,
  activateProduct,
  archiveCheckout,
  archivePlan,
  bindAddons,
  checkoutDetail,
  checkoutLink,
  copyPlan,
  copyProduct,
  defaultProduct,
  deleteMetric,
  deletePlan,
  deletePlanLimit,
  deleteProduct,
  editCheckout,
  editMetric,
  editPlan,
  editPlanLimit,
  editProduct,
  exchangeAmount,
  inactivateProduct,
  listCheckouts,
  listMetrics,
  listPlans,
  listProducts,
  metricDetail,
  newCheckout,
  newMetric,
  newPlan,
  newPlanLimit,
  newProduct,
  type Operation,
  planDetail,
  productDetail,
  publishCheckout,
  publishPlan,
  setDefaultCheckout,
  setupMultiCurrencies,
  unpublishPlan,
} from '@recur/contracts';
import { platformTables } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { infrastructureTables } from '../src/currencies/tables.js';
import { catalog } from '../src/service.js';

let t: TestService;
const plan = { amount: 1, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };
const theirs = { merchantId: 16 };
const nobody = { merchantId: 17 };
/** Tables made by `searchable`: no row-level security, kept by a trigger, read by `db.search` alone. */
const searchTables = ['plans_search', 'metrics_search'];
const infrastructure = infrastructureTables.map(({ table }) => table);
let their: Record<'main' | 'addon' | 'setup' | 'product' | 'checkout' | 'metric' | 'limit', number>;
let own: Record<'plan' | 'checkout' | 'metric', number>;

beforeAll(async () => {
  t = await testService(catalog);
  const main = await t.done(newPlan, { ...plan, externalPlanId: 'theirs' }, theirs);
  const addon = await t.done(newPlan, { ...plan, type: 2 }, theirs);
  const setup = await t.done(newPlan, { ...plan, type: 3 }, theirs);
  const { product } = await t.done(newProduct, {}, theirs);
  const checkout = async (caller = {}) => (await t.done(newCheckout, { name: 'theirs' }, caller)).merchantCheckout.id;
  const calls = { code: 'calls', metricName: 'Calls' };
  const { merchantMetric } = await t.done(newMetric, calls, theirs);
  const limit = { planId: main.plan.id, metricId: merchantMetric.id, metricLimit: 1 };
  const { merchantMetricPlanLimit } = await t.done(newPlanLimit, limit, theirs);
  const currencyConfigs = [{ currency: 'EUR', exchangeRate: 0.5 }];
  await t.done(setupMultiCurrencies, { multiCurrencyConfigs: [{ defaultCurrency: 'USD', currencyConfigs }] }, theirs);
  own = {
    plan: (await t.done(newPlan, plan)).plan.id,
    checkout: await checkout(),
    metric: (await t.done(newMetric, calls)).merchantMetric.id,
  };
  their = {
    main: main.plan.id,
    addon: addon.plan.id,
    setup: setup.plan.id,
    product: product.id,
    checkout: await checkout(theirs),
    metric: merchantMetric.id,
    limit: merchantMetricPlanLimit.id,
  };
  await t.emitted();
});
afterAll(() => t.close());

it("gives another merchant's ids the answer that unknown ones get, and changes nothing", async () => {
  const unknown = 9_000_000;
  const limit = (metricId: number) => ({ metricId, metricLimit: 1 });
  const named = [activatePlan, publishPlan, unpublishPlan, planDetail, archivePlan, deletePlan, copyPlan, bindAddons];
  const pairs: [Operation, object, object][] = [
    ...[newPlan, editPlan].flatMap((operation): [Operation, object, object][] => {
      const sent = operation === newPlan ? plan : { planId: own.plan };
      return [
        [operation, { ...sent, productId: their.product }, { ...sent, productId: unknown }],
        [operation, { ...sent, addonIds: [their.addon] }, { ...sent, addonIds: [unknown] }],
        [operation, { ...sent, onetimeAddonIds: [their.setup] }, { ...sent, onetimeAddonIds: [unknown] }],
        [operation, { ...sent, autoUpgradePlanId: their.main }, { ...sent, autoUpgradePlanId: unknown }],
        [operation, { ...sent, checkoutTemplateId: their.checkout }, { ...sent, checkoutTemplateId: unknown }],
        [operation, { ...sent, metricLimits: [limit(their.metric)] }, { ...sent, metricLimits: [limit(unknown)] }],
      ];
    }),
    [editPlan, { planId: their.main, planName: 'Mine' }, { planId: unknown, planName: 'Mine' }],
    ...named.flatMap((operation): [Operation, object, object][] => [
      [operation, { planId: their.main }, { planId: unknown }],
      [operation, { externalPlanId: 'theirs' }, { externalPlanId: 'nobodys' }],
    ]),
    [bindAddons, { planId: own.plan, addonIds: [their.addon] }, { planId: own.plan, addonIds: [unknown] }],
    [checkoutLink, { checkoutId: own.checkout, planId: their.main }, { checkoutId: own.checkout, planId: unknown }],
    ...[editCheckout, publishCheckout, setDefaultCheckout, archiveCheckout, checkoutDetail, checkoutLink].map(
      (operation): [Operation, object, object] => [
        operation,
        { checkoutId: their.checkout, planId: own.plan, name: 'Mine' },
        { checkoutId: unknown, planId: own.plan, name: 'Mine' },
      ],
    ),
    ...[activateProduct, editProduct, productDetail, inactivateProduct, copyProduct, deleteProduct].map(
      (operation): [Operation, object, object] => [
        operation,
        { productId: their.product, productName: 'Mine' },
        { productId: unknown, productName: 'Mine' },
      ],
    ),
    ...[editMetric, metricDetail, deleteMetric].map((operation): [Operation, object, object] => [
      operation,
      { metricId: their.metric, metricName: 'Mine' },
      { metricId: unknown, metricName: 'Mine' },
    ]),
    [newPlanLimit, { ...limit(their.metric), planId: own.plan }, { ...limit(unknown), planId: own.plan }],
    [newPlanLimit, { ...limit(own.metric), planId: their.main }, { ...limit(own.metric), planId: unknown }],
    ...[editPlanLimit, deletePlanLimit].map((operation): [Operation, object, object] => [
      operation,
      { metricPlanLimitId: their.limit, metricLimit: 2 },
      { metricPlanLimitId: unknown, metricLimit: 2 },
    ]),
  ];
  for (const [operation, foreign, none] of pairs) {
    const bytes = async (input: object) =>
      (await t.server.dispatch(operation.name, JSON.stringify(input), t.callerOf())).bytes.toString();
    const answer = await bytes(foreign);
    expect(answer).toMatch(/"slug":"(plan|product|checkout|metric|plan_limit)_not_found"/);
    expect(answer).toBe(await bytes(none));
  }
  expect(await t.emitted()).toEqual([]);
  expect(await t.rows('select distinct status, version from plans order by version')).toEqual([
    { status: 'editing', version: 1 },
    // theirs, which has got a limit
    { status: 'editing', version: 2 },
  ]);
  expect(await t.rows('select distinct version from metrics')).toEqual([{ version: 1 }]);
});

it("finds nothing of another merchant's in a list, by whatever it looks", async () => {
  for (const input of [{ planIds: [their.main] }, { productIds: [their.product] }, { searchKey: 'theirs' }, {}]) {
    expect(await t.done(listPlans, input, nobody)).toEqual({ plans: [], total: 0 });
  }
  expect(await t.done(listProducts, {}, nobody)).toEqual({ products: [defaultProduct(nobody.merchantId)], total: 1 });
  for (const input of [{}, { searchKey: 'calls' }, { searchKey: String(their.metric) }]) {
    expect(await t.done(listMetrics, input, nobody)).toEqual({ merchantMetrics: [], total: 0 });
  }
  expect((await t.done(listMetrics, { searchKey: 'calls' }, theirs)).total).toBe(1);
  expect((await t.done(listPlans, { searchKey: 'theirs' }, theirs)).total).toBe(1);
  for (const input of [{}, { SearchKey: 'theirs' }, { SearchKey: String(their.checkout) }]) {
    expect(await t.done(listCheckouts, input, nobody)).toEqual({ merchantCheckouts: [] });
  }
});

it('hides rows from a query that forgets its merchant', async () => {
  for (const name of ['plans', 'products', 'checkouts', 'metrics', 'plan_metrics', 'currency_rules']) {
    const seen = (caller: object) => t.db.read(t.callerOf(caller), reader => reader.query(`select 1 from ${name}`, []));
    expect(await seen(nobody)).toEqual([]);
    expect((await seen(theirs)).length).toBeGreaterThan(0);
  }
});

it("converts by a merchant's own rules alone", async () => {
  const input = { amount: 100, currency: 'USD' };
  expect(await t.done(exchangeAmount, input)).toEqual({ multiCurrencyConfigs: [] });
  expect((await t.done(exchangeAmount, input, theirs)).multiCurrencyConfigs).toMatchObject([{ amount: 50 }]);
});

it('secures every table of its own, against its owner too', async () => {
  const secured = await t.rows('select relname from pg_class where relrowsecurity and relforcerowsecurity');
  const names = secured.map(({ relname }) => relname);
  const tenant = catalog.schema.tables.filter(({ table }) => !infrastructure.includes(table));
  expect(tenant.filter(({ table }) => !names.includes(table))).toEqual([]);
});

it('leaves no other table open than those of the platform, of the rates and of its search', async () => {
  const open = await t.rows(`select relname from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind = 'r' and nspname = 'public' and not relrowsecurity order by relname`);
  expect(open.map(({ relname }) => relname).sort()).toEqual(
    [...platformTables, ...infrastructure, ...searchTables].sort(),
  );
});

it('keys and indexes its tenant tables by the merchant first', async () => {
  expect(await t.withoutMerchant()).toEqual([]);
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});
