import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  activateProduct,
  editPlan,
  editProduct,
  listPlans,
  listProducts,
  newPlan,
  newProduct,
  planDetail,
  productDetail,
  publishPlan,
  unpublishPlan,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import fc from 'fast-check';
import { catalog } from '../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

const planOf = async (more: object = {}, caller = {}) => (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
const productOf = async (more: object = {}) => (await t.done(newProduct, { productName: 'Seats', ...more })).product;
const types = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
async function active(more: object = {}) {
  const plan = await planOf(more);
  await t.done(activatePlan, { planId: plan.id });
  await t.emitted();
  return plan;
}

describe('product/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    const product = await productOf({ description: 'as it was', metadata: { a: 1, b: 2 } });
    await t.emitted();
    const sent = { productId: product.id, productName: 'Chairs', status: 2, metadata: { b: 3 } };
    const { product: edited } = await t.done(editProduct, sent);
    expect(edited).toEqual({ ...product, productName: 'Chairs', status: 2, metaData: '{"b":3}' });
    expect(await types()).toEqual(['product.updated 2', 'operation.logged 1']);
    expect(await t.done(productDetail, { productId: product.id })).toEqual({ product: edited });
    expect(await t.done(editProduct, sent)).toEqual({ product: edited });
    expect(await types()).toEqual([]);
  });

  it('refuses a blank name, an unknown status and an unknown product', async () => {
    const { id: productId } = await productOf();
    const wrong = await t.call(editProduct, { productId, productName: ' ', status: 3 });
    expect(!wrong.ok && wrong.issues.map(({ path }) => path)).toEqual(['/productName', '/status']);
    expect(await t.call(editProduct, { productId: 9_999, productName: 'x' })).toMatchObject({
      slug: 'product_not_found',
    });
    expect(await t.call(editProduct, { productId }, { merchantId: 16 })).toMatchObject({ slug: 'product_not_found' });
  });

  it('edits the default product, which is there without a row; all at once, too', async () => {
    const caller = { merchantId: 21 };
    const { product } = await t.done(productDetail, { productId: 0 }, caller);
    expect(product).toMatchObject({ id: 0, merchantId: 21, productName: 'Default', status: 1 });
    await t.done(editProduct, { productId: 0, productName: 'Default' }, caller);
    expect(await types()).toEqual([]);
    const all = Array.from({ length: 16 }, (_, at) =>
      t.done(editProduct, { productId: 0, productName: `Name ${at}`, status: 2 }, caller),
    );
    await Promise.all(all);
    const events = await t.emitted();
    const versions = events.filter(({ type }) => type === 'product.updated').map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(all.map((_, at) => at + 1));
    expect((await t.done(listProducts, {}, caller)).products).toEqual([]);
    await t.done(activateProduct, { productId: 0 }, caller);
    expect(await types()).toEqual([`product.activated ${all.length + 1}`, 'operation.logged 1']);
  });
});

