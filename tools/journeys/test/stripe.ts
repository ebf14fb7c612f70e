import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

// A folder of objects in the shapes that Stripe documents: 30 subscriptions of all kinds that can go on elsewhere, of which
// the next invoices of three differ, one that is over, and others that have to stay.

const DAY = 86_400;
const MONTHS = { month: 1, year: 12 } as const;

interface Terms {
  interval?: 'day' | 'week' | 'month' | 'year';
  count?: number;
  currency?: string;
  amount?: number;
  price?: object;
  /** Its customer, who has another one too; else a new one with these fields. */
  by?: string;
  customer?: object;
  /** Fields of the subscription itself. */
  sub?: object;
  item?: object;
  /** Prices that are sold beside the first one, with their quantities. */
  others?: readonly (readonly [amount: number, quantity: number])[];
  preview?: { tax?: number; more?: number };
}

const rate = (percentage: number, inclusive = false) => ({
  id: `txr_${percentage}${inclusive}`,
  object: 'tax_rate',
  percentage,
  inclusive,
  display_name: 'VAT',
});
const coupon = (id: string, fields: object) => ({ id, object: 'coupon', duration: 'forever', valid: true, ...fields });
const discount = (of: object, end: number | null = null) => ({
  id: `di_${++ids}`,
  object: 'discount',
  coupon: of,
  end,
});
let ids = 0;

