import { z } from 'zod';
import { MetricPlanLimit } from '../../catalog/plan-limits.js';
import { aggregationType, metricType } from '../../codes.js';
import { code, flag, integer, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Invoice } from '../invoices/shape.js';

const quotaAdjustment = z.object({
  id: integer,
  adjustmentTime: time,
  merchantMemberId: integer,
  previousPeriodLimit: integer,
  previousPeriodUsed: integer,
  quotaAmount: integer,
  merchantMemberEmail: text,
  quotaType: text,
  reason: text,
});
export interface QuotaAdjustment extends z.output<typeof quotaAdjustment> {}
export const QuotaAdjustment: Shape<QuotaAdjustment> = quotaAdjustment.meta({
  id: 'QuotaAdjustment',
});

const userHistoryMetricLimit = z.object({
  MerchantId: integer,
  MetricId: integer,
  UserId: integer,
  TotalLimit: integer,
  type: code(metricType),
  aggregationType: code(aggregationType),
  aggregationProperty: text,
  code: text,
  metricName: text,
  PlanLimits: z.array(MetricPlanLimit),
  quotaAdjustments: z.array(QuotaAdjustment),
});
export interface UserHistoryMetricLimit extends z.output<typeof userHistoryMetricLimit> {}
export const UserHistoryMetricLimit: Shape<UserHistoryMetricLimit> = userHistoryMetricLimit.meta({
  id: 'UserHistoryMetricLimit',
});

const userHistoryLimitStat = z.object({
  maxEventId: integer,
  minEventId: integer,
  totalLimit: integer,
  usedValue: integer,
  metricLimit: UserHistoryMetricLimit.nullable(),
});
export interface UserHistoryLimitStat extends z.output<typeof userHistoryLimitStat> {}
export const UserHistoryLimitStat: Shape<UserHistoryLimitStat> = userHistoryLimitStat.meta({
  id: 'UserHistoryLimitStat',
});

const userHistoryMetric = z.object({
  invoiceId: text,
  limitStats: z.array(UserHistoryLimitStat),
});
export interface UserHistoryMetric extends z.output<typeof userHistoryMetric> {}
export const UserHistoryMetric: Shape<UserHistoryMetric> = userHistoryMetric.meta({
  id: 'UserHistoryMetric',
});

const limitAdjustment = quotaAdjustment.extend({ metricId: integer, userId: integer, subscriptionId: text });
export interface LimitAdjustment extends z.output<typeof limitAdjustment> {}
/** An adjustment with what it is of. */
export const LimitAdjustment: Shape<LimitAdjustment> = limitAdjustment.meta({ id: 'LimitAdjustment' });

export const listLimitAdjustments = operation({
  service: 'billing',
  name: 'metric.limit_adjust_list',
  methods: ['GET', 'POST'],
  path: '/merchant/metric/limit_adjust_list',
  summary: 'Adjustments of limits, by hand (manual) and by what a period left over (carryover), newest first',
  effect: 'read',
  permission: 'billable-metric.read',
  input: input.paged(
    z.object({
      userId: input.q.int().optional(),
      metricId: input.q.int().optional(),
      subscriptionId: input.line.optional(),
      ...input.paging,
    }),
  ),
  output: z.object({ adjustments: z.array(LimitAdjustment), total: input.total }),
  errors: [],
});

export const metricHistoryByInvoice = operation({
  service: 'billing',
  name: 'metric.history_by_invoice',
  methods: ['GET'],
  path: '/merchant/metric/user/history/metric_by_invoice',
  summary: 'Usage of limit metrics in the period of a subscription invoice',
  effect: 'read',
  permission: 'billable-metric.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({ isLatestPaidInvoice: flag, userHistoryMetric: UserHistoryMetric }),
  errors: ['invoice_not_found', 'invoice_without_subscription'],
});

export const metricHistoryBySubscription = operation({
  service: 'billing',
  name: 'metric.history_by_subscription',
  methods: ['GET'],
  path: '/merchant/metric/user/history/metric_by_subscription',
  summary: 'Usage of limit metrics in the current period of a subscription',
  effect: 'read',
  permission: 'billable-metric.read',
  input: z.object({ subscriptionId: input.filled }),
  output: z.object({ userHistoryMetric: UserHistoryMetric }),
  errors: ['subscription_not_found'],
});

export const metricHistoryInvoices = operation({
  service: 'billing',
  name: 'metric.history_invoices',
  methods: ['GET'],
  path: '/merchant/metric/user/history/invoices_metric_queryable',
  summary: 'Paid subscription invoices of a user whose usage metric_by_invoice shows, newest first',
  effect: 'read',
  permission: 'billable-metric.read',
  input: input.paged(z.object({ userId: input.q.int(), subscriptionId: input.line.optional(), ...input.paging })),
  output: z.object({ invoices: z.array(Invoice), total: input.total }),
  errors: [],
});
