import type { Reader } from '@recur/platform';
import { collections } from '../tables.js';

/** Unix second of the last attempt to charge an invoice; 0 if there was none. */
export const lastAttempt = async (reader: Reader, invoiceId: string): Promise<number> =>
  (await reader.find(collections, { invoiceId }))?.lastTime ?? 0;
