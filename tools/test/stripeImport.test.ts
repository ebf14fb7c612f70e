import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFolder } from '../import/folder.js';
import { type Move, moveOf } from '../import/moved.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'recur-stripe-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, value: unknown) =>
  writeFileSync(path.join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));
const on = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1_000;

const customer = { id: 'cus_1', object: 'customer', email: 'ada@mail.example' };
const price = {
  id: 'price_1',
  object: 'price',
  product: 'prod_1',
  currency: 'eur',
  billing_scheme: 'per_unit',
  unit_amount: 1_000,
  recurring: { interval: 'month', interval_count: 1, usage_type: 'licensed' },
};
const subscription = (fields: object = {}, of: object = price, quantity = 1) => ({
  id: 'sub_1',
  object: 'subscription',
  customer: 'cus_1',
  status: 'active',
  currency: 'eur',
  created: on('2026-01-31'),
  start_date: on('2026-01-31'),
  billing_cycle_anchor: on('2026-01-31'),
  current_period_start: on('2026-01-31'),
  current_period_end: on('2026-02-28'),
  cancel_at_period_end: false,
  collection_method: 'charge_automatically',
  items: { object: 'list', data: [{ id: 'si_1', object: 'subscription_item', price: of, quantity }] },
  ...fields,
});
const coupon = { id: 'C', object: 'coupon', percent_off: 10, duration: 'repeating' };
const discounted = (fields: object, end: string | null = null) =>
  subscription({
    discount: { id: 'di_1', object: 'discount', coupon: { ...coupon, ...fields }, end: end && on(end) },
  });

/** The course of a move of one customer's objects. */
function courseOf(...objects: object[]): Move {
  write('all.json', [customer, ...objects]);
  return moveOf(readFolder(folder), { charged: 'stripe', sent: 'wire_transfer' });
}

describe('a folder', () => {
  it('has lists, single objects, lines, and objects within others; of two with an id the fuller one counts', () => {
    write('a.json', { object: 'list', data: [{ ...customer, name: 'Ada' }] });
    write('b.jsonl', `${JSON.stringify(subscription({ customer: { id: 'cus_1', object: 'customer' } }))}\n\n`);
    write('c.json', { ...coupon, id: 'D' });
    write('notes.txt', 'no objects');
    const all = readFolder(folder);
    expect(all.customers.get('cus_1')?.name).toBe('Ada');
    expect([...all.prices.keys(), ...all.coupons.keys()]).toEqual(['price_1', 'D']);
    expect(all.subscriptions.get('sub_1')?.customer).toBe('cus_1');
  });

  it.each([
    ['a.json', '{"object":', /a\.json is no JSON: /],
    ['a.jsonl', '{"object":"x","id":"1"}\n{', /a\.jsonl, line 2, is no JSON: /],
    ['a.json', [subscription({ current_period_end: 'soon' })], /^a\.json: subscription sub_1 .*: current_period_end: /],
    ['a.json', [{ ...price, unit_amount: 9.5 }], /^a\.json: price price_1 .*: unit_amount: /],
    ['a.txt', '', /has no \.json or \.jsonl file\.$/],
  ])('%s that cannot be read is named, with the field', (name, content, words) => {
    write(name, content);
    expect(() => readFolder(folder)).toThrow(words);
  });
});

describe('the next invoice there', () => {
  const amounts = (of: object, quantity = 1, fields: object = {}) => {
    const { going, left } = courseOf(subscription(fields, { ...price, ...of }, quantity));
    const [first] = going;
    return first ? { ...first.there, units: first.row.Quantity } : left[0]?.reason;
  };

  it.each([
    [{}, 3, { price: 3_000n, units: '3' }],
    [{ unit_amount: null, unit_amount_decimal: '0.5' }, 4_000, 'price_1 has fractions of a minor unit for 4000 units'],
    [{ unit_amount: null, unit_amount_decimal: '12.0' }, 4, { price: 48n, units: '4' }],
    [{ transform_quantity: { divide_by: 10, round: 'up' } }, 11, { price: 2_000n, units: '2' }],
    [{ transform_quantity: { divide_by: 10, round: 'down' } }, 19, { price: 1_000n, units: '1' }],
    [{ transform_quantity: { divide_by: 10, round: 'down' } }, 9, /is no package of 10$/],
    [{ currency: 'usd' }, 1, 'price_1 has no amount in EUR'],
    [{ currency: 'usd', currency_options: { eur: { unit_amount: 900 } } }, 1, { price: 900n }],
    [{ recurring: { ...price.recurring, interval_count: 18 } }, 1, /for 18 months: a plan is for at most 12 months$/],
    [{}, 0, 'price_1 has the quantity 0'],
  ])('of %j for %i is %p', (of, quantity, expected) => {
    const found = amounts(of, quantity);
    if (typeof expected === 'object' && !(expected instanceof RegExp)) expect(found).toMatchObject(expected);
    else expect(found).toEqual(expected instanceof RegExp ? expect.stringMatching(expected) : expected);
  });

  it('rounds tax and discount half up, and takes tax from what a discount leaves', () => {
    const rates = [{ id: 'txr', object: 'tax_rate', percentage: 8.25, inclusive: false }];
    const reduced = { ...discounted({ percent_off: 33.33, duration: 'forever' }), default_tax_rates: rates };
    expect(courseOf(reduced).going[0]?.there).toEqual({ price: 1_000n, discount: 333n, tax: 55n, total: 722n });
    const included = amounts({}, 1, { default_tax_rates: [{ ...rates[0], percentage: 19, inclusive: true }] });
    expect(included).toMatchObject({ tax: 160n, total: 1_000n });
  });

  it('is that of its preview, where there is one; tax that only Stripe can find needs one', () => {
    const taxed = subscription({ automatic_tax: { enabled: true } });
    expect(courseOf(taxed).left).toEqual([
      { id: 'sub_1', reason: 'Stripe finds its tax: fetch a preview of its next invoice, by which it is compared' },
    ]);
    const preview = { object: 'invoice', currency: 'eur', subtotal: 1_000, total: 1_190, subscription: 'sub_1' };
    const { going } = courseOf(taxed, { ...preview, total_taxes: [{ amount: 190 }] });
    expect(going[0]?.there).toEqual({ price: 1_000n, discount: 0n, tax: 190n, total: 1_190n });
  });
});

describe('a coupon', () => {
  it.each([
    ['goes on for ever', { duration: 'forever' }, null, 'C'],
    ['is for the next invoice', { duration: 'once' }, null, 'C-1'],
    ['is for the invoices before its end', {}, '2026-04-30', 'C-2'],
    ['ends with a period, which it does not reduce', {}, '2026-03-31', 'C-1'],
    ['is over before the next invoice', {}, '2026-02-28', ''],
  ])('that %s', (_, fields, end, code) => {
    expect(courseOf(discounted(fields, end)).going[0]?.row.DiscountCode).toBe(code);
  });

  it('of some products says that here a code reduces all', () => {
    const { going } = courseOf(discounted({ applies_to: { products: ['prod_2'] } }, '2027-01-31'));
    expect(going[0]?.there).toMatchObject({ discount: 0n });
    expect(going[0]?.notes).toEqual(['its coupon reduces some items, here a code reduces all']);
  });
});
