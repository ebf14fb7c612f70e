import { z } from 'zod';
import { Plan, PlanSnapshotAddon } from '../../catalog/plan-shape.js';
import { amount, flag, integer, percent, text, time } from '../../field.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Discount } from '../discounts.js';
import { Gateway } from '../gateways.js';
import { Invoice } from '../invoices/shape.js';
import { ValidResult } from '../taxes.js';
import { action, PlanAddonParam, SubscriptionDetail } from './details.js';
import * as parts from './inputs.js';
import { Subscription } from './shape.js';

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'subscription.write' } as const;

/** Fields that create_preview and create_submit share: both compose the same first invoice. */
const terms = {
  ...parts.userKey,
  planId: input.integer,
  quantity: parts.quantity.default(1),
  addonParams: parts.addonParams.default([]),
  ...parts.applyPromo,
  currency: input.optionalCurrency.describe("Blank: the plan's"),
  discountCode: input.line.default(''),
  freeInInitialPeriod: input.flag.default(false).describe('The first period is free'),
  freeTimeEnd: parts.optionalMoment.describe('The subscription is free until then; 0: not given'),
  gatewayId: input.integer.default(0).describe("0: the user's gateway, else the merchant's default"),
  gatewayPaymentType: input.line.default(''),
  taxPercentage: parts.taxPercentage,
  trialEnd: parts.optionalMoment.describe('End of a free trial in place of that of the plan; 0: not given'),
  vatCountryCode: input.line.default('').describe("Blank: the user's"),
  vatNumber: input.line.default('').describe("Blank: the user's"),
  billingAnchorDay: z
    .int()
    .min(0)
    .max(31)
    .default(0)
    .describe(
      'Day of the month, or ISO weekday, on which periods begin; the first one is shorter. 0: the day of today',
    ),
  timeZone: input.line.default('').describe("IANA name; blank: that of the merchant's subscription config"),
};
const termErrors = [
  'user_not_found',
  'user_inactive',
  'plan_not_found',
  'plan_not_active',
  'gateway_not_found',
  'gateway_archived',
] as const;

export const previewSubscription = operation({
  ...writing,
  name: 'subscription.create_preview',
  path: '/merchant/subscription/create_preview',
  summary: 'Preview the first invoice of a new subscription; nothing is changed',
  effect: 'read',
  input: z.object(terms),
  output: z.object({
    addonParams: z.array(PlanAddonParam),
    addons: z.array(PlanSnapshotAddon),
    applyPromoCredit: flag,
    currency: text,
    discount: Discount.nullable(),
    discountAmount: amount,
    discountMessage: text.describe('Why the code cannot be used; blank if it can'),
    email: text,
    gateway: Gateway.nullable(),
    invoice: Invoice,
    originAmount: amount,
    otherActiveSubscriptionId: text,
    otherPendingCryptoSubscription: SubscriptionDetail.nullable(),
    plan: Plan.nullable(),
    quantity: integer,
    recurringDiscountCode: text,
    subscriptionAmountExcludingTax: amount,
    taxAmount: amount,
    taxPercentage: percent,
    taxReason: text.describe('The rule that gave the tax rate, in words'),
    totalAmount: amount,
    trialEnd: time,
    userId: integer,
    vatCountryCode: text,
    vatCountryName: text,
    vatNumber: text,
    vatNumberValidate: ValidResult.nullable(),
    vatNumberValidateMessage: text,
  }),
  errors: termErrors,
});

/** The first invoice of a subscription that was submitted, as far as the buyer needs it. */
const submitted = {
  action,
  invoiceId: text.describe('Blank if nothing is charged at the start'),
  link: text,
  paid: flag,
  paymentId: text,
  subscription: Subscription,
};

export const createSubscription = operation({
  ...writing,
  name: 'subscription.create_submit',
  also: [parts.discounts],
  path: '/merchant/subscription/create_submit',
  summary: 'Create a subscription with its first invoice; it becomes active when that is paid',
  input: z.object({
    ...terms,
    ...parts.checkout,
    confirmCurrency: input.optionalCurrency,
    confirmTotalAmount: z.int().optional().describe('The total of the preview; the command is refused if it differs'),
    discount: parts.externalDiscount.optional(),
    paymentMethodId: input.line.default(''),
    productData: parts.productData.optional(),
    splitPayment: input.flag.default(false).describe('No effect yet'),
    startIncomplete: input.flag.default(false).describe('Start as incomplete: usable while the first invoice is open'),
  }),
  output: z.object({
    ...submitted,
    otherPendingCryptoSubscription: SubscriptionDetail.nullable(),
    token: text,
    user: User.nullable(),
  }),
  errors: [
    ...termErrors,
    'subscription_exists',
    'payment_method_not_found',
    'amount_below_minimum',
    'total_changed',
    'payment_under_way',
  ],
});

export const renewSubscription = operation({
  ...writing,
  name: 'subscription.renew',
  also: [parts.discounts],
  path: '/merchant/subscription/renew',
  summary: 'Start a new subscription in place of one that has ended, on the same plan from now on',
  input: z.object({
    ...parts.subscriptionKey,
    ...parts.applyPromo,
    ...parts.checkout,
    discount: parts.externalDiscount.optional(),
    discountCode: input.line.default(''),
    gatewayId: input.integer.default(0),
    manualPayment: input.flag.default(false).describe('true: its invoices are not charged by themselves'),
    productData: parts.productData.optional(),
    taxPercentage: parts.taxPercentage,
  }),
  output: z.object(submitted),
  errors: [
    'user_not_found',
    'user_inactive',
    'subscription_not_found',
    'subscription_wrong_state',
    'subscription_exists',
    'plan_not_active',
    'gateway_not_found',
    'gateway_archived',
    'amount_below_minimum',
    'payment_under_way',
  ],
});