/** Makes the files; returns the ids of the subscriptions that differ, and of those that stay, with their reasons. */
export function stripeFolder(folder: string, now: number) {
  const customers: object[] = [];
  const products: object[] = [];
  const prices: object[] = [];
  const subscriptions: object[] = [];
  const previews: object[] = [];
  const midnight = Math.floor(now / DAY) * DAY;
  const day = new Date((midnight - 10 * DAY) * 1_000);
  const start = day.setUTCDate(Math.min(day.getUTCDate(), 28)) / 1_000;

  function periodOf({ interval = 'month', count = 1 }: Terms) {
    if (interval === 'day') return { start: midnight - DAY, end: midnight - DAY + count * DAY };
    if (interval === 'week') return { start: midnight - DAY, end: midnight - DAY + count * 7 * DAY };
    const end = new Date(start * 1_000);
    end.setUTCMonth(end.getUTCMonth() + count * MONTHS[interval]);
    return { start, end: end.getTime() / 1_000 };
  }

  function priceOf(terms: Terms, amount: number, fields: object = {}) {
    const { interval = 'month', count = 1, currency = 'eur' } = terms;
    const name = `${++ids}`;
    products.push({ id: `prod_${name}`, object: 'product', name: `Product ${name}`, active: true, description: null });
    const price = {
      id: `price_${name}`,
      object: 'price',
      product: `prod_${name}`,
      currency,
      nickname: null,
      type: 'recurring',

      unit_amount: amount,
      unit_amount_decimal: String(amount),
      billing_scheme: 'per_unit',
      transform_quantity: null,
      recurring: { interval, interval_count: count, usage_type: 'licensed', trial_period_days: null },
      ...fields,
    };
    prices.push(price);
    return price;
  }

  /** A subscription to a new price, of a new customer if none is named; returns its id. */
  function subscribe(terms: Terms = {}): string {
    const { currency = 'eur', amount = 2_000, others = [], preview } = terms;
    const name = `${++ids}`;
    const card = { default_payment_method: `pm_${name}` };
    const { by = `cus_${name}` } = terms;
    if (terms.by === undefined) {
      customers.push({
        id: by,
        object: 'customer',
        email: `c${name}@mail.example`,
        name: `Ada Nr ${name}`,
        balance: 0,
        phone: null,
        address: null,
        preferred_locales: [],
        discount: null,
        default_source: null,
        invoice_settings: card,
        ...terms.customer,
      });
    }
    const price = priceOf(terms, amount, terms.price);
    const period = periodOf(terms);
    const items = [
      { id: `si_${name}`, object: 'subscription_item', price, quantity: 1, tax_rates: [], ...terms.item },
      ...others.map(([each, quantity]) => ({
        id: `si_${++ids}`,
        object: 'subscription_item',
        price: priceOf(terms, each),
        quantity,
        tax_rates: [],
      })),
    ];
    subscriptions.push({
      id: `sub_${name}`,
      object: 'subscription',
      customer: by,
      status: 'active',
      currency,
      metadata: {},
      created: period.start,
      start_date: period.start,
      billing_cycle_anchor: period.start,
      trial_end: null,
      current_period_start: period.start,
      current_period_end: period.end,
      cancel_at_period_end: false,
      cancel_at: null,
      canceled_at: null,
      ended_at: null,
      collection_method: 'charge_automatically',
      default_payment_method: null,
      default_source: null,
      default_tax_rates: [],
      discount: null,
      discounts: [],
      automatic_tax: { enabled: false },
      pause_collection: null,
      pending_update: null,
      schedule: null,
      items: { object: 'list', data: items, has_more: false },
      ...terms.sub,
    });
    if (preview) {
      const { tax = 0, more = 0 } = preview;
      previews.push({
        id: `upcoming_in_${name}`,
        object: 'invoice',
        currency,
        subtotal: amount + more,
        total: amount + more + tax,
        parent: { type: 'subscription_details', subscription_details: { subscription: `sub_${name}` } },
        total_discount_amounts: [],
        total_taxes: tax ? [{ amount: tax, tax_behavior: 'exclusive' }] : [],
      });
    }
    return `sub_${name}`;
  }

  const { end } = periodOf({});
  const trial = midnight + 5 * DAY;
  const trialing = { status: 'trialing', trial_end: trial, current_period_end: trial, billing_cycle_anchor: trial };
  const month = new Date(midnight * 1_000);
  const lastDay = (at: number) => Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + at + 1, 0) / 1_000;
  const isLast = lastDay(0) <= now;

  // 27 whose invoices agree
  const first = subscribe();
  subscribe({ interval: 'year', amount: 20_000, by: first.replace('sub', 'cus') });
  subscribe({ interval: 'week' });
  subscribe({ count: 3 });
  subscribe({ interval: 'day', count: 30 });
  subscribe({ amount: 1_100, item: { quantity: 5 } });
  subscribe({ sub: trialing });
  subscribe({ sub: { cancel_at_period_end: true } });
  subscribe({ sub: { cancel_at: end } });
  subscribe({ sub: { discount: discount(coupon('QUARTER', { percent_off: 25 })) } });
  subscribe({ sub: { discount: discount(coupon('FIVE', { amount_off: 500, currency: 'eur' })) } });
  subscribe({
    sub: { discount: discount(coupon('SEASON', { percent_off: 50, duration: 'repeating' }), end + 45 * DAY) },
  });
  subscribe({ sub: { ...trialing, discounts: [discount(coupon('FIRST', { percent_off: 10, duration: 'once' }))] } });
  subscribe({ customer: { discount: discount(coupon('FRIEND', { percent_off: 12.5 })) } });
  subscribe({
    sub: { discounts: [{ ...discount({}), coupon: undefined, source: { coupon: 'QUARTER', type: 'coupon' } }] },
  });
  subscribe({ sub: { discount: discount(coupon('PAST', { percent_off: 90, duration: 'repeating' }), end - DAY) } });
  subscribe({ others: [[500, 1]] });
  subscribe({
    others: [
      [300, 4],
      [250, 2],
    ],
  });
  subscribe({ sub: { default_tax_rates: [rate(19)] } });
  subscribe({
    amount: 999,
    sub: { default_tax_rates: [rate(8.25)], discount: discount(coupon('THIRD', { percent_off: 33.33 })) },
  });
  subscribe({ currency: 'jpy', amount: 1_980 });
  subscribe({ currency: 'kwd', amount: 12_345 });
  subscribe({
    currency: 'eur',
    sub: { currency: 'usd' },
    price: { currency_options: { usd: { unit_amount: 2_400, unit_amount_decimal: '2400' } } },
  });
  subscribe({ sub: { collection_method: 'send_invoice' } });
  subscribe({ amount: 700, item: { quantity: 25 }, price: { transform_quantity: { divide_by: 10, round: 'up' } } });
  subscribe({
    sub: { current_period_start: undefined, current_period_end: undefined, metadata: { tier: 'gold' } },
    item: { current_period_start: start, current_period_end: end },
  });
  subscribe({
    sub: {
      billing_cycle_anchor: Date.UTC(month.getUTCFullYear() - 1, 0, 31) / 1_000,
      current_period_start: lastDay(isLast ? 0 : -1),
      current_period_end: lastDay(isLast ? 1 : 0),
      created: Date.UTC(month.getUTCFullYear() - 1, 0, 31) / 1_000,
    },
  });

  // three that differ: tax that only Stripe knows, an item that waits for the next invoice, a third to the last decimal
  const differing = {
    tax: subscribe({ sub: { automatic_tax: { enabled: true } }, preview: { tax: 380 } }),
    price: subscribe({ preview: { more: 300 } }),
    discount: subscribe({ amount: 100_000, sub: { discount: discount(coupon('EXACT', { percent_off: 33.333 })) } }),
  };

  const over = subscribe({
    sub: { status: 'canceled', ended_at: midnight - 2 * DAY, canceled_at: midnight - 2 * DAY },
  });

  const staying = {
    [subscribe({ sub: { status: 'past_due' } })]:
      'an invoice of it is open there: collect it first, and run this again',
    [subscribe({ sub: { status: 'incomplete_expired' } })]: 'its first invoice was not paid there',
    [subscribe({ sub: { pause_collection: { behavior: 'void' } } })]:
      'its collection is paused: resume or end it there',
    [subscribe({ sub: { schedule: 'sub_sched_1' } })]: 'the schedule sub_sched_1 changes it: release it there',
    [subscribe({ customer: { email: null } })]: /^its customer cus_\d+ stays there$/,
    [subscribe({ customer: { email: 'no address' } })]: /^its customer cus_\d+ stays there$/,
    [subscribe({ price: { recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } } })]:
      /^price_\d+ is billed by usage: make a metric and a charge of a plan$/,
    [subscribe({ price: { billing_scheme: 'tiered' } })]: /^price_\d+ has tiers, which a plan has for usage only$/,
  };

  mkdirSync(folder, { recursive: true });
  const write = (name: string, value: object) => writeFileSync(path.join(folder, name), JSON.stringify(value));
  const list = (data: object[]) => ({ object: 'list', url: '/v1/x', has_more: false, data });
  write('customers.json', list(customers));
  write('products.json', list(products));
  // a list without its envelope, and an object per line
  write('prices.json', prices);
  const lines = subscriptions.map(each => JSON.stringify(each)).join('\n');
  writeFileSync(path.join(folder, 'subscriptions.jsonl'), `${lines}\n`);
  write('previews.json', previews);
  write('events.json', list([{ id: 'evt_1', object: 'event' }]));
  return { differing, over, staying };
}
