import { z } from 'zod';
import { MerchantMetric, MetricPlanCharge, MetricPlanChargeStep } from '../../catalog/metrics.js';
import { Plan, PlanSnapshotAddon } from '../../catalog/plan-shape.js';
import { Product } from '../../catalog/products.js';
import { amount, flag, integer, type Shape, text, time } from '../../field.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { InvoiceLineMetricChargeLine } from '../invoices/lines.js';
import { Subscription } from '../subscriptions/shape.js';
import { ofUser, usageUser, usageValue } from './events.js';
import { UserHistoryMetricLimit } from './limits.js';

const userMerchantMetricLimitStat = z.object({
  CurrentUsedValue: integer,
  maxEventId: integer,
  minEventId: integer,
  metricLimit: UserHistoryMetricLimit.nullable(),
});
export interface UserMerchantMetricLimitStat extends z.output<typeof userMerchantMetricLimitStat> {}
export const UserMerchantMetricLimitStat: Shape<UserMerchantMetricLimitStat> = userMerchantMetricLimitStat.meta({
  id: 'UserMerchantMetricLimitStat',
});

const userMerchantMetricChargeStat = z.object({
  CurrentUsedValue: integer,
  chargePricing: MetricPlanCharge.nullable(),
  graduatedStep: MetricPlanChargeStep.nullable(),
  lines: z.array(InvoiceLineMetricChargeLine),
  maxEventId: integer,
  merchantMetric: MerchantMetric.nullable(),
  metricId: integer,
  minEventId: integer,
  totalChargeAmount: amount,
});
export interface UserMerchantMetricChargeStat extends z.output<typeof userMerchantMetricChargeStat> {}
export const UserMerchantMetricChargeStat: Shape<UserMerchantMetricChargeStat> = userMerchantMetricChargeStat.meta({
  id: 'UserMerchantMetricChargeStat',
});

const userOnetimeAddonDetail = z.object({
  addon: Plan.nullable(),
  addonId: integer,
  createTime: time,
  periodEnd: time,
  periodStart: time,
  quantity: integer,
});
export interface UserOnetimeAddonDetail extends z.output<typeof userOnetimeAddonDetail> {}
export const UserOnetimeAddonDetail: Shape<UserOnetimeAddonDetail> = userOnetimeAddonDetail.meta({
  id: 'UserOnetimeAddonDetail',
});

const userMetric = z.object({
  addons: z.array(PlanSnapshotAddon),
  description: text,
  isPaid: flag,
  limitStats: z.array(UserMerchantMetricLimitStat),
  meteredChargeStats: z.array(UserMerchantMetricChargeStat),
  onetimeAddons: z.array(UserOnetimeAddonDetail),
  plan: Plan.nullable(),
  product: Product.nullable(),
  recurringChargeStats: z.array(UserMerchantMetricChargeStat),
  subscription: Subscription.nullable(),
  user: User.nullable(),
});
export interface UserMetric extends z.output<typeof userMetric> {}
/** Usage of a subscription in its current period; without values where it takes no usage yet, or no longer. */
export const UserMetric: Shape<UserMetric> = userMetric.meta({ id: 'UserMetric' });

const userMetricUpdate = z.object({
  merchantId: integer,
  userId: integer,
  subscriptionId: text,
  metricId: integer,
  code: text,
  metricName: text,
  currentValue: integer,
  totalLimit: integer.describe('0 for charges'),
  alert: integer.describe('80 or 100: the percentage of the limit that was reached; 0 for a change'),
  periodStart: time,
  periodEnd: time,
  updateTime: time,
});
export interface UserMetricUpdate extends z.output<typeof userMetricUpdate> {}
/** The data of user.metric.update. */
export const UserMetricUpdate: Shape<UserMetricUpdate> = userMetricUpdate.meta({ id: 'UserMetricUpdate' });

