import { hash } from 'node:crypto';
import type { LogEntry, LogHead } from './tables.js';

/** The hashed fields of an entry, in order. Must never change: stored entries are verified with it. */
const chained = [
  'merchantId',
  'n',
  'id',
  'createTime',
  'optAccountType',
  'optAccountId',
  'optAccount',
  'memberId',
  'optTarget',
  'optContent',
  'userId',
  'planId',
  'invoiceId',
  'subscriptionId',
  'discountCode',
] as const satisfies readonly (keyof LogEntry)[];

/** An entry without its hash. */
export type Unchained = Omit<LogEntry, 'hash'>;

/** SHA-256 (base64url) of the previous hash ('' for the first entry) followed by the entry's fields as a JSON array. */
export const entryHash = (previous: string, entry: Unchained): string =>
  hash('sha256', previous + JSON.stringify(chained.map(field => entry[field])), 'base64url');

/** The purpose of the signatures of heads. */
export const logPurpose = 'operation log';

/** The signed text of a head: binds the merchant, the number of entries and the last hash. */
export const headText = ({ merchantId, n, hash }: Omit<LogHead, 'signature'>): string =>
  JSON.stringify(['operation_log_heads', merchantId, n, hash]);
