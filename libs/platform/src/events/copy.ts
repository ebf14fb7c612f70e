import type { Service } from '@recur/contracts';
import type { Table } from '../store/schema/table.js';
import type { Tx } from '../store/tx.js';

/** A service's copy of another's aggregate. Rows carry merchantId and `version`; an older never overwrites a newer. */
export interface Copy {
  name: string;
  owner: Service;
  aggregate: string;
  table: Table<Versioned>;
  row(data: unknown, merchantId: number, version: number): Versioned;
  /** Called with new rows before they are kept, in their transaction: for what follows from a change. */
  arrives?: ((tx: Tx, rows: readonly Versioned[]) => Promise<void>) | undefined;
}

export interface Versioned {
  version: number;
}

/** Declares a copy: its table, and how a state becomes a row; `data` is the owner's view of the aggregate. */
export function copyOf<D, T extends { version: number }>(
  name: string,
  owner: Service,
  aggregate: string,
  table: Table<T>,
  row: (data: D, merchantId: number, version: number) => T,
  arrives?: (tx: Tx, rows: readonly T[]) => Promise<void>,
): Copy {
  return {
    name,
    owner,
    aggregate,
    table,
    row: (data, merchantId, version) => row(data as D, merchantId, version),
    arrives: arrives && ((tx, rows) => arrives(tx, rows as readonly T[])),
  };
}
