import { z } from 'zod';
import { previewChange, submitChange } from '../billing/subscriptions/changes.js';
import { createSubscription, previewSubscription } from '../billing/subscriptions/create.js';
import { PlanAddonParam } from '../billing/subscriptions/details.js';
import { cancelAtPeriodEnd, keepAfterPeriodEnd } from '../billing/subscriptions/endings.js';
import { changeDueDay } from '../billing/subscriptions/running.js';
import { ValidResult } from '../billing/taxes.js';
import { discountProblems, pendingUpdateEffect } from '../codes.js';
import { amount, code, Empty, flag, integer, percent, text, time } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';
import { PortalExplanation, PortalGateway, PortalInvoice, PortalOfferedGateway } from './invoices.js';
import { PortalPlan, PortalPlanAddon } from './plans.js';
import {
  PortalPendingUpdate,
  PortalSubscription,
  PortalSubscriptionDetail,
  shownOfSubscription,
} from './subscription-shape.js';

const reading = { service: 'billing', effect: 'read', permission: anyUser } as const;
const writing = { service: 'billing', effect: 'write', permission: anyUser, methods: ['POST'] } as const;
const asking = { ...writing, effect: 'read' } as const;
const key = { subscriptionId: input.filled };

export const portalGatewayList = operation({
  ...reading,
  name: 'portal.gateway_list',
  methods: ['GET', 'POST'],
  path: '/portal/gateway/list',
  summary: 'The gateways by which the caller can pay, ordered by sort',
  input: z.object({}),
  output: z.object({ gateways: z.array(PortalOfferedGateway) }),
  errors: [],
});

/** Fields that preview and submit of a new subscription share. */
const terms = previewSubscription.input.pick({
  planId: true,
  quantity: true,
  addonParams: true,
  currency: true,
  discountCode: true,
  gatewayId: true,
  applyPromoCredit: true,
  vatCountryCode: true,
  vatNumber: true,
});

const quoted = {
  currency: text,
  invoice: PortalInvoice,
  explanation: PortalExplanation,
  originAmount: amount,
  discountAmount: amount,
  discountMessage: text.describe('Why the code cannot be used; blank if it can'),
  discountProblem: z.enum(discountProblems).describe('The same as a word, to be translated'),
  taxReason: text.describe('The rule that gave the tax rate, in words'),
  totalAmount: amount.describe('To be sent as confirmTotalAmount'),
  applyPromoCredit: flag,
};

export const portalCreatePreview = operation({
  ...asking,
  name: 'portal.create_preview',
  path: '/portal/subscription/create_preview',
  summary: 'Preview the first invoice of a new subscription of the caller; nothing is changed',
  input: terms,
  output: z.object({
    ...quoted,
    plan: PortalPlan.nullable(),
    quantity: integer,
    addons: z.array(PortalPlanAddon),
    addonParams: z.array(PlanAddonParam),
    gateway: PortalGateway.nullable(),
    otherActiveSubscriptionId: text.describe('A live subscription to the product, which has to end or be changed'),
    subscriptionAmountExcludingTax: amount,
    taxAmount: amount,
    taxPercentage: percent,
    timeZone: text.describe('IANA name of the zone in which its periods begin'),
    trialEnd: time,
    vatCountryCode: text,
    vatCountryName: text,
    vatNumber: text,
    vatNumberValidate: ValidResult.nullable(),
    vatNumberValidateMessage: text,
  }),
  errors: previewSubscription.errors,
});

const confirmed = {
  confirmCurrency: input.optionalCurrency,
  confirmTotalAmount: z.int().describe('The total of the preview; the command is refused if it differs'),
  returnUrl: input.returnUrl.default('').describe('Where a page of the gateway leads when done'),
  cancelUrl: input.returnUrl.default(''),
};

export const portalCreateSubmit = operation({
  ...writing,
  name: 'portal.create_submit',
  path: '/portal/subscription/create_submit',
  summary: 'Create a subscription of the caller with its first invoice; it becomes active when that is paid',
  input: z.object({
    ...terms.shape,
    ...confirmed,
    paymentMethodId: createSubscription.input.shape.paymentMethodId,
  }),
  output: z.object({
    subscription: PortalSubscription,
    invoiceId: text.describe('Blank if nothing is charged at the start'),
    link: text.describe("The invoice's page"),
    paid: flag,
    paymentId: text,
  }),
  errors: createSubscription.errors,
});

