import { expect, it, jest } from '@jest/globals';
import * as kernel from '@recur/kernel';
import fc from 'fast-check';
import { always, type Rule } from '../../../../../tools/journeys/invariants.js';
import * as numbers from '../../../src/invoices/numbers.js';
import * as discount from '../../../src/pricing/discount.js';
import * as proration from '../../../src/pricing/proration.js';
import * as tax from '../../../src/pricing/tax.js';
import * as usage from '../../../src/pricing/usage.js';
import { histories } from './history.js';

/*
 * Errors that are planted in the rules one at a time: the oracle has to notice each of them, and the invariants those of
 * numbers, which lives in memory have none of.
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
  [
    'a calendar that counts in UTC, whatever the zone',
    '@recur/kernel',
    {
      ...kernel,
      boundary: (...[anchor, k, interval]: Parameters<typeof kernel.boundary>) =>
        kernel.boundary(anchor, k, interval, 'UTC'),
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

type NextNumber = typeof numbers.nextNumber;
const { nextNumber } = numbers;
const misnumbered: [what: string, NextNumber, findings: number][] = [
  ['nothing', nextNumber, 0],
  [
    'a number that is left out',
    async (...numbered) => {
      const { counter } = await nextNumber(...numbered);
      return { counter: 2 * counter, number: numbers.documentNumber('INV-', 2 * counter) };
    },
    1,
  ],
  ['a number that is given and never counted', async () => ({ counter: 1, number: 'INV-000001' }), 1],
];

it.each(misnumbered)('the invariants notice %s', async (_, planted, findings) => {
  jest.resetModules();
  jest.unstable_mockModule('../../../src/invoices/numbers.js', () => ({ ...numbers, nextNumber: planted }));
  const { shop } = await import('../../world/shop.js');
  jest.unstable_unmockModule('../../../src/invoices/numbers.js');
  const s = await shop();
  try {
    await s.made({ finish: true });
    const rule = always['invoices and credit notes are counted from 1 to n'] as Rule;
    expect(await rule((_service, text) => s.t.rows(text))).toHaveLength(findings);
  } finally {
    await s.t.close();
  }
});
