import { z } from 'zod';
import * as input from '../../input.js';

// Parts of the inputs of subscription operations.

export const quantity = z.int().min(1).max(1_000_000);
const moment = z.int().min(0).max(10_000_000_000);

/** Unix seconds; 0 for none. */
export const optionalMoment = moment.default(0);

/** Recurring add-ons of a plan, each with its quantity. */
export const addonParams = input.distinct(
  z.object({ addonPlanId: input.integer, quantity: quantity.default(1) }).meta({ 'x-shape': 'AddonParamInput' }),
  'addonPlanId',
);

export const applyPromo = {
  applyPromoCredit: input.flag.optional().describe('Absent: as the credit config says'),
  applyPromoCreditAmount: z.int().min(0).optional().describe('Most credits to take; absent or 0: no limit'),
};

/** A discount that is given with a request; it acts as a code of its own, bound to the subscription. */
export const externalDiscount = z
  .object({
    recurring: input.flag.default(false),
    discountAmount: z.int().min(0).max(input.largestAmount).default(0),
    discountPercentage: input.percent.default(0),
    cycleLimit: z.int().min(0).max(1_000_000).default(0),
    endTime: optionalMoment,
    metadata: input.metadata.default({}),
  })
  .meta({ 'x-shape': 'SubscriptionDiscountInput' });

/** A discount of one's own making is what `discount/new` makes, and a refund what the operations of refunds give. */
export const discounts = { permission: 'discount-code.write', by: ['discount'] } as const;
export const refunds = { permission: 'refund.write', by: ['refund'] } as const;

/** Name and description of the product on the invoice's main line, in place of the plan's. */
export const productData = z
  .object({ name: input.line.default(''), description: input.line.default('') })
  .meta({ 'x-shape': 'SubscriptionProductDataInput' });

/** A percentage of an API key's request; 0 means not given. */
export const taxPercentage = input.percent.default(0).describe('API keys only; 0: by the rules');

/** How the user is named: by id, the merchant's own id, or e-mail; the first one that is given decides. */
export const userKey = {
  userId: input.integer.default(0),
  externalUserId: input.externalId.default(''),
  email: input.line.default(''),
  user: z
    .object({ email: input.line.default(''), externalUserId: input.externalId.default('') })
    .meta({ 'x-shape': 'SubscriptionUserInput' })
    .optional(),
};

/** How a subscription is named: by its id, else as the newest of a user for a product. */
export const subscriptionKey = {
  subscriptionId: input.line.default(''),
  userId: input.integer.default(0),
  productId: input.integer.default(0),
};

export const checkout = {
  gatewayPaymentType: input.line.default(''),
  paymentUIMode: input.line.default('').describe('Kept with the payment; no effect'),
  returnUrl: input.returnUrl.default(''),
  cancelUrl: input.returnUrl.default(''),
  metadata: input.metadata.default({}),
};
