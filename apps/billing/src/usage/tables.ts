import type { UserHistoryLimitStat } from '@recur/contracts';
import { document, flag, int, integer, money, optionalDocument, table, text } from '@recur/platform';
import type { Counter } from './domain/counter.js';

export interface UsageEvent {
  merchantId: number;
  id: number;
  /** Decides the partition. */
  eventTime: number;
  userId: number;
  metricId: number;
  subscriptionId: string;
  externalEventId: string;
  value: bigint;
  uniqueId: string;
  /** JSON text. */
  properties: string;
  /** Start of the counter that it was counted in, and the counter's version with it. */
  counterStart: number;
  counterVersion: number;
  /** The value with it, and the limit at that time (0 for charges). */
  used: bigint;
  metricLimit: bigint;
  createTime: number;
  /** 0, or when it was deleted. */
  deletedTime: number;
}

/** The id of an event, unique per user and metric. */
export interface EventKey {
  merchantId: number;
  userId: number;
  metricId: number;
  externalEventId: string;
  eventId: number;
  eventTime: number;
  /** The event was invoiced and is deleted: its id stays taken. */
  deleted: boolean;
}

/** A unique id within a counter, with the number of its events. */
export interface Unique {
  merchantId: number;
  subscriptionId: string;
  metricId: number;
  startAt: number;
  uniqueId: string;
  events: bigint;
}

/** Usage that an invoice bills. */
export interface Billing {
  merchantId: number;
  invoiceId: string;
  subscriptionId: string;
  metricId: number;
  startAt: number;
  /** By how much the billed value grew, and for which amount. */
  value: bigint;
  amount: bigint;
  /** The counter's version: events up to it are charged here. */
  counterVersion: number;
  /** The counter was cut short at the close, by a change of plan. */
  cut: boolean;
  createTime: number;
}

export interface Adjustment {
  merchantId: number;
  id: number;
  subscriptionId: string;
  metricId: number;
  userId: number;
  periodStart: number;
  quotaType: 'carryover' | 'manual';
  amount: bigint;
  reason: string;
  /** 0 and the actor's name where no member did it. */
  memberId: number;
  memberEmail: string;
  previousLimit: bigint;
  previousUsed: bigint;
  createTime: number;
}

/** Usage of limit metrics when an invoice was paid. */
export interface Snapshot {
  merchantId: number;
  invoiceId: string;
  subscriptionId: string;
  userId: number;
  periodStart: number;
  limitStats: UserHistoryLimitStat[];
  paidTime: number;
}

/** Numbers the user.metric.update events of one (user, metric). */
export interface Notice {
  merchantId: number;
  /** `<userId>-<metricId>`. */
  noticeId: string;
  userId: number;
  metricId: number;
  version: number;
}

export const usageEvents = table<UsageEvent>('usage_events', {
  key: ['merchantId', 'id', 'eventTime'],
  columns: {
    merchantId: integer(),
    id: integer(),
    eventTime: integer(),
    userId: integer(),
    metricId: integer(),
    subscriptionId: text(),
    externalEventId: text(),
    value: money(),
    uniqueId: text(),
    properties: text(),
    counterStart: integer(),
    counterVersion: int(),
    used: money(),
    metricLimit: money(),
    createTime: integer(),
    deletedTime: integer(),
  },
  indices: { usage_events_user: { on: ['merchantId', 'userId', 'metricId', 'eventTime'] } },
});

export const eventKeys = table<EventKey>('usage_event_keys', {
  key: ['merchantId', 'userId', 'metricId', 'externalEventId'],
  columns: {
    merchantId: integer(),
    userId: integer(),
    metricId: integer(),
    externalEventId: text(),
    eventId: integer(),
    eventTime: integer(),
    deleted: flag(),
  },
});

export const uniques = table<Unique>('usage_uniques', {
  key: ['merchantId', 'subscriptionId', 'metricId', 'startAt', 'uniqueId'],
  columns: {
    merchantId: integer(),
    subscriptionId: text(),
    metricId: integer(),
    startAt: integer(),
    uniqueId: text(),
    events: money(),
  },
  replaced: true,
});

export const counters = table<Counter>('usage_counters', {
  key: ['merchantId', 'subscriptionId', 'metricId', 'startAt'],
  columns: {
    merchantId: integer(),
    subscriptionId: text(),
    metricId: integer(),
    startAt: integer(),
    endAt: integer(),
    userId: integer(),
    periodStart: integer(),
    periodEnd: integer(),
    events: money(),
    used: money(),
    latestTime: integer(),
    latestId: integer(),
    minEventId: integer(),
    maxEventId: integer(),
    adjusted: money(),
    version: int(),
    price: optionalDocument(),
    closed: flag(),

    billedValue: money(),
    billedAmount: money(),
    noticeDue: flag(),
    noticeAt: integer(),
    alerted: int(),
    upgradeAsked: flag(),
  },
  checks: { usage_counters_stretch: 'start_at < end_at and events >= 0' },
  indices: { usage_counters_user: { on: ['merchantId', 'userId', 'metricId', 'startAt'] } },
  replaced: true,
});

export const billings = table<Billing>('usage_billings', {
  key: ['merchantId', 'invoiceId', 'metricId', 'startAt'],
  columns: {
    merchantId: integer(),
    invoiceId: text(),
    subscriptionId: text(),
    metricId: integer(),
    startAt: integer(),
    value: money(),
    amount: money(),
    counterVersion: int(),
    cut: flag(),
    createTime: integer(),
  },
  indices: { usage_billings_counter: { on: ['merchantId', 'subscriptionId', 'metricId', 'startAt'] } },
});

export const adjustments = table<Adjustment>('usage_adjustments', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    subscriptionId: text(),
    metricId: integer(),
    userId: integer(),
    periodStart: integer(),
    quotaType: text<'carryover' | 'manual'>(),
    amount: money(),
    reason: text(),
    memberId: integer(),
    memberEmail: text(),
    previousLimit: money(),
    previousUsed: money(),
    createTime: integer(),
  },
  checks: { usage_adjustments_type: `quota_type in ('carryover', 'manual')` },
  indices: {
    usage_adjustments_user: { on: ['merchantId', 'userId', 'id'] },
    usage_adjustments_metric: { on: ['merchantId', 'metricId', 'id'] },
    usage_adjustments_period: { on: ['merchantId', 'subscriptionId', 'metricId', 'periodStart'] },
    usage_adjustments_carryover: {
      on: ['merchantId', 'subscriptionId', 'metricId', 'periodStart'],
      unique: true,
      where: `quota_type = 'carryover'`,
    },
  },
});

export const snapshots = table<Snapshot>('usage_snapshots', {
  key: ['merchantId', 'invoiceId'],
  columns: {
    merchantId: integer(),
    invoiceId: text(),
    subscriptionId: text(),
    userId: integer(),
    periodStart: integer(),
    limitStats: document(),
    paidTime: integer(),
  },
  indices: {
    usage_snapshots_user: { on: ['merchantId', 'userId', 'paidTime', 'invoiceId'] },
    usage_snapshots_subscription: { on: ['merchantId', 'subscriptionId', 'paidTime', 'invoiceId'] },
  },
});

export const notices = table<Notice>('usage_notices', {
  key: ['merchantId', 'noticeId'],
  columns: { merchantId: integer(), noticeId: text(), userId: integer(), metricId: integer(), version: int() },
});
