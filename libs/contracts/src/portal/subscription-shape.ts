import { z } from 'zod';
import { PlanAddonParam } from '../billing/subscriptions/details.js';
import { pendingUpdateEffect, pendingUpdateStatus, subscriptionStatus } from '../codes.js';
import { amount, code, integer, percent, type Shape, text, time } from '../field.js';
import { PortalGateway, PortalInvoice } from './invoices.js';
import { PortalPlan, PortalPlanAddon } from './plans.js';

const portalSubscription = z.object({
  subscriptionId: text,
  status: code(subscriptionStatus),
  planId: integer,
  productId: integer,
  quantity: integer,
  amount,
  currency: text,
  createTime: time,
  currentPeriodStart: time,
  currentPeriodEnd: time,
  trialEnd: time,
  billingCycleAnchor: time,
  cancelAtPeriodEnd: integer,
  cancelOrExpireTime: time,
  cancelReason: text,
  dunningTime: time,
  gatewayId: integer,
  defaultPaymentMethodId: text,
  latestInvoiceId: text,
  pendingUpdateId: text,
  taxPercentage: percent,
  timeZone: text,
  vatNumber: text,
  testClock: time.describe("The merchant's present time in a sandbox whose clock was moved; else 0"),
});
export interface PortalSubscription extends z.output<typeof portalSubscription> {}
export const PortalSubscription: Shape<PortalSubscription> = portalSubscription.meta({ id: 'PortalSubscription' });

const portalPendingUpdate = z.object({
  pendingUpdateId: text,
  subscriptionId: text,
  status: code(pendingUpdateStatus),
  effectImmediate: code(pendingUpdateEffect),
  effectTime: time,
  planId: integer,
  plan: PortalPlan.nullable(),
  quantity: integer,
  addons: z.array(PortalPlanAddon),
  amount,
  currency: text,
  updatePlanId: integer,
  updatePlan: PortalPlan.nullable(),
  updateQuantity: integer,
  updateAddons: z.array(PortalPlanAddon),
  updateAmount: amount,
  updateCurrency: text,
  prorationAmount: amount,
  invoiceId: text,
  link: text,
  paid: integer,
});
export interface PortalPendingUpdate extends z.output<typeof portalPendingUpdate> {}
export const PortalPendingUpdate: Shape<PortalPendingUpdate> = portalPendingUpdate.meta({ id: 'PortalPendingUpdate' });

export const shownOfSubscription = {
  subscription: PortalSubscription,
  plan: PortalPlan.nullable(),
  addons: z.array(PortalPlanAddon),
  addonParams: z.array(PlanAddonParam),
  gateway: PortalGateway.nullable(),
  latestInvoice: PortalInvoice.nullable(),
  unfinishedSubscriptionPendingUpdate: PortalPendingUpdate.nullable(),
};
const detail = z.object(shownOfSubscription);
export interface PortalSubscriptionDetail extends z.output<typeof detail> {}
export const PortalSubscriptionDetail: Shape<PortalSubscriptionDetail> = detail.meta({
  id: 'PortalSubscriptionDetail',
});
