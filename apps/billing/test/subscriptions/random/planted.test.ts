import { expect, it, jest } from '@jest/globals';
import * as kernel from '@recur/kernel';
import fc from 'fast-check';
import * as discount from '../../../src/pricing/discount.js';
import * as proration from '../../../src/pricing/proration.js';
import * as tax from '../../../src/pricing/tax.js';
import * as usage from '../../../src/pricing/usage.js';
import { histories } from './history.js';

/*
 * Errors that are planted in the rules one at a time: the oracle has to notice each of them.
 */

const src = '../../../src/pricing';
const runs = 1000;

type Planted = [what: string, module: string, exports: object];
const planted: Planted[] = [
  ['nothing', `${src}/proration.js`, proration],
  [
    'a charge for part of a period that counts a second too many',
    `${src}/proration.js`,
    {
      ...proration,
      chargePart: (...[item, part, full]: Parameters<typeof proration.chargePart>) =>
        proration.chargePart(item, { ...part, end: part.end + 1 }, full),
    },
  ],
  [
    'a credit that is rounded down',
    `${src}/proration.js`,
    {
      ...proration,
      creditUnused: (...[line, period, at]: Parameters<typeof proration.creditUnused>) => {
        const credit = proration.creditUnused(line, period, at);
        const unused = (line.net * BigInt(period.end - at)) / BigInt(period.end - period.start);
        return { ...credit, amount: -unused };
      },
    },
  ],
  [
    'tax that is rounded on each line',
    `${src}/tax.js`,
    {
      ...tax,
      taxesOn: (...[nets, rates]: Parameters<typeof tax.taxesOn>) => {
        const each = nets.map((net, i) => tax.taxesOn([net], rates.slice(i, i + 1)));
        return { taxes: each.flatMap(one => one.taxes), groups: each.flatMap(one => one.groups) };
      },
    },
  ],
  [
    'usage that charges a unit too many',
    `${src}/usage.js`,
    {
      ...usage,
      usageAmount: (...[price, used]: Parameters<typeof usage.usageAmount>) => usage.usageAmount(price, used + 1n),
    },
  ],
  [
    'a discount that leaves usage out',
    `${src}/discount.js`,
    { ...discount, isDiscountable: (kind: discount.LineKind) => kind !== 'metered' && discount.isDiscountable(kind) },
  ],
  [
    'periods that drift from the end of a short month',
    '@recur/kernel',
    {
      ...kernel,
      boundary: (...[anchor, k, interval, zone]: Parameters<typeof kernel.boundary>) =>
        Array.from({ length: k }).reduce<number>(at => kernel.boundary(at, 1, interval, zone), anchor),
    },
  ],
];

it.each(planted)('the oracle notices %s', async (what, module, exports) => {
  jest.resetModules();
  jest.unstable_mockModule(module, () => exports);
  const { check } = await import('./compare.js');
  jest.unstable_unmockModule(module);
  const { failed, counterexample } = fc.check(fc.property(histories, check), { numRuns: runs, endOnFailure: true });
  expect({ failed, found: counterexample !== null }).toEqual({ failed: what !== 'nothing', found: what !== 'nothing' });
});
