import { hydrate, type Table } from '../schema/table.js';
import type { Session } from '../session.js';
import type { Condition } from './list.js';
import { bounded } from './size-limits.js';
import { columnOf } from './statements.js';

/** Where a list that is read to its end goes on, and how many rows are read at once. */
export interface SliceAt {
  /** `next` of the slice before; '' to begin. */
  after: string;
  /** The most rows. */
  count: number;
}

/** Rows of a merchant from a position on, newest first: a list that is read to its end, however long it is. */
export interface Slice<T, K extends keyof T & string = keyof T & string> extends SliceAt {
  from: Table<T>;
  /** As those of a `List`. */
  where: readonly Condition[];
  /** Two properties, the second one unique, by which an index is ordered. */
  by: readonly [NoInfer<K>, NoInfer<K>];
  /** The properties that are read; all where it is absent. */
  only?: readonly K[];
}

/** The rows of a slice; `next` is undefined at the end. */
export interface Sliced<T> {
  rows: T[];
  next: string | undefined;
}

/** The next rows. Fewer than `count` may come where they are large; the end is reached when none comes. */
export async function sliceOf<T, K extends keyof T & string>(
  session: Session,
  { from, where, by, after, count, only }: Slice<T, K>,
): Promise<Sliced<Pick<T, K>>> {
  const values: unknown[] = [];
  const place = (value: unknown) => `$${values.push(value)}`;
  const read = only ? { ...from, columns: from.columns.filter(({ property }) => only.includes(property as K)) } : from;
  const keys = by.map(property => columnOf(from, property));
  const conditions = [
    `merchant_id = ${place(session.merchantId)}`,
    ...where.flatMap(([sql, value]) => (value === undefined ? [] : [sql.replaceAll('?', place(value))])),
    ...(after === '' ? [] : [`(${keys.join(', ')}) < (${(JSON.parse(after) as unknown[]).map(place).join(', ')})`]),
  ];
  const order = `order by ${keys.map(key => `${key} desc`).join(', ')}`;
  const columns = read.columns.map(({ column }) => column).join(', ');
  const select = `select ${columns} from ${from.table} where ${conditions.join(' and ')} ${order} limit ${count}`;
  const [, rows] = await Promise.all([
    session.query(`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`, []),
    session.queryUnprepared(bounded(read, select, order), values),
  ]);
  const found = rows.map(row => hydrate<Pick<T, K>>(read, row));
  const last = found.at(-1);
  return { rows: found, next: last && JSON.stringify(by.map(property => last[property])) };
}
