import { int, integer, table, text } from '@recur/platform';

/** An operation of a merchant, a link of its chain. */
export interface LogEntry {
  merchantId: number;
  id: number;
  /** Gapless position in the merchant's chain, from 1. */
  n: number;
  /** Hash over this entry and all before it; see chain.ts. */
  hash: string;
  createTime: number;
  optAccountType: number;
  optAccountId: string;
  optAccount: string;
  /** 0 unless a member did it. */
  memberId: number;
  optTarget: string;
  optContent: string;
  userId: number;
  planId: number;
  invoiceId: string;
  subscriptionId: string;
  discountCode: string;
}

/** The end of a merchant's chain of log entries; appending locks this row. */
export interface LogHead {
  merchantId: number;
  /** The number of entries. */
  n: number;
  /** Hash of the last entry. */
  hash: string;
  /** Made by the platform's Keyring: write access to the database does not suffice to forge it. */
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

/** Number of a merchant's entries: all, by one member, or about one user. Maintained by a trigger. */
export interface LogTally {
  merchantId: number;
  kind: 'all' | 'member' | 'user';
  /** Id of the member or the user; 0 for all. */
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
