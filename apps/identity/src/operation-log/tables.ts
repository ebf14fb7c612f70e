import { int, integer, table, text } from '@recur/platform';

export interface LogEntry {
  merchantId: number;
  id: number;
  /** 1, 2, 3 … of the merchant. */
  n: number;
  /** Of this entry and all before it; see log-chain.ts. */
  hash: string;
  createTime: number;
  optAccountType: number;
  optAccountId: string;
  optAccount: string;
  /** 0 when it was no member. */
  memberId: number;
  optTarget: string;
  optContent: string;
  userId: number;
  planId: number;
  invoiceId: string;
  subscriptionId: string;
  discountCode: string;
}

/** Where a merchant's chain of log entries ends: whoever appends to it locks this row. */
export interface LogHead {
  merchantId: number;
  /** How many entries there are. */
  n: number;
  /** That of the last entry. */
  hash: string;
  /** By the platform's Keyring: who can write to the database only cannot make it. */
  signature: string;
}

export const operationLogs = table<LogEntry>('operation_logs', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    n: integer(),
    hash: text(),
    createTime: integer(),
    optAccountType: int(),
    optAccountId: text(),
    optAccount: text(),
    memberId: integer(),
    optTarget: text(),
    optContent: text(),
    userId: integer(),
    planId: integer(),
    invoiceId: text(),
    subscriptionId: text(),
    discountCode: text(),
  },
  checks: { operation_logs_n: 'n > 0' },
  indices: {
    operation_logs_chain: { on: ['merchantId', 'n'], unique: true },
    operation_logs_newest: { on: ['merchantId', 'createTime', 'id', 'memberId', 'userId'] },
    operation_logs_member: { on: ['merchantId', 'memberId', 'createTime', 'id', 'userId'], where: 'member_id <> 0' },
    operation_logs_user: { on: ['merchantId', 'userId', 'createTime', 'id', 'memberId'], where: 'user_id <> 0' },
    operation_logs_plan: { on: ['merchantId', 'planId', 'createTime', 'id'], where: 'plan_id <> 0' },
    operation_logs_invoice: { on: ['merchantId', 'invoiceId', 'createTime', 'id'], where: `invoice_id <> ''` },
    operation_logs_subscription: {
      on: ['merchantId', 'subscriptionId', 'createTime', 'id'],
      where: `subscription_id <> ''`,
    },
    operation_logs_discount: { on: ['merchantId', 'discountCode', 'createTime', 'id'], where: `discount_code <> ''` },
  },
});

/** How many entries a merchant has, and how many of them are a member's or concern a user; a trigger keeps it. */
export interface LogTally {
  merchantId: number;
  kind: 'all' | 'member' | 'user';
  /** Of the member or the user; 0 of all. */
  id: number;
  n: number;
}

export const logHeads = table<LogHead>('operation_log_heads', {
  key: ['merchantId'],
  columns: { merchantId: integer(), n: integer(), hash: text(), signature: text() },
});

export const logTallies = table<LogTally>('operation_log_tallies', {
  key: ['merchantId', 'kind', 'id'],
  columns: { merchantId: integer(), kind: text(), id: integer(), n: integer() },
});
