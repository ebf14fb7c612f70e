import { hydrate, type Table } from '../schema/table.js';
import type { Session } from '../session.js';
import type { Condition } from './list.js';
import { bounded } from './size-limits.js';
import { columnOf } from './statements.js';

/** Rows of a merchant from a position on, newest first: a list that is read to its end, however long it is. */
export interface Slice<T> {
  from: Table<T>;
  /** As those of a `List`. */
  where: readonly Condition[];
  /** Two properties, the second one unique, by which an index is ordered. */
  by: readonly [keyof T & string, keyof T & string];
  /** The values of `by` in the last row of the slice before; undefined to begin. */
  after: readonly [unknown, unknown] | undefined;
  /** The most rows. */
  count: number;
}

/** The next rows. Fewer than `count` may come where they are large; the end is reached when none comes. */
export async function sliceOf<T>(session: Session, { from, where, by, after, count }: Slice<T>): Promise<T[]> {
  const values: unknown[] = [];
  const place = (value: unknown) => `$${values.push(value)}`;
  const keys = by.map(property => columnOf(from, property)).join(', ');
  const conditions = [
    `merchant_id = ${place(session.merchantId)}`,
    ...where.flatMap(([sql, value]) => (value === undefined ? [] : [sql.replaceAll('?', place(value))])),
    ...(after ? [`(${keys}) < (${after.map(place).join(', ')})`] : []),
  ];
  const order = `order by ${keys.replaceAll(',', ' desc,')} desc`;
  const columns = from.columns.map(({ column }) => column).join(', ');
  const select = `select ${columns} from ${from.table} where ${conditions.join(' and ')} ${order} limit ${count}`;
  const [, rows] = await Promise.all([
    session.query(`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`, []),
    session.once(bounded(from, select, order), values),
  ]);
  return rows.map(row => hydrate(from, row));
}
