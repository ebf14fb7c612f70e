import { intervalUnits } from '@recur/contracts';
import type { Exported } from './folder.js';
import type { Coupon, Discount, Preview, Price, Subscription, TaxRate } from './objects.js';

/** An invoice in minor units: total = price − discount + tax, where the tax is not within the price. */
export interface Amounts {
  price: bigint;
  discount: bigint;
  tax: bigint;
  total: bigint;
}

/** An item of a subscription that is billed for a quantity: units at a price, or packages of units. */
export interface Sold {
  price: Price;
  units: number;
  /** Minor units of currency for all units. */
  amount: bigint;
  rates: readonly TaxRate[];
}

/** The items of a subscription, or why they cannot be billed here. */
export function itemsOf(sub: Subscription, { prices }: Exported): Sold[] | string {
  const sold: Sold[] = [];
  for (const { price: named, quantity, tax_rates } of sub.items.data) {
    const price = typeof named === 'string' ? prices.get(named) : named;
    if (!price) return `its price ${String(named)} is not in the folder`;
    const each = soldFor(price, quantity ?? 1, sub.currency);
    if (typeof each === 'string') return each;
    sold.push({ price, ...each, rates: tax_rates?.length ? tax_rates : (sub.default_tax_rates ?? []) });
  }
  return sold.length === 0 ? 'it has no items' : sold;
}

function soldFor(price: Price, quantity: number, currency: string): Pick<Sold, 'units' | 'amount'> | string {
  const { id, recurring, transform_quantity: packages } = price;
  if (recurring?.usage_type !== 'licensed') return `${id} is billed by usage: make a metric and a charge of a plan`;
  if (price.billing_scheme !== 'per_unit') return `${id} has tiers, which a plan has for usage only`;
  if (quantity < 1) return `${id} has the quantity ${quantity}`;
  const { interval, interval_count: count } = recurring;
  if (count > intervalUnits[interval]) {
    return `${id} is for ${count} ${interval}s: a plan is for at most ${intervalUnits[interval]} ${interval}s`;
  }
  const [unit, places] = unitOf(price, currency);
  if (unit === undefined) return `${id} has no amount in ${currency.toUpperCase()}`;
  const rounded = packages?.round === 'down' ? Math.floor : Math.ceil;
  const units = rounded(quantity / (packages?.divide_by ?? 1));
  if (units < 1) return `${id} has the quantity ${quantity}, which is no package of ${packages?.divide_by}`;
  const amount = quotient(unit * BigInt(units), 10n ** BigInt(places));
  if (amount % BigInt(units) !== 0n) return `${id} has fractions of a minor unit for ${units} units`;
  return { units, amount };
}

/** A price of one unit in minor units times 10 to the power of its decimals; undefined where it has none in the currency. */
function unitOf(price: Price, currency: string): [unit: bigint | undefined, decimals: number] {
  const own = price.currency === currency ? price : price.currency_options?.[currency];
  const text = own?.unit_amount_decimal ?? own?.unit_amount?.toString();
  if (text === undefined || !/^\d+(\.\d+)?$/.test(text)) return [undefined, 0];
  const [whole = '', decimals = ''] = text.split('.');
  return [BigInt(whole + decimals), decimals.length];
}

/** A coupon as it reduces invoices from the next one on; `cycles` 0: all of them. */
export interface Reduction {
  coupon: Coupon;
  cycles: number;
}

/** The coupon of the next invoice, undefined for none, or why it cannot be told. */
export function reductionOf(sub: Subscription, sold: readonly Sold[], all: Exported): Reduction | undefined | string {
  const own = [...(sub.discounts ?? []), ...(sub.discount ? [sub.discount] : [])];
  // a customer's discount counts where the subscription has none
  const inherited = all.customers.get(sub.customer)?.discount;
  const named = own.length > 0 ? own : inherited ? [inherited] : [];
  const found = new Map<string, Discount>();
  for (const each of named) {
    const discount = typeof each === 'string' ? all.discounts.get(each) : each;
    if (!discount)
      return `its discount ${String(each)} is not in the folder: export subscriptions with discounts expanded`;
    found.set(discount.id, discount);
  }
  const from = periodOf(sub).end;
  const active = [...found.values()].filter(({ end }) => !end || end > from);
  const [discount, ...others] = active;
  if (!discount) return undefined;
  if (others.length > 0) return `it has ${active.length} discounts: a subscription has one here`;
  const id = discount.coupon ?? discount.source?.coupon ?? '';
  const coupon = typeof id === 'string' ? all.coupons.get(id) : id;
  if (!coupon) return `its coupon ${String(id)} is not in the folder`;
  return { coupon, cycles: cyclesOf(coupon, discount, sub, sold) };
}

