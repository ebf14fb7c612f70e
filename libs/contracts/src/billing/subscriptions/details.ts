import { z } from 'zod';
import { Plan, PlanSnapshotAddon } from '../../catalog/plan-shape.js';
import { bizType, onetimeAddonStatus, subscriptionStatus, subscriptionTimelineStatus } from '../../codes.js';
import { amount, anyObject, code, integer, isoTime, type Shape, text, time } from '../../field.js';
import { User } from '../../identity/user-shape.js';
import { Discount } from '../discounts.js';
import { Gateway } from '../gateways.js';
import { Invoice } from '../invoices/shape.js';
import { Subscription, SubscriptionPendingUpdate } from './shape.js';

const planAddonParam = z.object({ addonPlanId: integer, quantity: integer });
export interface PlanAddonParam extends z.output<typeof planAddonParam> {}
export const PlanAddonParam: Shape<PlanAddonParam> = planAddonParam.meta({ id: 'PlanAddonParam' });

const subscriptionDetail = z.object({
  addonParams: z.array(PlanAddonParam),
  addons: z.array(PlanSnapshotAddon),
  dayLeft: integer.describe('Days left of the current period, rounded up'),
  discount: Discount.nullable().describe('The recurring discount that it has'),
  gateway: Gateway.nullable(),
  latestInvoice: Invoice.nullable(),
  note: text,
  plan: Plan.nullable(),
  previousStatus: code(subscriptionStatus),
  source: text,
  subscription: Subscription,
  unfinishedSubscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  user: User.nullable(),
});
/** A subscription with what belongs to it. */
export interface SubscriptionDetail extends z.output<typeof subscriptionDetail> {}
export const SubscriptionDetail: Shape<SubscriptionDetail> = subscriptionDetail.meta({ id: 'SubscriptionDetail' });

const subscriptionTimeLineDetail = z.object({
  addons: z.array(PlanSnapshotAddon),
  createTime: time,
  currency: text,
  gatewayId: integer,
  invoiceId: text,
  merchantId: integer,
  paymentId: text,
  periodEnd: time,
  periodEndTime: isoTime,
  periodStart: time,
  periodStartTime: isoTime,
  plan: Plan.nullable(),
  planId: integer,
  quantity: integer,
  status: code(subscriptionTimelineStatus),
  subscriptionId: text,
  uniqueId: text,
  userId: integer,
});
/** A period of a subscription. */
export interface SubscriptionTimeLineDetail extends z.output<typeof subscriptionTimeLineDetail> {}
export const SubscriptionTimeLineDetail: Shape<SubscriptionTimeLineDetail> = subscriptionTimeLineDetail.meta({
  id: 'SubscriptionTimeLineDetail',
});

const onetimePaymentItem = z.object({
  amount: amount,
  bizType: code(bizType),
  createTime: time,
  currency: text,
  description: text,
  id: integer,
  invoiceId: text,
  merchantId: integer,
  name: text,
  paymentId: text,
  quantity: integer,
  status: code(onetimeAddonStatus),
  subscriptionId: text,
  uniqueId: text,
  unitAmount: amount,
  userId: integer,
});
/** A one-time add-on that was sold on a subscription. */
export interface OnetimePaymentItem extends z.output<typeof onetimePaymentItem> {}
export const OnetimePaymentItem: Shape<OnetimePaymentItem> = onetimePaymentItem.meta({ id: 'OnetimePaymentItem' });

/** Next step of a checkout page; empty where the link is all. */
export const action = anyObject.describe('Instructions for the checkout page; empty where link is enough');
