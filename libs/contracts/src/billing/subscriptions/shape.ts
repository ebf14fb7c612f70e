import { z } from 'zod';
import { Plan, PlanSnapshotAddon } from '../../catalog/plan-shape.js';
import { pendingUpdateEffect, pendingUpdateStatus, subscriptionStatus } from '../../codes.js';
import {
  amount,
  anyObject,
  code,
  flag,
  integer,
  isoTime,
  percent,
  type Shape,
  seconds,
  text,
  time,
} from '../../field.js';
import { MerchantMember } from '../../identity/members.js';

const subscriptionMultiTrialItem = z.object({
  compareAtPrice: amount,
  duration: seconds,
  intervalCount: integer,
  intervalUnit: text,
  metadata: anyObject,
  name: text,
  price: amount,
});
export interface SubscriptionMultiTrialItem extends z.output<typeof subscriptionMultiTrialItem> {}
export const SubscriptionMultiTrialItem: Shape<SubscriptionMultiTrialItem> = subscriptionMultiTrialItem.meta({
  id: 'SubscriptionMultiTrialItem',
});

const subscriptionMultiTrial = z.object({
  currency: text,
  currentIndex: integer,
  finished: flag,
  planId: integer,
  regularPrice: amount,
  startedAt: time,
  trials: z.array(SubscriptionMultiTrialItem),
  version: integer,
});
export interface SubscriptionMultiTrial extends z.output<typeof subscriptionMultiTrial> {}
export const SubscriptionMultiTrial: Shape<SubscriptionMultiTrial> = subscriptionMultiTrial.meta({
  id: 'SubscriptionMultiTrial',
});

const subscriptionPriceChange = z.object({
  planId: integer.describe('The plan or add-on'),
  oldAmount: amount.describe('Price of one unit until then, in the currency of the subscription'),
  newAmount: amount,
  noticeTime: time.describe('When it is announced, or was'),
  effectTime: time.describe('The start of the first period that is billed at the new price'),
});
export interface SubscriptionPriceChange extends z.output<typeof subscriptionPriceChange> {}
export const SubscriptionPriceChange: Shape<SubscriptionPriceChange> = subscriptionPriceChange.meta({
  id: 'SubscriptionPriceChange',
});

const subscription = z.object({
  addonData: text,
  amount: amount,
  billingCycleAnchor: time,
  cancelAtPeriodEnd: integer,
  cancelOrExpireTime: time,
  cancelReason: text,
  countryCode: text,
  createTime: time,
  currency: text,
  currentPeriodEnd: time,
  currentPeriodPaid: integer,
  currentPeriodStart: time,
  defaultPaymentMethodId: text,
  dunningTime: time,
  externalSubscriptionId: text,
  features: text,
  firstPaidTime: time,
  gasPayer: text,
  gatewayId: integer,
  gatewayStatus: text,
  id: integer,
  lastUpdateTime: time,
  latestInvoiceId: text,
  merchantId: integer,
  metadata: anyObject,
  multiTrial: SubscriptionMultiTrial.nullable(),
  originalPeriodEnd: time,
  parkedReason: text.describe("Why it is not billed for now, until it is resumed; '' while it is"),
  pendingUpdateId: text,
  planId: integer,
  priceChanges: z
    .array(SubscriptionPriceChange)
    .describe('Price changes of its plans that are to come, or took effect with the current period'),
  productId: integer,
  quantity: integer,
  returnUrl: text,
  status: code(subscriptionStatus),
  subscriptionId: text,
  taskTime: text,
  taxPercentage: percent,
  testClock: time,
  timeZone: text,
  trialEnd: time,
  type: integer,
  userId: integer,
  vatNumber: text,
});
export interface Subscription extends z.output<typeof subscription> {}
export const Subscription: Shape<Subscription> = subscription.meta({ id: 'Subscription' });

const subscriptionPendingUpdate = z.object({
  addonData: text,
  addons: z.array(PlanSnapshotAddon),
  amount: amount,
  currency: text,
  effectImmediate: code(pendingUpdateEffect),
  effectTime: time,
  gatewayId: integer,
  gmtCreate: isoTime,
  gmtModify: isoTime,
  invoiceId: text,
  link: text,
  merchantId: integer,
  merchantMember: MerchantMember.nullable(),
  metadata: anyObject,
  name: text,
  note: text,
  paid: integer,
  pendingUpdateId: text,
  plan: Plan.nullable(),
  planId: integer,
  prorationAmount: amount,
  quantity: integer,
  status: code(pendingUpdateStatus),
  subscriptionId: text,
  updateAddonData: text,
  updateAddons: z.array(PlanSnapshotAddon),
  updateAmount: amount,
  updateCurrency: text,
  updatePlan: Plan.nullable(),
  updatePlanId: integer,
  updateQuantity: integer,
  userId: integer,
});
export interface SubscriptionPendingUpdate extends z.output<typeof subscriptionPendingUpdate> {}
export const SubscriptionPendingUpdate: Shape<SubscriptionPendingUpdate> = subscriptionPendingUpdate.meta({
  id: 'SubscriptionPendingUpdate',
});
