import { z } from 'zod';

// Objects of Stripe's API as far as they are moved, in the forms that its versions have given them. Ids may be expanded to
// the objects that they name.

const ref = z
  .union([z.string(), z.object({ id: z.string() })])
  .transform(value => (typeof value === 'string' ? value : value.id));
const list = <S extends z.ZodType>(of: S) => z.object({ data: z.array(of) });
const metadata = z.record(z.string(), z.string()).nullish();

const taxRate = z.object({ id: z.string(), percentage: z.number(), inclusive: z.boolean() });
export type TaxRate = z.output<typeof taxRate>;

const address = z.object({
  line1: z.string().nullish(),
  line2: z.string().nullish(),
  city: z.string().nullish(),
  state: z.string().nullish(),
  postal_code: z.string().nullish(),
  country: z.string().nullish(),
});

export const coupon = z.object({
  id: z.string(),
  name: z.string().nullish(),
  percent_off: z.number().nullish(),
  amount_off: z.number().int().nullish(),
  currency: z.string().nullish(),
  duration: z.enum(['forever', 'once', 'repeating']),
  applies_to: z.object({ products: z.array(z.string()) }).nullish(),
});
export type Coupon = z.output<typeof coupon>;

const discount = z.object({
  id: z.string(),
  /** The coupon is named by `source` since 2025-09-30. */
  coupon: z.union([z.string(), coupon]).nullish(),
  source: z.object({ coupon: z.union([z.string(), coupon]).nullish() }).nullish(),
  end: z.number().int().nullish(),
});
export type Discount = z.output<typeof discount>;

export const customer = z.object({
  id: z.string(),
  deleted: z.boolean().optional(),
  email: z.string().nullish(),
  name: z.string().nullish(),
  phone: z.string().nullish(),
  address: address.nullish(),
  preferred_locales: z.array(z.string()).nullish(),
  tax_ids: list(z.object({ value: z.string() })).nullish(),
  balance: z.number().int().nullish(),
  discount: discount.nullish(),
  invoice_settings: z.object({ default_payment_method: ref.nullish() }).nullish(),
  default_source: ref.nullish(),
});
export type Customer = z.output<typeof customer>;

export const product = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullish(),
});
export type Product = z.output<typeof product>;

export const price = z.object({
  id: z.string(),
  nickname: z.string().nullish(),
  product: ref,
  currency: z.string(),
  unit_amount: z.number().int().nullish(),
  unit_amount_decimal: z.string().nullish(),
  currency_options: z
    .record(
      z.string(),
      z.object({ unit_amount: z.number().int().nullish(), unit_amount_decimal: z.string().nullish() }),
    )
    .nullish(),
  billing_scheme: z.string(),
  transform_quantity: z.object({ divide_by: z.number().int().min(1), round: z.enum(['up', 'down']) }).nullish(),
  recurring: z
    .object({
      interval: z.enum(['day', 'week', 'month', 'year']),
      interval_count: z.number().int().min(1),
      usage_type: z.string(),
    })
    .nullish(),
});
export type Price = z.output<typeof price>;

const item = z.object({
  id: z.string(),
  price: price.or(z.string()),
  quantity: z.number().int().nullish(),
  tax_rates: z.array(taxRate).nullish(),
  /** Since 2025-03-31 the period is that of the items. */
  current_period_start: z.number().int().nullish(),
  current_period_end: z.number().int().nullish(),
});

export const subscription = z.object({
  id: z.string(),
  customer: ref,
  status: z.string(),
  currency: z.string(),
  created: z.number().int(),
  start_date: z.number().int(),
  billing_cycle_anchor: z.number().int(),
  current_period_start: z.number().int().nullish(),
  current_period_end: z.number().int().nullish(),
  trial_end: z.number().int().nullish(),
  cancel_at_period_end: z.boolean(),
  cancel_at: z.number().int().nullish(),
  ended_at: z.number().int().nullish(),
  collection_method: z.enum(['charge_automatically', 'send_invoice']),
  default_payment_method: ref.nullish(),
  default_source: ref.nullish(),
  default_tax_rates: z.array(taxRate).nullish(),
  automatic_tax: z.object({ enabled: z.boolean() }).nullish(),
  discount: discount.nullish(),
  discounts: z.array(z.union([z.string(), discount])).nullish(),
  items: list(item),
  metadata,
  pause_collection: z.object({}).nullish(),
  pending_update: z.object({}).nullish(),
  schedule: ref.nullish(),
});
export type Subscription = z.output<typeof subscription>;
export type Item = z.output<typeof item>;

const amounts = z.array(z.object({ amount: z.number().int() })).nullish();

/** A preview of the next invoice; `subscription` is named by `parent` since 2025-03-31. */
export const preview = z.object({
  id: z.string().nullish(),
  subscription: ref.nullish(),
  parent: z.object({ subscription_details: z.object({ subscription: ref.nullish() }).nullish() }).nullish(),
  currency: z.string(),
  subtotal: z.number().int(),
  total: z.number().int(),
  total_discount_amounts: amounts,
  total_tax_amounts: amounts,
  total_taxes: amounts,
});
export type Preview = z.output<typeof preview>;

export const discountObject = discount;