export const usageCurrentValue = operation({
  service: 'billing',
  name: 'metric.event_current_value',
  methods: ['POST'],
  path: '/merchant/metric/event/current_value',
  summary: 'The value of a metric for a user in the current period, and its limit',
  effect: 'read',
  permission: 'billable-metric.read',
  input: ofUser(z.object({ ...usageUser, metricCode: input.filledKey, productId: input.integer.default(0) })),
  output: z.object({ currentValue: integer, metricLimit: UserHistoryMetricLimit.nullable(), totalLimit: integer }),
  errors: ['user_not_found', 'metric_not_found', 'usage_not_subscribed'],
});

const refusals = ['', 'usage_not_subscribed', 'usage_period_invoiced', 'usage_limit_exceeded'] as const;

export const checkUsage = operation({
  service: 'billing',
  name: 'metric.check',
  methods: ['POST'],
  path: '/merchant/metric/check',
  summary: 'Whether a usage event would be taken now, and what is left of the limit; nothing is recorded',
  effect: 'read',
  permission: 'billable-metric.read',
  input: ofUser(
    z.object({
      ...usageUser,
      metricCode: input.filledKey,
      aggregationValue: usageValue
        .optional()
        .describe('The value that the event would have, for latest, max and sum; 1 if neither is given'),
      aggregationUniqueId: input.externalId
        .default('')
        .describe('The id that it would have, for unique counts; blank: a new one'),
      productId: input.integer.default(0).describe("Of the user's subscription; 0 for any"),
    }),
  ),
  output: z.object({
    allowed: flag,
    reason: z.enum(refusals).describe('The error of metric/event/new; blank if the event would be taken'),
    currentValue: integer.describe('Used so far'),
    isLimited: flag.describe('A limit holds; a metric that is only charged has none'),
    totalLimit: integer,
    left: integer.describe('What the limit leaves; 0 where none holds'),
    periodEnd: time.describe('When the period ends in which it would count; 0 without a subscription'),
  }),
  errors: ['user_not_found', 'metric_not_found'],
});

const userQuery = {
  userId: input.q.int().default(0),
  externalUserId: usageUser.externalUserId,
  email: usageUser.email,
};
const reloadCache = input.q.bool().optional().describe('Accepted; there is no cache');

export const userUsage = operation({
  service: 'billing',
  name: 'metric.user_metric',
  methods: ['GET'],
  path: '/merchant/metric/user/metric',
  summary: "Usage of a user's subscription in its current period: limits, and what charges come to",
  effect: 'read',
  permission: 'billable-metric.read',
  input: ofUser(z.object({ ...userQuery, productId: input.q.int().default(0), reloadCache })),
  output: z.object({ userMetric: UserMetric }),
  errors: ['user_not_found'],
});

export const subscriptionUsage = operation({
  service: 'billing',
  name: 'metric.user_sub_metric',
  methods: ['GET'],
  path: '/merchant/metric/user/sub/metric',
  summary: 'Usage of a subscription in its current period: limits, and what charges come to',
  effect: 'read',
  permission: 'billable-metric.read',
  input: z.object({ subscriptionId: input.filled, reloadCache }),
  output: z.object({ userMetric: UserMetric }),
  errors: ['subscription_not_found'],
});

export const adjustLimit = operation({
  service: 'billing',
  name: 'metric.limit_adjust',
  methods: ['POST'],
  path: '/merchant/metric/limit_adjust',
  summary: "Raise or lower a user's limit for the current period, never below what is used",
  effect: 'write',
  permission: 'billable-metric.write',
  input: input.rule(
    z.object({
      amount: z.int().min(-1_000_000_000_000).max(1_000_000_000_000),
      metricCode: input.filledKey,
      reason: input.filled,
      userId: input.integer.default(0),
      productId: input.integer.default(0),
      subscriptionId: input.line.default('').describe('Or the user'),
    }),
    'must name the user or the subscription',
    ({ userId, subscriptionId }) => userId !== 0 || subscriptionId !== '',
    ['userId'],
  ),
  output: z.object({ success: flag }),
  errors: [
    'user_not_found',
    'metric_not_found',
    'metric_without_limit',
    'subscription_not_found',
    'usage_not_subscribed',
    'limit_below_usage',
  ],
});
