import type { PathParts, Paths } from './paths.js';
import { prepared, queryOn } from './pool.js';
import { Session } from './session.js';
import type { Arrays } from './sql/arrays.js';
import { commitText } from './sql/statements.js';
import { commitValues } from './sql/write-set.js';

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
