import type pg from 'pg';
import type { Ask } from './session.js';
import type { Arrays } from './sql/arrays.js';
import type { WriteSet } from './sql/write-set.js';

/**
 * Database access outside of a held transaction. Two implementations with the same behaviour: `fastPaths` batches
 * and takes ids in blocks; `plainPaths` does one thing at a time. The setting STORE_FAST chooses.
 */
export interface Paths {
  readonly arrays: Arrays;
  /** A point read, as a read-only transaction of its own. */
  readonly ask: Ask;
  /**
   * Commits what one command leaves behind, as a transaction of its own; resolves when it is durable. Inserts only: an
   * update needs a lock that is held.
   */
  commit(merchantId: number, effects: WriteSet): Promise<void>;
  /** The next id from the sequence `<table>_id_seq`. */
  nextId(table: string): Promise<number>;
  /** Gives back what it holds of the pools. */
  close(): Promise<void>;
}

export interface PathParts {
  pool: pg.Pool;
  /** For what a command may need while it holds a connection of `pool`. */
  readPool: pg.Pool;
}
