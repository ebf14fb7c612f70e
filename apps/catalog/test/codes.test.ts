import { expect, it } from '@jest/globals';
import {
  aggregationType,
  intervalUnits,
  metricType,
  planStatus,
  planType,
  productStatus,
  publishStatus,
} from '@recur/contracts';
import { nameOfCode } from '../src/codes.js';
import { metrics } from '../src/metrics/tables.js';
import { planLifecycle, publishLifecycle } from '../src/plans/domain/plan.js';
import { plans } from '../src/plans/tables.js';
import { productLifecycle } from '../src/products/domain/product.js';
import { products } from '../src/products/tables.js';

it.each([
  ['productStatus', productStatus, productLifecycle],
  ['planStatus', planStatus, planLifecycle],
  ['publishStatus', publishStatus, publishLifecycle],
])('the states of a lifecycle are the names of %s', (_, codes, lifecycle) => {
  expect([...lifecycle.states].sort()).toEqual(Object.keys(codes).sort());
});

it('the database takes these states, types and no other', () => {
  const values = (of: typeof plans | typeof products | typeof metrics, check: string) => {
    const found = of.entity.checks?.find(({ name }) => name === check);
    return [...(found?.expression ?? '').matchAll(/'(\w+)'/g)].map(([, value]) => value);
  };
  expect(values(products, 'products_status')).toEqual(Object.keys(productStatus));
  expect(values(plans, 'plans_status')).toEqual(Object.keys(planStatus));
  expect(values(plans, 'plans_publish_status')).toEqual(Object.keys(publishStatus));
  expect(values(plans, 'plans_type')).toEqual(Object.keys(planType));
  expect(values(metrics, 'metrics_type')).toEqual(Object.keys(metricType));
  expect(values(metrics, 'metrics_aggregation_type')).toEqual(Object.keys(aggregationType));
});

it('a code finds its name, and an unknown one none', () => {
  expect(nameOfCode(planType, 3)).toBe('onetimeAddon');
  expect(() => nameOfCode(planType, 9)).toThrow('9 is none of 1, 2, 3');
  expect(Object.keys(intervalUnits)).toEqual(['day', 'week', 'month', 'year']);
});
