import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  defaultProduct,
  listPlans,
  listProducts,
  newProduct,
  type Plan,
  type Product,
  planDetail,
} from '@recur/contracts';
import fc from 'fast-check';
import { type PlanState, planStates, type Shelf, shelf } from './shelf.js';

let s: Shelf;
let all: Plan[];
let products: Product[];

beforeAll(async () => {
  s = await shelf();
  products = await Promise.all([1, 2, 1].map(status => s.productOf({ productName: `Product ${status}`, status })));
  const ids: number[] = [];
  for (let second = 0; second < 6; second++) {
    const made = Array.from({ length: 12 }, (_, at) => oneOf(second * 12 + at));
    ids.push(...(await Promise.all(made)).map(({ id }) => id));
    s.clock.advance(1);
  }
  const details = await Promise.all(ids.map(planId => s.t.call(planDetail, { planId })));
  // those that were deleted are nowhere
  all = details.flatMap(detail => (detail.ok ? [detail.data.plan.plan] : []));
  expect(all).toHaveLength(60);
});

/** One of 72 plans, which differ in all that lists look at. */
function oneOf(n: number): Promise<Plan> {
  const intervalUnit = (['day', 'week', 'month', 'year'] as const)[n % 4];
  const intervalCount = intervalUnit === 'year' ? 1 : 1 + (n % 3);
  return s.inState(planStates[n % 6] as PlanState, {
    planName: `Plan ${(n * 7) % 5}`,
    amount: (n * 7) % 9,
    type: 1 + (n % 3),
    currency: n % 5 ? 'USD' : 'EUR',
    productId: n % 2 ? products[n % 3]?.id : 0,
    intervalUnit,
    intervalCount,
  });
}
afterAll(() => s.t.close());

const some = <T>(...values: T[]) => fc.subarray(values, { minLength: 1 });
/** What may be asked for, and what a plan needs in order to fit it. */
const filters: { [field: string]: { values: () => fc.Arbitrary<unknown>; of: (plan: Plan) => unknown } } = {
  productIds: { values: () => some(0, ...products.map(({ id }) => id)), of: plan => plan.productId },
  type: { values: () => some(1, 2, 3), of: plan => plan.type },
  status: { values: () => some(1, 2, 4, 5, 9), of: plan => plan.status },
  publishStatus: { values: () => fc.constantFrom(1, 2), of: plan => plan.publishStatus },
  currency: { values: () => fc.constantFrom('USD', 'eur'), of: plan => plan.currency },
  intervalUnits: { values: () => some('day', 'week', 'month', 'year'), of: plan => plan.intervalUnit },
  intervalCounts: { values: () => some(1, 2, 3, 4), of: plan => plan.intervalCount },
  planIds: { values: () => fc.subarray(all.map(({ id }) => id)).filter(ids => ids.length > 0), of: plan => plan.id },
};
const orders: Record<string, (plan: Plan) => (string | number)[]> = {
  createTime: plan => [plan.createTime, plan.id],
  planName: plan => [plan.planName, plan.id],
  amount: plan => [plan.amount, plan.id],
};
const compare = (one: (string | number)[], other: (string | number)[]): number => {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] as number) < (other[at] as number) ? -1 : 1;
};

it('every filter, order and page answers what looking through all plans would', async () => {
  const asked = fc.record(Object.fromEntries(Object.entries(filters).map(([field, { values }]) => [field, values()])), {
    requiredKeys: [],
  });
  const sorting = fc.record({
    sortField: fc.constantFrom('', ...Object.keys(orders)),
    sortType: fc.constantFrom('', 'asc', 'desc'),
    page: fc.nat(2),
    count: fc.integer({ min: 1, max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(asked, sorting, async (wanted, { page, count, ...order }) => {
      const fitting = all.filter(plan =>
        Object.entries(wanted).every(([field, value]) =>
          [value].flat().some(one => String(one).toUpperCase() === String(filters[field]?.of(plan)).toUpperCase()),
        ),
      );
      const key = orders[order.sortField || 'createTime'] as (plan: Plan) => (string | number)[];
      const sorted = fitting.toSorted((a, b) => compare(key(a), key(b)) * (order.sortType === 'asc' ? 1 : -1));
      const answer = await s.t.done(listPlans, { ...wanted, ...order, page, count });
      expect(answer.total).toBe(fitting.length);
      expect(answer.plans.map(({ plan }) => plan)).toEqual(sorted.slice(page * count, (page + 1) * count));
    }),
    { numRuns: 150 },
  );
});

it('products, by status and name, too', async () => {
  const caller = { merchantId: 20 };
  const made: Product[] = [];
  for (const [at, name] of ['b', 'A', 'c', 'B', 'a'].entries()) {
    const input = { productName: name, status: 1 + (at % 2) };
    made.unshift((await s.t.done(newProduct, input, caller)).product);
  }
  // the default product was there first
  made.push(defaultProduct(caller.merchantId));
  const listed = async (input: object) => (await s.t.done(listProducts, input, caller)).products;
  const byName = made.toSorted((a, b) =>
    compare([a.productName.toLowerCase(), a.id], [b.productName.toLowerCase(), b.id]),
  );
  for (const status of [[1], [2], [1, 2], [3]]) {
    const fits = ({ status: is }: Product) => status.includes(is);
    expect(await listed({ status })).toEqual(made.filter(fits));
    expect(await listed({ status, sortField: 'productName' })).toEqual(byName.toReversed().filter(fits));
    expect(await listed({ status, sortField: 'productName', sortType: 'asc' })).toEqual(byName.filter(fits));
  }
});
