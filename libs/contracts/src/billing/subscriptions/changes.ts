import { z } from 'zod';
import { amount, flag, text, time } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Discount } from '../discounts.js';
import { Invoice } from '../invoices/shape.js';
import { action } from './details.js';
import * as parts from './inputs.js';
import { SubscriptionPendingUpdate } from './shape.js';

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'subscription.write' } as const;
const reading = { ...writing, effect: 'read', methods: ['GET', 'POST'], permission: 'subscription.read' } as const;

/** Fields that update_preview and update_submit share. */
const change = {
  newPlanId: input.integer,
  addonParams: parts.addonParams.optional().describe('Absent: the add-ons stay as they are'),
  ...parts.applyPromo,
  currency: input.optionalCurrency.describe("Blank: the subscription's"),
  discountCode: input.line.default(''),
  effectImmediate: z
    .int()
    .min(0)
    .max(2)
    .default(0)
    .describe('0: now for an upgrade, at the end of the period otherwise; 1: now; 2: at the end of the period'),
  gatewayId: input.integer.default(0).describe('0: the gateway of the subscription'),
  prorationDate: parts.optionalMoment.describe('The moment of the preview; 0: now'),
  vatCountryCode: input.line.default('').describe("Blank: the subscription's, else the user's"),
  vatNumber: input.line.default('').describe("Blank: the subscription's, else the user's"),
};
const changeErrors = [
  'subscription_not_found',
  'subscription_wrong_state',
  'user_inactive',
  'plan_not_found',
  'plan_not_active',
  'gateway_not_found',
  'gateway_archived',
  'payment_under_way',
] as const;

export const previewChange = operation({
  ...writing,
  name: 'subscription.update_preview',
  path: '/merchant/subscription/update_preview',
  summary: 'Preview the invoice of a change of plan, quantity or add-ons; nothing is changed',
  effect: 'read',
  input: z.object({ ...change, subscriptionId: input.filled, quantity: parts.quantity.optional() }),
  output: z.object({
    applyPromoCredit: flag,
    currency: text,
    discount: Discount.nullable(),
    discountAmount: amount,
    discountMessage: text.describe('Why the code cannot be used; blank if it can'),
    invoice: Invoice,
    nextPeriodInvoice: Invoice.nullable(),
    originAmount: amount,
    prorationDate: time,
    taxReason: text.describe('The rule that gave the tax rate, in words'),
    totalAmount: amount,
  }),
  errors: changeErrors,
});

export const submitChange = operation({
  ...writing,
  name: 'subscription.update_submit',
  also: [parts.discounts, parts.refunds],
  path: '/merchant/subscription/update_submit',
  summary: 'Change plan, quantity or add-ons: now, once its invoice is paid, or at the end of the period',
  input: z.object({
    ...change,
    ...parts.checkout,
    paymentMethodId: input.line.default('').describe('Charged for the subscription from then on, this change included'),
    subscriptionId: input.line.default(''),
    userId: input.integer.default(0),
    quantity: parts.quantity,
    confirmCurrency: input.optionalCurrency,
    confirmTotalAmount: z.int().optional().describe('The total of the preview; the command is refused if it differs'),
    discount: parts.externalDiscount.optional(),
    manualPayment: input.flag.default(false).describe('true: its invoices are not charged by themselves'),
    productData: parts.productData.optional(),
    refund: input.flag.default(false).describe('Refund a negative total instead of crediting it'),
    taxPercentage: parts.taxPercentage,
  }),
  output: z.object({
    action,
    invoiceId: text,
    link: text,
    note: text,
    paid: flag,
    paymentId: text,
    subscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  }),
  errors: [...changeErrors, 'amount_below_minimum', 'total_changed', 'payment_method_not_found'],
});

export const listPendingUpdates = operation({
  ...reading,
  name: 'subscription.pending_update_list',
  path: '/merchant/subscription/pending_update_list',
  summary: 'Changes of a subscription that were submitted, newest first',
  input: input.paged(z.object({ subscriptionId: input.filled, ...input.paging })),
  output: z.object({ subscriptionPendingUpdates: z.array(SubscriptionPendingUpdate), total: input.total }),
  errors: ['subscription_not_found'],
});

export const pendingUpdateDetail = operation({
  ...reading,
  name: 'subscription.pending_update_detail',
  path: '/merchant/subscription/pending_update_detail',
  summary: 'A change of a subscription that was submitted',
  input: z.object({ subscriptionPendingUpdateId: input.filled }),
  output: z.object({ subscriptionPendingUpdate: SubscriptionPendingUpdate }),
  errors: ['pending_update_not_found'],
});
