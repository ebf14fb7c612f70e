import type { Row, Session } from './session.js';
import { hydrate, type Table } from './table.js';

/** A condition in SQL and the value that stands at its `?`; one whose value is undefined does not apply. */
export type Condition = readonly [sql: string, value: unknown];

/** One page of a merchant's rows. */
export interface List<T> {
  from: Table<T>;
  /** All must hold. The SQL is the service's own, the values are the caller's. */
  where: readonly Condition[];
  /** What follows `order by`; it ends in a unique column, or an entry could stand on two pages. See `sorted`. */
  order: string;
  /** From 0. */
  page: number;
  count: number;
  /**
   * What fits may be little and lie far from the first page, as it does where rows are found by the ids of others. Then
   * it is collected from the filters' indexes and sorted; where much fits, the index of the order meets it soon.
   * `order` names columns only.
   */
  sparse?: boolean;
}

export interface Page<T> {
  rows: T[];
  /** How many rows fit, counted up to `limits.counted`: no page lies beyond it. */
  total: number;
}

const limits = { counted: 10_000, expected: 50_000, collected: 100_000 } as const;

/** What was asked for: a filter that is absent, '', 0 or [] does not filter. */
export function given<V>(value: V): V | undefined {
  const blank = value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
  return blank ? undefined : value;
}

/**
 * The `order by` of a list: by the column of `sortField`, else the first, and largest first unless `sortType` is asc;
 * then by `tie`, the same way.
 */
export function sorted<F extends string>(
  columns: Readonly<Record<F, string>>,
  { sortField, sortType }: { sortField?: F | ''; sortType?: '' | 'asc' | 'desc' },
  tie = 'id',
): string {
  const column = sortField ? columns[sortField] : (Object.values<string>(columns)[0] ?? tie);
  const direction = sortType === 'asc' ? 'asc' : 'desc';
  return `${column} ${direction}, ${tie} ${direction}`;
}

/**
 * Asks for a page and its total in one round trip of one snapshot. The statements are not prepared: each set of
 * filters has a text of its own, and the planner has to see the values to choose the index.
 */
export async function pageOf<T>(session: Session, list: List<T>): Promise<Page<T>> {
  const { from, order } = list;
  const conditions: string[] = [];
  const values: unknown[] = [];
  const apply = (sql: string, value: unknown) => {
    values.push(value);
    conditions.push(sql.replaceAll('?', `$${values.length}`));
  };
  apply('merchant_id = ?', session.merchantId);
  for (const [sql, value] of list.where) if (value !== undefined) apply(sql, value);
  const source = `from ${from.table} where ${conditions.join(' and ')}`;
  const columns = from.columns.map(({ column }) => column).join(', ');
  await session.open();
  if (list.sparse && (await expected(session, source, values)) <= limits.expected) {
    const collected = await collect(session, list, source, values);
    if (collected) return collected;
  }
  const [rows, counted] = await Promise.all([
    session.once(`select ${columns} ${source} order by ${order} ${window(list)}`, values),
    session.once(`select count(*) as total from (select 1 ${source} limit ${limits.counted}) counted`, values),
  ]);
  return { rows: rows.map((row: Row) => hydrate(from, row)), total: Number(counted[0]?.total) };
}

const window = <T>({ page, count }: List<T>) => `limit ${count} offset ${page * count}`;

/** About how many rows fit, as the planner expects: `Result  (cost=0.42..10237.01 rows=101608 width=16)`. */
async function expected(session: Session, source: string, values: readonly unknown[]): Promise<number> {
  const [first = {}] = await session.once(`explain select 1 ${source}`, values);
  const [, rows] = / rows=(\d+) /.exec(String(Object.values(first)[0])) ?? [];
  if (rows === undefined) throw new Error('EXPLAIN does not say how many rows it expects');
  return Number(rows);
}

/** The page of a sparse list: first the keys of all that fits, then the rows of the page; undefined where too many fit. */
async function collect<T>(
  session: Session,
  list: List<T>,
  source: string,
  values: readonly unknown[],
): Promise<Page<T> | undefined> {
  const { from, order } = list;
  const sortedBy = [...new Set(order.split(', ').map(term => term.split(' ', 1).join()))];
  const key = sortedBy.at(-1);
  const [found] = await session.once(
    `with fitting as materialized (select ${sortedBy.join(', ')} ${source} limit ${limits.collected + 1})
     select (select count(*) from fitting) as total, array(select ${key} from fitting order by ${order} ${window(list)}) as keys`,
    values,
  );
  const total = Number(found?.total);
  if (total > limits.collected) return undefined;
  const columns = from.columns.map(({ column }) => column).join(', ');
  const rows = await session.once(
    `select ${columns} from ${from.table} where merchant_id = $1 and ${key} = any($2) order by ${order}`,
    [session.merchantId, found?.keys],
  );
  return { rows: rows.map((row: Row) => hydrate(from, row)), total: Math.min(total, limits.counted) };
}
