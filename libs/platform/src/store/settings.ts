import { isDeepStrictEqual } from 'node:util';
import type { PeekReader } from './reads/reads.js';
import type { Table } from './schema/table.js';
import type { Tx } from './tx.js';

/** Settings of merchants: one row each, and defaults for those that have changed none. */
export interface MerchantSettings<T> {
  /** The merchant's row, or the defaults. */
  of(reader: PeekReader): Promise<T>;
  /**
   * Changes the given properties under the lock of the row; returns all of them. Two first changes at once run one after the
   * other. The caller writes the log entry, if the settings are others than before.
   */
  change(tx: Tx, change: Partial<Omit<T, 'merchantId'>>): Promise<T>;
}

/** Declares the settings in a table that has one row per merchant, with the defaults of a merchant without a row. */
export function settings<T extends { merchantId: number }>(
  table: Table<T>,
  defaults: Omit<T, 'merchantId'>,
): MerchantSettings<T> {
  const first = (merchantId: number) => ({ ...defaults, merchantId }) as T;
  return {
    async of(reader) {
      return (await reader.peek(table, {})) ?? first(reader.merchantId);
    },
    async change(tx, change) {
      // two commands may both find no row yet
      tx.onConflict(`${table.table}_pkey`, 'again');
      const before = (await tx.lockIfAny(table, {})) ?? first(tx.merchantId);
      const after = { ...before, ...change };
      if (!isDeepStrictEqual(after, before)) tx.save(table, after);
      return after;
    },
  };
}