export const portalSubscriptionList = operation({
  ...reading,
  name: 'portal.subscription_list',
  methods: ['GET', 'POST'],
  path: '/portal/subscription/list',
  summary: "The caller's subscriptions, newest first",
  input: input.paged(z.object({ ...input.paging })),
  output: z.object({ subscriptions: z.array(PortalSubscriptionDetail), total: input.total }),
  errors: [],
});

export const portalSubscriptionDetail = operation({
  ...reading,
  name: 'portal.subscription_detail',
  methods: ['GET'],
  path: '/portal/subscription/detail',
  summary: 'A subscription of the caller with its plan, add-ons, latest invoice and pending change',
  input: z.object(key),
  output: z.object(shownOfSubscription),
  errors: ['subscription_not_found'],
});

export const portalNextInvoice = operation({
  ...reading,
  name: 'portal.next_invoice',
  methods: ['GET'],
  path: '/portal/subscription/next_invoice',
  summary: 'Preview the next invoice of a subscription of the caller; nothing is changed',
  input: z.object(key),
  output: z.object({ invoice: PortalInvoice, subscription: PortalSubscription }),
  errors: ['subscription_not_found', 'subscription_without_next_invoice'],
});

const { shape: changed } = submitChange.input;
const change = {
  ...key,
  newPlanId: changed.newPlanId,
  quantity: changed.quantity,
  addonParams: changed.addonParams,
  discountCode: changed.discountCode,
  applyPromoCredit: changed.applyPromoCredit,
  gatewayId: changed.gatewayId,
  vatCountryCode: changed.vatCountryCode,
  vatNumber: changed.vatNumber,
  prorationDate: changed.prorationDate.describe("The preview's prorationDate, so that the amounts hold; 0: now"),
};
export const portalUpdatePreview = operation({
  ...asking,
  name: 'portal.update_preview',
  path: '/portal/subscription/update_preview',
  summary: 'Preview the invoice of a change of plan, quantity or add-ons; nothing is changed',
  input: z.object(change),
  output: z.object({
    ...quoted,
    effectImmediate: code(pendingUpdateEffect).describe('1: takes effect now; 0: at the end of the period'),
    effectTime: time,
    nextPeriodInvoice: PortalInvoice.nullable(),
    prorationDate: time.describe('To be sent with the submit'),
  }),
  errors: previewChange.errors,
});

export const portalUpdateSubmit = operation({
  ...writing,
  name: 'portal.update_submit',
  path: '/portal/subscription/update_submit',
  summary: 'Change plan, quantity or add-ons: now, once its invoice is paid, or at the end of the period',
  input: z.object({ ...change, ...confirmed, paymentMethodId: changed.paymentMethodId }),
  output: z.object({
    invoiceId: text,
    link: text,
    paid: flag,
    paymentId: text,
    subscriptionPendingUpdate: PortalPendingUpdate.nullable(),
  }),
  errors: submitChange.errors,
});

export const portalPendingUpdateCancel = operation({
  ...writing,
  name: 'portal.pending_update_cancel',
  path: '/portal/subscription/pending_update_cancel',
  summary: 'Take back a change that has not taken effect, with its invoice; no effect if there is none',
  input: z.object(key),
  output: Empty,
  errors: ['subscription_not_found', 'payment_under_way'],
});

export const portalCancelAtPeriodEnd = operation({
  ...writing,
  name: 'portal.cancel_at_period_end',
  path: '/portal/subscription/cancel_at_period_end',
  summary: 'End a subscription of the caller when its current period ends; no effect if that is already so',
  input: z.object(key),
  output: Empty,
  errors: cancelAtPeriodEnd.errors,
});

export const portalResume = operation({
  ...writing,
  name: 'portal.resume',
  path: '/portal/subscription/resume',
  summary: 'Take back a cancellation at the end of the period; no effect if there is none',
  input: z.object(key),
  output: Empty,
  errors: keepAfterPeriodEnd.errors,
});

export const portalChangeDueDay = operation({
  ...writing,
  name: 'portal.change_due_day',
  path: '/portal/subscription/change_due_day',
  summary: 'Change the day on which periods begin; a shorter one leads to it',
  input: changeDueDay.input,
  output: z.object({ subscription: PortalSubscription, invoice: PortalInvoice.nullable() }),
  errors: changeDueDay.errors,
});
