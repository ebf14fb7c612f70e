import type { PlanSnapshot } from '@recur/contracts';
import { document, flag, int, integer, money, table, text } from '@recur/platform';
import type { StoredItem } from '../domain/items.js';

/** A change that was submitted. Times are unix seconds, money minor units. */
export interface PendingUpdate {
  merchantId: number;
  /** `subup_…` */
  pendingUpdateId: string;
  version: number;
  subscriptionId: string;
  userId: number;
  status: 'init' | 'pending' | 'finished' | 'cancelled';
  kind: 'upgrade' | 'downgrade';
  /** 1 now, 0 at the end of the period. */
  effectImmediate: number;
  effectTime: number;
  prorationDate: number;
  planId: number;
  quantity: number;
  amount: bigint;
  currency: string;
  planSnapshot: PlanSnapshot;
  items: StoredItem[];
  updatePlanId: number;
  updateQuantity: number;
  updateAmount: bigint;
  updateCurrency: string;
  updateSnapshot: PlanSnapshot;
  updateItems: StoredItem[];
  prorationAmount: bigint;
  paid: boolean;
  invoiceId: string;
  link: string;
  gatewayId: number;
  name: string;
  note: string;
  /** The member who submitted it; 0 for none. */
  memberId: number;
  memberEmail: string;
  /** Other terms that come into force with it. */
  terms: Record<string, unknown>;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
}

export const pendingUpdates = table<PendingUpdate>('subscription_pending_updates', {
  key: ['merchantId', 'pendingUpdateId'],
  columns: {
    merchantId: integer(),
    pendingUpdateId: text(),
    version: int(),
    subscriptionId: text(),
    userId: integer(),
    status: text<PendingUpdate['status']>(),
    kind: text<PendingUpdate['kind']>(),
    effectImmediate: int(),
    effectTime: integer(),
    prorationDate: integer(),
    planId: integer(),
    quantity: int(),
    amount: money(),
    currency: text(),
    planSnapshot: document<PlanSnapshot>(),
    items: document<StoredItem[]>(),
    updatePlanId: integer(),
    updateQuantity: int(),
    updateAmount: money(),
    updateCurrency: text(),
    updateSnapshot: document<PlanSnapshot>(),
    updateItems: document<StoredItem[]>(),
    prorationAmount: money(),
    paid: flag(),
    invoiceId: text(),
    link: text(),
    gatewayId: integer(),
    name: text(),
    note: text(),
    memberId: integer(),
    memberEmail: text(),
    terms: document<Record<string, unknown>>(),
    metadata: document<Record<string, unknown>>(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: {
    subscription_pending_updates_status: `status in ('init', 'pending', 'finished', 'cancelled')`,
  },
  indices: {
    subscription_pending_updates_one: {
      on: ['merchantId', 'subscriptionId'],
      unique: true,
      where: `status in ('init', 'pending')`,
    },
    subscription_pending_updates_made: {
      on: ['merchantId', 'effectTime', 'subscriptionId'],
      where: `status = 'finished' and effect_immediate = 1`,
    },
    subscription_pending_updates_user: {
      on: ['merchantId', 'userId', 'effectTime', 'subscriptionId'],
      where: `status = 'finished' and effect_immediate = 1`,
    },
    subscription_pending_updates_newest: { on: ['merchantId', 'subscriptionId', 'createTime', 'pendingUpdateId'] },
  },
});
