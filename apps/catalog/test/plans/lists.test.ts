import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  defaultProduct,
  editPlan,
  listPlans,
  listProducts,
  newPlan,
  newProduct,
  planDetail,
  publishPlan,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());

const planOf = async (more: object = {}, caller = {}) => (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
const productOf = async (more: object = {}) => (await t.done(newProduct, { productName: 'Seats', ...more })).product;
const idsOf = async (input: object, caller: object) =>
  (await t.done(listPlans, input, caller)).plans.map(({ plan }) => plan.id);

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

  it('refuse a page whose plans show more of their add-ons than an answer can hold', async () => {
    const own = { merchantId: 35 };
    const addon = await planOf({ type: 3, metadata: { text: 'x'.repeat(1_000_000) } }, own);
    for (let at = 0; at < 5; at++) await planOf({ onetimeAddonIds: [addon.id] }, own);
    expect(await t.call(listPlans, { type: [1] }, own)).toMatchObject({ slug: 'answer_too_large' });
    expect((await t.done(listPlans, { type: [1], count: 4 }, own)).plans).toHaveLength(4);
  });

  it('refuse a page that would be read as many times more text than it was sent as', async () => {
    const own = { merchantId: 36 };
    const metadata = { numbers: Array.from({ length: 999 }, () => 1e308) };
    for (let at = 0; at < 110; at++) await t.done(newProduct, { productName: `Large ${at}`, metadata }, own);
    // told apart here: a failure would print all of it
    const refused = <R extends { ok: boolean }>(result: R) => (result.ok ? 'answered' : result);
    expect(refused(await t.call(listProducts, { count: 110 }, own))).toMatchObject({ slug: 'answer_too_large' });
    const { products } = await t.done(listProducts, { count: 100 }, own);
    expect(products.map(({ metaData }) => metaData)).toEqual(Array(100).fill(JSON.stringify(metadata)));
    const multiTrials = Array.from({ length: 30 }, () => ({ metadata }));
    const onetimeAddonIds: number[] = [];
    for (let at = 0; at < 4; at++) onetimeAddonIds.push((await planOf({ type: 3, multiTrials }, own)).id);
    const { id: planId } = await planOf({ onetimeAddonIds }, own);
    expect(refused(await t.call(planDetail, { planId }, own))).toMatchObject({ slug: 'answer_too_large' });
  });

  it('refuse a plan that does not exist', async () => {
    expect(await t.call(planDetail, { planId: 999_999 })).toMatchObject({ slug: 'plan_not_found' });
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
    const ids = (input: object) => idsOf(input, caller);
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
      [{ billingIntervalMin: '365day' }, [third.id]],
      [{ billingIntervalMin: '366day' }, []],
      [{ billingIntervalMin: '' }, [addon.id, third.id, second.id, first.id]],
      [{ searchKey: ' ' }, [addon.id, third.id, second.id, first.id]],
      [{ searchKey: '100 %' }, [first.id]],
      [{ searchKey: 'EXT-t' }, [second.id]],
      [{ searchKey: String(first.id) }, expect.arrayContaining([first.id]) as never],
      [{ searchKey: 'nothing' }, []],
    ];
    for (const [input, expected] of filters) expect([input, await ids(input)]).toEqual([input, expected]);
    for (const billingIntervalMin of ['fortnight', '3', '0month', '-1month', '1.5month', 'month3']) {
      expect(await t.call(listPlans, { billingIntervalMin }, caller)).toMatchObject({
        issues: [{ path: '/billingIntervalMin' }],
      });
    }
    expect(await t.done(listProducts, { status: [1], sortField: 'productName' }, caller)).toEqual({
      products: [product, defaultProduct(caller.merchantId)],
      total: 2,
    });
    expect(await t.done(listProducts, { status: '2' }, caller)).toEqual({ products: [], total: 0 });
  });

  it('compare intervals by days: a week has 7, a month 30, a year 365', async () => {
    const of = { merchantId: 31 };
    const lengths = { day: [1, 29, 30, 365], week: [1, 4, 5, 52], month: [1, 12], year: [1] };
    const days = { day: 1, week: 7, month: 30, year: 365 };
    const made = await Promise.all(
      Object.entries(lengths).flatMap(([intervalUnit, counts]) =>
        counts.map(async intervalCount => {
          const plan = await planOf({ intervalUnit, intervalCount }, of);
          return { id: plan.id, days: intervalCount * days[intervalUnit as keyof typeof days] };
        }),
      ),
    );
    await planOf({ intervalUnit: '', intervalCount: 0 }, of);
    for (const [billingIntervalMin, least] of [
      ['day', 1],
      ['week', 7],
      ['29day', 29],
      ['month', 30],
      ['5week', 35],
      ['12month', 360],
      ['52week', 364],
      ['year', 365],
      ['2year', 730],
      ['9999day', 9_999],
    ] as const) {
      const expected = made.filter(plan => plan.days >= least).map(({ id }) => id);
      const found = await idsOf({ billingIntervalMin }, of);
      expect([billingIntervalMin, found.sort((a, b) => a - b)]).toEqual([
        billingIntervalMin,
        expected.sort((a, b) => a - b),
      ]);
    }
  });

  it('search names, external id and description as parts, the id as a whole, and follow what is edited', async () => {
    const of = { merchantId: 32 };
    const [solo, team, last] = [
      await planOf({ planName: 'Solo', internalName: 'S-é', description: 'for one' }, of),
      await planOf({ planName: 'Team', externalPlanId: 'ext_T' }, of),
      await planOf({ planName: 'Last' }, of),
    ];
    expect(await idsOf({ searchKey: 's-É' }, of)).toEqual([solo.id]);
    expect(await idsOf({ searchKey: 'FOR ONE' }, of)).toEqual([solo.id]);
    expect(await idsOf({ searchKey: 't_t' }, of)).toEqual([team.id]);
    expect(await idsOf({ searchKey: 'as' }, of)).toEqual([last.id]);
    expect(await idsOf({ searchKey: String(team.id) }, of)).toEqual([team.id]);
    expect(await idsOf({ searchKey: '9'.repeat(15) }, of)).toEqual([]);
    expect(await idsOf({ searchKey: 'solo', planIds: [team.id] }, of)).toEqual([]);
    await t.done(editPlan, { planId: solo.id, planName: 'Duo', description: '' }, of);
    expect(await idsOf({ searchKey: 'FOR ONE' }, of)).toEqual([]);
    expect(await idsOf({ searchKey: 'duo' }, of)).toEqual([solo.id]);
    expect(await idsOf({ searchKey: 'duo' }, { merchantId: 33 })).toEqual([]);
  });

  it('sort by name whatever its case and length', async () => {
    const of = { merchantId: 34 };
    const names = ['b', 'A', 'é', 'C', `a${'😀'.repeat(999)}`];
    const ids = new Map<string, number>();
    for (const planName of names) ids.set(planName, (await planOf({ planName }, of)).id);
    const sorted = ['A', names[4] ?? '', 'b', 'C', 'é'].map(name => ids.get(name));
    expect(await idsOf({ sortField: 'planName', sortType: 'asc' }, of)).toEqual(sorted);
    expect(await idsOf({ sortField: 'planName' }, of)).toEqual(sorted.toReversed());
  });
});
