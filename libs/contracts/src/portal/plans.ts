import { z } from 'zod';
import { MetricPlanChargeStep, unitDecimal } from '../catalog/metrics.js';
import { metricChargeType, metricType, planType } from '../codes.js';
import { amount, anyObject, code, flag, integer, type Shape, seconds, text } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';

// Shapes of the hosted pages are those of the merchant's operations without what the merchant keeps for itself: same names,
// same meaning, fewer fields.

const portalPlan = z.object({
  id: integer,
  productId: integer,
  planName: text,
  description: text,
  imageUrl: text,
  homeUrl: text,
  type: code(planType),
  amount,
  compareAtAmount: amount,
  currency: text,
  multiCurrencies: z.array(z.object({ currency: text, disable: flag }).meta({ id: 'PortalPlanCurrency' })),
  intervalUnit: text,
  intervalCount: integer,
  bindingAddonIds: text.describe('Recurring add-ons that it can be held with, also those that are sold no more'),
  trialAmount: amount,
  trialDurationTime: seconds,
  trialDemand: text,
  cancelAtTrialEnd: integer,
});
export interface PortalPlan extends z.output<typeof portalPlan> {}
export const PortalPlan: Shape<PortalPlan> = portalPlan.meta({ id: 'PortalPlan' });

const portalPlanAddon = z.object({ addonPlan: PortalPlan.nullable(), quantity: integer });
export interface PortalPlanAddon extends z.output<typeof portalPlanAddon> {}
export const PortalPlanAddon: Shape<PortalPlanAddon> = portalPlanAddon.meta({ id: 'PortalPlanAddon' });

const portalMetric = z.object({ id: integer, code: text, metricName: text, unit: text, type: code(metricType) });
export interface PortalMetric extends z.output<typeof portalMetric> {}
export const PortalMetric: Shape<PortalMetric> = portalMetric.meta({ id: 'PortalMetric' });

const portalCharge = z.object({
  metricId: integer,
  chargeType: code(metricChargeType),
  standardAmount: amount,
  standardAmountDecimal: unitDecimal,
  standardStartValue: integer,
  graduatedAmounts: z.array(MetricPlanChargeStep),
  merchantMetric: PortalMetric.nullable(),
});
export interface PortalCharge extends z.output<typeof portalCharge> {}
export const PortalCharge: Shape<PortalCharge> = portalCharge.meta({ id: 'PortalCharge' });

const portalOffer = z.object({
  plan: PortalPlan,
  product: z
    .object({ id: integer, productName: text, description: text, imageUrl: text, homeUrl: text })
    .meta({ id: 'PortalProduct' })
    .nullable(),
  addons: z.array(PortalPlan).describe('Recurring add-ons that can be bought with it'),
  metricPlanLimits: z.array(
    z
      .object({ metricId: integer, metricLimit: integer, merchantMetric: PortalMetric.nullable() })
      .meta({ id: 'PortalPlanLimit' }),
  ),
  metricMeteredCharge: z.array(PortalCharge),
  metricRecurringCharge: z.array(PortalCharge),
});
export interface PortalOffer extends z.output<typeof portalOffer> {}
/** A plan as it is offered to a user. */
export const PortalOffer: Shape<PortalOffer> = portalOffer.meta({ id: 'PortalOffer' });

/** The look of a page: a checkout template, as far as customers see it. */
export const checkoutLook = z.object({ name: text, data: anyObject }).meta({ id: 'CheckoutLook' }).nullable();

export const portalPlanDetail = operation({
  service: 'catalog',
  name: 'portal.plan_detail',
  methods: ['GET'],
  path: '/portal/plan/detail',
  summary: 'A plan that can be bought, with its product, add-ons and prices of usage, and the look of its checkout',
  effect: 'read',
  permission: anyUser,
  input: z.object({
    planId: input.q.int(),
    checkoutId: input.q
      .int()
      .default(0)
      .describe("The template that the link names; 0, or one that is archived: the plan's"),
  }),
  output: z.object({
    plan: PortalOffer,
    checkout: checkoutLook.describe("The plan's checkout template, else the merchant's default; null without one"),
  }),
  errors: ['plan_not_found'],
});

export const portalLook = operation({
  service: 'catalog',
  name: 'portal.look',
  methods: ['GET'],
  path: '/portal/look/detail',
  summary: 'The look of pages that are about no plan in particular',
  effect: 'read',
  permission: anyUser,
  input: z.object({}),
  output: z.object({ checkout: checkoutLook.describe("The merchant's default checkout template; null without one") }),
  errors: [],
});

export const portalPlanList = operation({
  service: 'catalog',
  name: 'portal.plan_list',
  methods: ['GET', 'POST'],
  path: '/portal/plan/list',
  summary: 'The published main plans of a product, newest first',
  effect: 'read',
  permission: anyUser,
  input: input.paged(
    z.object({ productId: input.q.int().default(0).describe('0: the default product'), ...input.paging }),
  ),
  output: z.object({ plans: z.array(PortalOffer), total: input.total }),
  errors: [],
});