/** Periods to come that begin before the discount ends. */
function cyclesOf({ duration }: Coupon, { end }: Discount, sub: Subscription, sold: readonly Sold[]): number {
  if (duration === 'once') return 1;
  if (duration === 'forever' || end === undefined || end === null) return 0;
  const { interval = 'month', interval_count: count = 1 } = sold[0]?.price.recurring ?? {};
  const from = new Date(periodOf(sub).end * 1_000);
  // a day that a month lacks is a day of the next one in JavaScript: up to three days late
  const slack = interval === 'month' || interval === 'year' ? 3.5 * 86_400 : 0;
  for (let cycles = 1; ; cycles++) {
    const begins = new Date(from);
    if (interval === 'day' || interval === 'week') {
      begins.setUTCDate(from.getUTCDate() + cycles * count * (interval === 'week' ? 7 : 1));
    } else begins.setUTCMonth(from.getUTCMonth() + cycles * count * (interval === 'year' ? 12 : 1));
    if (begins.getTime() / 1_000 >= end - slack) return cycles;
  }
}

/** The current period; in API versions since 2025-03-31 that of the first item. */
export function periodOf({ current_period_start, current_period_end, items, start_date }: Subscription) {
  const [first] = items.data;
  const start = current_period_start ?? first?.current_period_start ?? start_date;
  return { start, end: current_period_end ?? first?.current_period_end ?? start };
}

/** The next invoice in Stripe: its preview, else as its prices, coupon and tax rates make it. */
export function nextThere(
  sub: Subscription,
  sold: readonly Sold[],
  reduction: Reduction | undefined,
  all: Exported,
): Amounts {
  const preview = all.previews.get(sub.id);
  return preview ? previewed(preview) : computed(sold, reduction, sub.currency);
}

const sumOf = (amounts: readonly { amount: number }[] | null | undefined) =>
  (amounts ?? []).reduce((sum, { amount }) => sum + BigInt(amount), 0n);

function previewed({ subtotal, total, total_discount_amounts, total_tax_amounts, total_taxes }: Preview): Amounts {
  const tax = sumOf(total_tax_amounts ?? total_taxes);
  return { price: BigInt(subtotal), discount: sumOf(total_discount_amounts), tax, total: BigInt(total) };
}

function computed(sold: readonly Sold[], reduction: Reduction | undefined, currency: string): Amounts {
  const price = sold.reduce((sum, { amount }) => sum + amount, 0n);
  const reduced = sold.map(each => ({ ...each, isReduced: isReduced(each, reduction) }));
  const base = reduced.reduce((sum, { amount, isReduced }) => sum + (isReduced ? amount : 0n), 0n);
  const discount = reduction ? discountOn(base, reduction.coupon, currency) : 0n;
  let [left, tax, added] = [discount, 0n, 0n];
  const last = reduced.findLast(({ isReduced }) => isReduced);
  for (const each of reduced) {
    const share = !each.isReduced ? 0n : each === last ? left : quotient(discount * each.amount, base);
    left -= share;
    const net = each.amount - share;
    for (const { percentage, inclusive } of each.rates) {
      const [rate, scale] = scaled(percentage);
      const own = inclusive ? quotient(net * rate, 100n * scale + rate) : quotient(net * rate, 100n * scale);
      tax += own;
      if (!inclusive) added += own;
    }
  }
  return { price, discount, tax, total: price - discount + added };
}

/** True for an item that a coupon reduces: it may be for some products only. */
export const isReduced = ({ price }: Sold, reduction: Pick<Reduction, 'coupon'> | undefined): boolean => {
  const products = reduction?.coupon.applies_to?.products;
  return reduction !== undefined && (products === undefined || products.includes(price.product));
};

function discountOn(base: bigint, { percent_off, amount_off, currency: of }: Coupon, currency: string): bigint {
  if (percent_off) {
    const [rate, scale] = scaled(percent_off);
    return quotient(base * rate, 100n * scale);
  }
  if (of !== currency || !amount_off) return 0n;
  return BigInt(amount_off) < base ? BigInt(amount_off) : base;
}

/** A percentage as an integer, and the power of ten by which it is too large. */
function scaled(percentage: number): [value: bigint, scale: bigint] {
  const [whole = '0', decimals = ''] = String(percentage).split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}

/** The quotient of amounts that are not negative, rounded half up. */
const quotient = (dividend: bigint, divisor: bigint): bigint =>
  divisor === 0n ? 0n : (2n * dividend + divisor) / (2n * divisor);

/** The decimals of a percentage that recur, which counts in hundredths, cannot hold. */
export const isFine = (percentage: number): boolean => Number.isInteger(Math.round(percentage * 1e6) / 1e4);