describe('plan/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    const plan = await planOf({ metadata: { tier: 'b' }, externalPlanId: 'basic-1' });
    const addon = await planOf({ type: 2 });
    await t.emitted();
    const sent = { planName: 'Pro', amount: 1999, addonIds: [addon.id], multiTrials: [[{ name: 'First' }]] };
    const { plan: edited } = await t.done(editPlan, { planId: plan.id, ...sent });
    expect(edited).toEqual({
      ...plan,
      ...{ planName: 'Pro', amount: 1999, bindingAddonIds: String(addon.id) },
      multiTrials: [expect.objectContaining({ name: 'First' })],
    });
    expect(await types()).toEqual(['plan.updated 2', 'operation.logged 1']);
    await t.done(editPlan, { planId: plan.id, ...sent });
    expect(await types()).toEqual([]);
  });

  it('checks what is sent as a new plan would be', async () => {
    const { id: planId } = await planOf();
    const other = await planOf({ externalPlanId: 'taken' });
    expect(await t.call(editPlan, { planId, externalPlanId: 'taken' })).toMatchObject({
      issues: [{ path: '/externalPlanId' }],
    });
    expect(await t.call(editPlan, { planId, addonIds: [other.id] })).toMatchObject({
      issues: [{ path: '/addonIds/0' }],
    });
    expect(await t.call(editPlan, { planId, addonIds: [9_999] })).toMatchObject({ slug: 'plan_not_found' });
    expect(await t.call(editPlan, { planId, productId: 9_999 })).toMatchObject({ slug: 'product_not_found' });
    expect(await t.call(editPlan, { planId, intervalUnit: 'year', intervalCount: 2 })).toMatchObject({
      issues: [{ path: '/intervalCount' }],
    });
    // the stored count is too large for the unit that is sent
    await t.done(editPlan, { planId, intervalUnit: 'day', intervalCount: 300 });
    expect(await t.call(editPlan, { planId, intervalUnit: 'week' })).toMatchObject({
      issues: [{ path: '/intervalCount' }],
    });
    expect(await t.call(editPlan, { planId: 9_999 })).toMatchObject({ slug: 'plan_not_found' });
    expect(await t.call(editPlan, { planId }, { merchantId: 16 })).toMatchObject({ slug: 'plan_not_found' });
  });

  it('never changes price, currency or interval of an active plan, whatever is sent', async () => {
    const { id: planId } = await active();
    const frozen = {
      amount: fc.nat(2_000),
      currency: fc.constantFrom('USD', 'EUR', 'usd'),
      intervalUnit: fc.constantFrom('day', 'month', ''),
      intervalCount: fc.nat(12),
    };
    const free = {
      planName: fc.constantFrom('Basic', 'Pro'),
      description: fc.constantFrom('', 'text'),
      trialAmount: fc.nat(3),
    };
    await fc.assert(
      fc.asyncProperty(fc.record({ ...frozen, ...free }, { requiredKeys: [] }), async sent => {
        const same = { ...monthly, ...sent, currency: (sent.currency ?? 'USD').toUpperCase() };
        const changes = Object.keys(frozen).filter(
          field => same[field as keyof typeof same] !== monthly[field as keyof typeof monthly],
        );
        const result = await t.call(editPlan, { planId, ...sent });
        if (changes.length > 0) {
          expect(result).toMatchObject({ slug: 'plan_frozen', message: expect.stringContaining(changes.join(', ')) });
        } else {
          expect(result.ok).toBe(true);
        }
        expect((await t.done(planDetail, { planId })).plan.plan).toMatchObject({
          amount: 999,
          currency: 'USD',
          intervalUnit: 'month',
          intervalCount: 1,
        });
      }),
      { numRuns: 60 },
    );
  });

  it('and plan/activate at once come one after the other, 64 times', async () => {
    const made = await Promise.all(Array.from({ length: 64 }, () => planOf()));
    await t.emitted();
    const results = await Promise.all(
      made.map(({ id: planId }) =>
        Promise.all([t.call(editPlan, { planId, amount: 5 }), t.call(activatePlan, { planId })]),
      ),
    );
    const events = await t.emitted();
    for (const [at, { id: planId }] of made.entries()) {
      const [edited, activated] = results[at] ?? [];
      const own = events.filter(({ aggregateId, aggregate }) => aggregate === 'plan' && aggregateId === String(planId));
      const order = own.map(({ type, version }) => `${type} ${version}`).join();
      expect(activated?.ok).toBe(true);
      expect([edited?.ok, order]).toEqual(
        edited?.ok ? [true, 'plan.updated 2,plan.activated 3'] : [false, 'plan.activated 2'],
      );
      expect((await t.done(planDetail, { planId })).plan.plan).toMatchObject({
        status: 2,
        amount: edited?.ok ? 5 : 999,
      });
    }
  });
});

describe('plan/publish and plan/unpublished', () => {
  it('show an active plan, and show it no more; once each', async () => {
    const plan = await active({ externalPlanId: 'shown' });
    await t.done(publishPlan, { externalPlanId: 'shown' });
    await t.done(publishPlan, { planId: plan.id });
    expect(await types()).toEqual(['plan.published 3', 'operation.logged 1']);
    expect((await t.done(planDetail, { planId: plan.id })).plan.plan.publishStatus).toBe(2);
    await t.done(unpublishPlan, { planId: plan.id });
    await t.done(unpublishPlan, { planId: plan.id });
    expect(await types()).toEqual(['plan.unpublished 4', 'operation.logged 1']);
  });

  it('refuse a plan that is not active, and one that nobody has', async () => {
    const { id: planId } = await planOf();
    await t.emitted();
    expect(await t.call(publishPlan, { planId })).toMatchObject({
      slug: 'plan_not_active',
      message: expect.stringContaining('editing'),
    });
    for (const operation of [publishPlan, unpublishPlan]) {
      expect(await t.call(operation, { planId }, { merchantId: 16 })).toMatchObject({ slug: 'plan_not_found' });
      expect(await t.call(operation, {})).toMatchObject({ slug: 'invalid_parameters' });
    }
    expect(await types()).toEqual([]);
  });
});

