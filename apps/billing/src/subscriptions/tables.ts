import type { PlanSnapshot } from '@recur/contracts';
import { document, encoded, flag, int, integer, money, oneOf, optionalDocument, table, text } from '@recur/platform';
import type { StoredItem } from './domain/items.js';
import type { PendingItem } from './domain/pending-items.js';
import type { PeriodKind, PeriodRow, PeriodState } from './domain/periods.js';
import type { PriceEntry } from './domain/price-entry.js';
import {
  type BoundDiscount,
  liveStatuses,
  type MultiTrial,
  type Subscription,
  type SubscriptionStatus,
  subscriptionLifecycle,
} from './domain/subscription.js';

export const subscriptions = table<Subscription>('subscriptions', {
  key: ['merchantId', 'subscriptionId'],
  columns: {
    merchantId: integer(),
    subscriptionId: text(),
    id: integer(),
    version: int(),
    externalSubscriptionId: { ...text(), default: '' },
    userId: integer(),
    productId: integer(),
    planId: integer(),
    quantity: int(),
    status: text<SubscriptionStatus>(),
    previousStatus: text<SubscriptionStatus>(),
    type: int(),
    currency: text(),
    amount: money(),
    timeZone: text(),
    anchor: integer(),
    periodNo: int(),
    currentPeriodStart: integer(),
    currentPeriodEnd: integer(),
    // 1 in its column, as the API says it, where the period is paid
    unpaidUntil: encoded(integer(), 'current_period_paid', {
      decode: stored => (stored === 1 ? 0 : stored),
      encode: until => until || 1,
    }),
    trialEnd: integer(),
    firstPaidTime: integer(),
    gatewayId: integer(),
    paymentMethodId: text(),
    gatewayPaymentType: text(),
    manualPayment: flag(),
    cancelAtPeriodEnd: flag(),
    cancelReason: text(),
    cancelTime: integer(),
    dunningTime: integer(),
    latestInvoiceId: text(),
    pendingUpdateId: text(),
    planSnapshot: document<PlanSnapshot>(),
    items: document<StoredItem[]>(),
    priceChanges: { ...document<PriceEntry[]>(), default: [] },
    multiTrial: optionalDocument<MultiTrial>(),
    discount: optionalDocument<BoundDiscount>(),
    // the platform's page reads have a column `carried` of their own
    carried: { ...document<PendingItem[]>(), name: 'carried_lines' },
    taxPercentage: int(),
    vatNumber: text(),
    countryCode: text(),
    metadata: document<Record<string, unknown>>(),
    returnUrl: text(),
    cancelUrl: text(),
    asked: { ...text(), default: '' },
    parkedReason: text(),
    parkedAt: integer(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: {
    subscriptions_status: oneOf('status', subscriptionLifecycle.states),
    subscriptions_period: 'current_period_end > current_period_start and period_no >= 0',
  },
  indices: {
    // guards against two live subscriptions of a user to a product, independently of the code
    subscriptions_one_live: {
      on: ['merchantId', 'userId', 'productId'],
      unique: true,
      where: oneOf('status', liveStatuses),
    },
    // each is imported once
    subscriptions_external: {
      on: ['merchantId', 'externalSubscriptionId'],
      unique: true,
      where: `external_subscription_id <> ''`,
    },
    subscriptions_user: { on: ['merchantId', 'userId', 'createTime', 'id'] },
    subscriptions_newest: { on: ['merchantId', 'createTime', 'id'] },
    subscriptions_in_status: { on: ['merchantId', 'status', 'createTime', 'id'] },
    subscriptions_plan: { on: ['merchantId', 'planId', 'createTime', 'id'] },
    subscriptions_product: { on: ['merchantId', 'productId', 'createTime', 'id'] },
  },
});

export const subscriptionPeriods = table<PeriodRow>('subscription_periods', {
  key: ['merchantId', 'subscriptionId', 'seq'],
  columns: {
    merchantId: integer(),
    subscriptionId: text(),
    seq: int(),
    userId: integer(),
    kind: text<PeriodKind>(),
    startAt: integer(),
    endAt: integer(),
    invoiceId: text(),
    state: text<PeriodState>(),
    deadline: { ...integer(), default: 0 },
    remakeAt: { ...integer(), default: 0 },
    timesMade: { ...int(), default: 0 },
    finishAt: { ...integer(), default: 0 },
    createTime: integer(),
  },
  checks: {
    subscription_periods_kind: `kind in ('trial', 'free', 'cycle', 'stub', 'elsewhere')`,
    subscription_periods_state: `state in ('open', 'paid', 'unpaid', 'void')`,
    subscription_periods_span: 'end_at > start_at',
  },
  indices: {
    subscription_periods_live: {
      on: ['merchantId', 'subscriptionId', 'startAt', 'kind'],
      unique: true,
      where: `state <> 'void'`,
    },
    subscription_periods_user: { on: ['merchantId', 'userId', 'createTime', 'subscriptionId', 'seq'] },
    subscription_periods_newest: { on: ['merchantId', 'createTime', 'subscriptionId', 'seq'] },
  },
});

/** A member's note on a subscription. */
export interface SubscriptionNoteRow {
  merchantId: number;
  id: number;
  subscriptionId: string;
  note: string;
  /** 0 for a note that no member wrote. */
  memberId: number;
  memberEmail: string;
  createTime: number;
}

export const subscriptionNotes = table<SubscriptionNoteRow>('subscription_notes', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    subscriptionId: text(),
    note: text(),
    memberId: integer(),
    memberEmail: text(),
    createTime: integer(),
  },
  indices: { subscription_notes_newest: { on: ['merchantId', 'subscriptionId', 'id'] } },
});

/** Settings of a merchant's subscriptions; durations are seconds. */
export interface SubscriptionSettings {
  merchantId: number;
  downgradeEffectImmediately: boolean;
  downgradeLeadSeconds: number;
  incompleteExpireSeconds: number;
  chargeLeadSeconds: number;
  upgradeProration: boolean;
  timeZone: string;
  usageGraceSeconds: number;
  lateUsage: string;
  firstInvoiceDays: number;
  retryIntervalSeconds: number;
  maxRetries: number;
  oneTrialPerUser: boolean;
  /** Days of notice before a plan's new price takes effect. */
  noticeDays: number;
}

export const subscriptionSettings = table<SubscriptionSettings>('subscription_settings', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    downgradeEffectImmediately: flag(),
    downgradeLeadSeconds: integer(),
    incompleteExpireSeconds: integer(),
    chargeLeadSeconds: integer(),
    upgradeProration: flag(),
    timeZone: text(),
    usageGraceSeconds: integer(),
    lateUsage: text(),
    firstInvoiceDays: int(),
    retryIntervalSeconds: integer(),
    maxRetries: int(),
    oneTrialPerUser: flag(),
    noticeDays: { ...int(), default: 30 },
  },
});
