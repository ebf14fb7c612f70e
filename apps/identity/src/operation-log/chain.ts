import { hash } from 'node:crypto';
import type { LogEntry, LogHead } from './tables.js';

/** What is hashed of an entry, in this order. Entries that were written are verified by it: it never changes. */
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

/** An entry that has no hash yet. */
export type Unchained = Omit<LogEntry, 'hash'>;

/** SHA-256 (base64url) of the hash before, '' before the first, and the entry as a JSON array of its fields. */
export const hashOf = (previous: string, entry: Unchained): string =>
  hash('sha256', previous + JSON.stringify(chained.map(field => entry[field])), 'base64url');

/** What is signed of a head: it holds for this merchant, this many entries and this last one. */
export const headText = ({ merchantId, n, hash }: Omit<LogHead, 'signature'>): string =>
  JSON.stringify(['operation_log_heads', merchantId, n, hash]);
