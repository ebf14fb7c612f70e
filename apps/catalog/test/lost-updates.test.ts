import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  activateProduct,
  addonsAction,
  archiveCheckout,
  archivePlan,
  bindAddons,
  copyPlan,
  copyProduct,
  deleteMetric,
  deletePlan,
  deletePlanLimit,
  deleteProduct,
  editCheckout,
  editMetric,
  editPlan,
  editPlanLimit,
  editProduct,
  inactivateProduct,
  newCheckout,
  newMetric,
  newPlan,
  newPlanLimit,
  newProduct,
  type Operation,
  operations,
  publishCheckout,
  publishPlan,
  setDefaultCheckout,
  setupMultiCurrencies,
  unpublishPlan,
} from '@recur/contracts';
import { merchantState, type TestService, testService, unserializable } from '@recur/platform/testing';
import { catalog } from '../src/service.js';

let t: TestService;
let merchants = 100;

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());

interface Of {
  merchantId: number;
}
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };
const productOf = async (of: Of, more: object = {}) =>
  (await t.done(newProduct, { productName: 'Seats', ...more }, of)).product.id;
const checkoutOf = async (of: Of) =>
  (await t.done(newCheckout, { name: 'Plain', stagingData: { title: 'Next' } }, of)).merchantCheckout.id;
const metricOf = async (of: Of, code = 'calls') =>
  (await t.done(newMetric, { code, metricName: 'Calls' }, of)).merchantMetric.id;
const planOf = async (of: Of, more: object = {}) => (await t.done(newPlan, { ...monthly, ...more }, of)).plan.id;
const activeOf = async (of: Of) => {
  const planId = await planOf(of);
  await t.done(activatePlan, { planId }, of);
  return planId;
};
const limitsOf = async (of: Of) => {
  const [planId, one, other] = [await planOf(of), await metricOf(of, 'one'), await metricOf(of, 'other')];
  const limitOf = async (metricId: number) =>
    (await t.done(newPlanLimit, { planId, metricId, metricLimit: 1 }, of)).merchantMetricPlanLimit.id;
  return [await limitOf(one), await limitOf(other)] as const;
};

/** The inputs of the two commands, about new objects of a merchant. */
type Inputs = (of: Of) => Promise<readonly [object, object]>;
const twice = (input: object) => [input, input] as const;

/** Every command that reads before it writes. */
const commands: readonly (readonly [Operation, Inputs])[] = [
  [activateProduct, async of => twice({ productId: await productOf(of, { status: 2 }) })],
  [inactivateProduct, async of => twice({ productId: await productOf(of) })],
  [deleteProduct, async of => twice({ productId: await productOf(of) })],
  [copyProduct, async of => twice({ productId: await productOf(of) })],
  [
    editProduct,
    async of => {
      const productId = await productOf(of);
      return [
        { productId, productName: 'Chairs' },
        { productId, description: 'To sit on' },
      ];
    },
  ],
  [
    editCheckout,
    async of => {
      const checkoutId = await checkoutOf(of);
      return [
        { checkoutId, name: 'Fancy' },
        { checkoutId, description: 'With colours' },
      ];
    },
  ],
  [publishCheckout, async of => twice({ checkoutId: await checkoutOf(of) })],
  [archiveCheckout, async of => twice({ checkoutId: await checkoutOf(of) })],
  [setDefaultCheckout, async of => [{ checkoutId: await checkoutOf(of) }, { checkoutId: await checkoutOf(of) }]],
  [
    editMetric,
    async of => {
      const metricId = await metricOf(of);
      return [
        { metricId, metricName: 'Requests' },
        { metricId, metricName: 'Calls', metricDescription: 'Of the API' },
      ];
    },
  ],
  [deleteMetric, async of => twice({ metricId: await metricOf(of) })],
  [
    editPlan,
    async of => {
      const planId = await planOf(of);
      return [
        { planId, amount: 5 },
        { planId, internalName: 'Cheap' },
      ];
    },
  ],
  [activatePlan, async of => twice({ planId: await planOf(of, { addonIds: [await planOf(of, { type: 2 })] }) })],
  [publishPlan, async of => twice({ planId: await activeOf(of) })],
  [
    unpublishPlan,
    async of => {
      const planId = await activeOf(of);
      await t.done(publishPlan, { planId }, of);
      return twice({ planId });
    },
  ],
  [
    archivePlan,
    async of => {
      const planId = await activeOf(of);
      return [{ planId }, { planId, hardArchive: true }];
    },
  ],
  [deletePlan, async of => twice({ planId: await planOf(of) })],
  [copyPlan, async of => twice({ planId: await planOf(of) })],
  [
    bindAddons,
    async of => {
      const [planId, action] = [await activeOf(of), addonsAction.add];
      return [
        { planId, action, addonIds: [await planOf(of, { type: 2 })] },
        { planId, action, addonIds: [await planOf(of, { type: 2 })] },
      ];
    },
  ],
  [
    newPlanLimit,
    async of => {
      const planId = await planOf(of);
      return [
        { planId, metricId: await metricOf(of, 'one'), metricLimit: 1 },
        { planId, metricId: await metricOf(of, 'other'), metricLimit: 1 },
      ];
    },
  ],
  [
    editPlanLimit,
    async of => {
      const [one, other] = await limitsOf(of);
      return [
        { metricPlanLimitId: one, metricLimit: 2 },
        { metricPlanLimitId: other, metricLimit: 3 },
      ];
    },
  ],
  [
    deletePlanLimit,
    async of => {
      const [one, other] = await limitsOf(of);
      return [{ metricPlanLimitId: one }, { metricPlanLimitId: other }];
    },
  ],
  [
    setupMultiCurrencies,
    async () => {
      const setOf = (defaultCurrency: string) => ({ multiCurrencyConfigs: [{ defaultCurrency, currencyConfigs: [] }] });
      return [setOf('USD'), setOf('EUR')];
    },
  ],
];

/** These only add: what must be certain of them is a unique index, a trigger or a lock on what they refer to. */
const additions = ['product.new', 'plan.new', 'checkout.new_checkout', 'metric.new'];

/** Billing answers a question in between: plans/price-changes.test.ts has 64 of one plan at once. */
const elsewhere = ['plan.active_price_change_confirm'];

const tables = ['products', 'plans', 'checkouts', 'metrics', 'plan_metrics', 'currency_rules'];
const unlike = ['id', 'merchant_id', 'plan_id', 'metric_id', 'metricId', 'checkout_url', 'addon_ids'];

describe('a command that reads before it writes, twice at once', () => {
  it.each(commands.map(([operation, inputs]) => ({ name: operation.name, operation, inputs })))(
    '$name: ends as if one had come after the other',
    async ({ operation, inputs }) => {
      const found = await unserializable(async () => {
        const of = { merchantId: ++merchants };
        const [one, other] = await inputs(of);
        return {
          commands: [() => t.call(operation, one, of), () => t.call(operation, other, of)],
          state: () => merchantState(t, of.merchantId, { tables, unlike }),
        };
      });
      expect(found).toEqual([]);
    },
  );

  it('is each of the service', () => {
    const all = operations.filter(({ service, effect }) => service === 'catalog' && effect === 'write');
    expect([...commands.map(([{ name }]) => name), ...additions, ...elsewhere].sort()).toEqual(
      all.map(({ name }) => name).sort(),
    );
  });
});
