import type pg from 'pg';
import { prepared, queryOn } from '../pool.js';
import { type Ask, Session } from '../session.js';
import type { Arrays } from '../sql/arrays.js';
import { commitText } from '../sql/statements.js';
import { commitValues, type WriteSet } from '../sql/write-set.js';

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

export const plainArrays: Arrays = {
  texts: values => values,
  wholes: values =>
    values.map(value => {
      const whole = BigInt(value as bigint);
      if (BigInt.asIntN(64, whole) !== whole) throw new RangeError(`${whole} does not fit 64 bits`);
      return String(whole);
    }),
};

/** A query per read, a transaction per commit, a nextval per id. */
export function plainPaths({ pool, readPool }: PathParts): Paths {
  return {
    arrays: plainArrays,
    ask: async (merchantId, text, values) => {
      const session = new Session(pool, merchantId, ' isolation level repeatable read read only');
      try {
        return await session.query(text, values);
      } finally {
        void session.rollback();
      }
    },
    commit: async (merchantId, effects) => {
      const values = commitValues(merchantId, [effects], plainArrays);
      await queryOn(pool, prepared(commitText(effects.changes), values));
    },
    nextId: async table => {
      const [row] = await queryOn(readPool, prepared(`select nextval('${table}_id_seq') as id`, []));
      return Number(row?.id);
    },
    close: () => Promise.resolve(),
  };
}
