import { z } from 'zod';
import { aggregationType, metricChargeType, metricType } from '../codes.js';
import { amount, anyObject, code, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';

const merchantMetric = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  gmtModify: time,
  aggregationType: code(aggregationType),
  type: code(metricType),
  aggregationProperty: text,
  code: text,
  metricName: text,
  metricDescription: text,
  unit: text,
  archived: flag,
  carryoverProrationEnabled: flag,
  prorationRefundEnabled: flag,
  metaData: anyObject,
});
export interface MerchantMetric extends z.output<typeof merchantMetric> {}
export const MerchantMetric: Shape<MerchantMetric> = merchantMetric.meta({ id: 'MerchantMetric' });

const metricPlanChargeStep = z.object({
  startValue: integer,
  endValue: integer,
  flatAmount: amount,
  perAmount: amount,
});
export interface MetricPlanChargeStep extends z.output<typeof metricPlanChargeStep> {}
export const MetricPlanChargeStep: Shape<MetricPlanChargeStep> = metricPlanChargeStep.meta({
  id: 'MetricPlanChargeStep',
});

const metricPlanCharge = z.object({
  chargeType: code(metricChargeType),
  metricId: integer,
  standardAmount: amount,
  standardStartValue: integer,
  graduatedAmounts: z.array(MetricPlanChargeStep),
});
export interface MetricPlanCharge extends z.output<typeof metricPlanCharge> {}
export const MetricPlanCharge: Shape<MetricPlanCharge> = metricPlanCharge.meta({
  id: 'MetricPlanCharge',
});

const planMetricLimit = z.object({
  metricId: integer,
  metricLimit: integer,
});
export interface PlanMetricLimit extends z.output<typeof planMetricLimit> {}
export const PlanMetricLimit: Shape<PlanMetricLimit> = planMetricLimit.meta({
  id: 'PlanMetricLimit',
});

const planMetricChargeConfig = z.object({
  chargeType: code(metricChargeType),
  metricId: integer,
  metricType: code(metricType),
  metricCode: text,
  metricName: text,
  standardAmount: amount,
  standardStartValue: integer,
});
export interface PlanMetricChargeConfig extends z.output<typeof planMetricChargeConfig> {}
export const PlanMetricChargeConfig: Shape<PlanMetricChargeConfig> = planMetricChargeConfig.meta({
  id: 'PlanMetricChargeConfig',
});

const planMetricLimitConfig = z.object({
  metricCode: text,
  metricName: text,
  metricId: integer,
  metricLimit: integer,
  metricType: code(metricType),
});
export interface PlanMetricLimitConfig extends z.output<typeof planMetricLimitConfig> {}
export const PlanMetricLimitConfig: Shape<PlanMetricLimitConfig> = planMetricLimitConfig.meta({
  id: 'PlanMetricLimitConfig',
});

const metricPlanLimit = z.object({
  id: integer,
  merchantId: integer,
  metricId: integer,
  metricLimit: integer,
  planId: integer,
  quantity: integer,
  createTime: time,
  gmtModify: time,
  merchantMetric: MerchantMetric.nullable(),
});
export interface MetricPlanLimit extends z.output<typeof metricPlanLimit> {}
export const MetricPlanLimit: Shape<MetricPlanLimit> = metricPlanLimit.meta({
  id: 'MetricPlanLimit',
});

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

export const PlanMetricLimitInput = z.object({ metricId: input.integer, metricLimit: z.int().min(0) });

/** A price by use. Of graduated steps the last has endValue −1: it is open; activation asks for it. */
export const MetricPlanChargeInput = z.object({
  metricId: input.integer,
  chargeType: input.code(metricChargeType).default(metricChargeType.standard),
  standardAmount: input.price.default(0),
  standardStartValue: z.int().min(0).default(0),
  graduatedAmounts: input
    .list(
      z.object({
        startValue: z.int().min(0),
        endValue: z.int().min(-1),
        flatAmount: input.price.default(0),
        perAmount: input.price.default(0),
      }),
    )
    .default([]),
});
