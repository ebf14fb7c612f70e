import {
  type MultiCurrencyConfig,
  type PlanAutoChargeConfig,
  type PlanMultiTrial,
  planType,
  type UsVatConfig,
} from '@recur/contracts';
import { document, flag, int, integer, integers, money, oneOf, optionalDocument, table, text } from '@recur/platform';
import { notDeleted } from '../columns.js';
import { type Plan, planLifecycle, publishLifecycle } from './domain/plan.js';

/** A plan with the fields that no rule of the domain depends on. */
export interface PlanRow extends Plan {
  multiCurrencies: MultiCurrencyConfig[];
  multiTrials: PlanMultiTrial[];
  autoChargeConfig: PlanAutoChargeConfig | null;
  usVatConfig: UsVatConfig | null;
  /** Stored when the plan is created, so links that customers have stay the same when the portal moves. */
  checkoutUrl: string;
  /** Product name shown at checkout; it neither creates nor renames a product. */
  productName: string;
  productDescription: string;
  /** Sort key of lists: see `sortNameOf`. */
  sortName: string;
}

/** Columns that plans are filtered by, besides their ids. */
const planFilters = [
  'status',
  'publishStatus',
  'type',
  'productId',
  'currency',
  'intervalUnit',
  'intervalCount',
] as const satisfies readonly (keyof PlanRow)[];

export const plans = table<PlanRow>('plans', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    publishStatus: text(),
    type: text(),
    productId: integer(),
    planName: text(),
    internalName: text(),
    description: text(),
    externalPlanId: text(),
    currency: text(),
    amount: money(),
    compareAtAmount: money(),
    intervalUnit: text(),
    intervalCount: integer(),
    trialAmount: money(),
    trialDurationSeconds: integer(),
    trialDemand: text(),
    cancelAtTrialEnd: flag(),
    disableAutoCharge: flag(),
    gasPayer: text(),
    homeUrl: text(),
    imageUrl: text(),
    checkoutUrl: text(),
    checkoutTemplateId: integer(),
    autoUpgradePlanId: integer(),
    addonIds: integers(),
    onetimeAddonIds: integers(),
    productName: text(),
    productDescription: text(),
    createTime: integer(),
    modifyTime: integer(),
    metadata: document(),
    metricLimits: document(),
    metricMeteredCharge: document(),
    metricRecurringCharge: document(),
    multiCurrencies: document(),
    multiTrials: document(),
    usVatConfig: optionalDocument(),
    sortName: { ...text(), default: '' },
    deletedTime: { ...integer(), default: 0 },
    autoChargeConfig: optionalDocument(),
    priceChange: optionalDocument(),
  },
  checks: {
    plans_status: oneOf('status', planLifecycle.states),
    plans_publish_status: oneOf('publish_status', publishLifecycle.states),
    plans_type: oneOf('type', Object.keys(planType)),
    plans_amount: 'amount >= 0 and compare_at_amount >= 0 and trial_amount >= 0',
  },
  indices: {
    // an index per sort order, holding every filter column: rows before the page are skipped by an index-only scan
    plans_newest: { on: ['merchantId', 'createTime', 'id', ...planFilters], where: notDeleted },
    plans_by_name: { on: ['merchantId', 'sortName', 'id', ...planFilters], where: notDeleted },
    plans_by_amount: { on: ['merchantId', 'amount', 'id', ...planFilters], where: notDeleted },
    plans_by_status: { on: ['merchantId', 'status', 'createTime', 'id'], where: notDeleted },
    plans_by_publish_status: { on: ['merchantId', 'publishStatus', 'createTime', 'id'], where: notDeleted },
    plans_by_type: { on: ['merchantId', 'type', 'createTime', 'id'], where: notDeleted },
    plans_by_product: { on: ['merchantId', 'productId', 'createTime', 'id'], where: notDeleted },
    plans_by_currency: { on: ['merchantId', 'currency', 'createTime', 'id'], where: notDeleted },
    plans_by_interval_unit: { on: ['merchantId', 'intervalUnit', 'createTime', 'id'], where: notDeleted },
    plans_by_interval_count: { on: ['merchantId', 'intervalCount', 'createTime', 'id'], where: notDeleted },
    plans_by_interval: { on: ['merchantId', 'intervalUnit', 'intervalCount', 'createTime', 'id'], where: notDeleted },
    plans_external_id: {
      on: ['merchantId', 'externalPlanId'],
      unique: true,
      where: `external_plan_id <> '' and deleted_time = 0`,
    },
  },
});

/** A price change of a plan, for its history. */
export interface PriceChangeRow {
  merchantId: number;
  planId: number;
  no: number;
  oldAmount: bigint;
  newAmount: bigint;
  reason: string;
  createTime: number;
}

export const planPriceChanges = table<PriceChangeRow>('plan_price_changes', {
  key: ['merchantId', 'planId', 'no'],
  columns: {
    merchantId: integer(),
    planId: integer(),
    no: int(),
    oldAmount: money(),
    newAmount: money(),
    reason: text(),
    createTime: integer(),
  },
});

/** Use of a metric by a plan: its usage is limited or charged. */
export type Use = 'limit' | 'meteredCharge' | 'recurringCharge';

/**
 * Metrics that a plan refers to. A trigger derives these rows from the plan's documents, so that no write can miss them.
 * `id` and the times are shown for limits.
 */
export interface PlanMetricRow {
  merchantId: number;
  planId: number;
  use: Use;
  metricId: number;
  id: number;
  /** 0 for charges. */
  metricLimit: number;
  createTime: number;
  modifyTime: number;
}

export const planMetrics = table<PlanMetricRow>('plan_metrics', {
  key: ['merchantId', 'planId', 'use', 'metricId'],
  columns: {
    merchantId: integer(),
    planId: integer(),
    use: text<Use>(),
    metricId: integer(),
    id: integer(),
    metricLimit: integer(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { plan_metrics_use: oneOf('use', ['limit', 'meteredCharge', 'recurringCharge'] satisfies Use[]) },
  indices: {
    plan_metrics_id: { on: ['merchantId', 'id'], unique: true },
    plan_metrics_by_metric: { on: ['merchantId', 'metricId', 'planId'] },
  },
});