describe('plan/detail and the lists', () => {
  const caller = { merchantId: 30 };

  it('show a plan with its product and add-ons', async () => {
    const product = await productOf();
    const addon = await planOf({ type: 2 });
    const setup = await planOf({ type: 3 });
    const plan = await planOf({ productId: product.id, addonIds: [addon.id], onetimeAddonIds: [setup.id] });
    const detail = (await t.done(planDetail, { planId: String(plan.id) })).plan;
    expect(detail).toMatchObject({ plan, product, addonIds: [addon.id], onetimeAddonIds: [setup.id] });
    expect([detail.addons, detail.onetimeAddons]).toEqual([[addon], [setup]]);
    expect((await t.done(planDetail, { planId: addon.id })).plan.product).toMatchObject({
      id: 0,
      productName: 'Default',
    });
    expect(await t.call(planDetail, { planId: plan.id, externalPlanId: 'other' })).toMatchObject({
      issues: [{ path: '/externalPlanId' }],
    });
  });

  it('filter, sort and page', async () => {
    const { product } = await t.done(newProduct, { productName: 'Team' }, caller);
    const first = await planOf({ planName: 'Solo 100 %', amount: 300 }, caller);
    const second = await planOf(
      { planName: 'Team', productId: product.id, amount: 100, currency: 'EUR', externalPlanId: 'ext-T' },
      caller,
    );
    const third = await planOf({ planName: 'Year', intervalUnit: 'year', type: 1, amount: 200 }, caller);
    const addon = await planOf({ planName: 'Seat', type: 2, intervalUnit: 'week', intervalCount: 2 }, caller);
    await t.done(activatePlan, { planId: third.id }, caller);
    await t.done(publishPlan, { planId: third.id }, caller);
    const ids = async (input: object) => (await t.done(listPlans, input, caller)).plans.map(({ plan }) => plan.id);
    expect(await ids({})).toEqual([addon.id, third.id, second.id, first.id]);
    expect(await ids({ sortField: 'amount', sortType: 'asc' })).toEqual([second.id, third.id, first.id, addon.id]);
    expect(await ids({ sortField: 'planName', count: 2 })).toEqual([third.id, second.id]);
    expect(await ids({ page: 1, count: 3 })).toEqual([first.id]);
    const filters: [object, number[]][] = [
      [{ planIds: `${first.id},${third.id}` }, [third.id, first.id]],
      [{ productIds: [product.id] }, [second.id]],
      [{ productIds: [0], type: [1] }, [third.id, first.id]],
      [{ type: '2' }, [addon.id]],
      [{ status: [2] }, [third.id]],
      [{ status: [99] }, []],
      [{ publishStatus: 2 }, [third.id]],
      [{ currency: 'eur' }, [second.id]],
      [{ intervalUnits: 'year,week' }, [addon.id, third.id]],
      [{ intervalCounts: [2] }, [addon.id]],
      [{ billingIntervalMin: '2week' }, [addon.id, third.id, second.id, first.id]],
      [{ billingIntervalMin: 'month' }, [third.id, second.id, first.id]],
      [{ billingIntervalMin: '2month' }, [third.id]],
      [{ searchKey: '100 %' }, [first.id]],
      [{ searchKey: 'EXT-t' }, [second.id]],
      [{ searchKey: String(first.id) }, expect.arrayContaining([first.id]) as never],
      [{ searchKey: 'nothing' }, []],
    ];
    for (const [input, expected] of filters) expect([input, await ids(input)]).toEqual([input, expected]);
    expect(await t.call(listPlans, { billingIntervalMin: 'fortnight' }, caller)).toMatchObject({
      issues: [{ path: '/billingIntervalMin' }],
    });
    expect(await t.done(listProducts, { status: [1], sortField: 'productName' }, caller)).toEqual({
      products: [product],
      total: 1,
    });
    expect(await t.done(listProducts, { status: '2' }, caller)).toEqual({ products: [], total: 0 });
  });
});
