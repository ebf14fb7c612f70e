import { integer, table, text } from '@recur/platform';

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

export const logHeads = table<LogHead>('operation_log_heads', {
  key: ['merchantId'],
  columns: { merchantId: integer(), n: integer(), hash: text(), signature: text() },
});
