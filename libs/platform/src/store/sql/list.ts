import { hydrate, type Table } from '../schema/table.js';
import type { Session } from '../session.js';
import { assertComplete, bounded } from './size-limits.js';

/** A condition in SQL and the value of its `?`; it does not apply if the value is undefined. See `each`. */
export type Condition = readonly [sql: string, value: unknown, column?: string];

/** A page of a merchant's rows. */
export interface List<T> {
  from: Table<T>;
  /** Conditions, all of which must hold. The SQL is the service's, the values are the caller's. */
  where: readonly Condition[];
  /** Columns that are never null, each with the same direction, the last one unique. See `sorted`. */
  order: string;
  /** From 0. */
  page: number;
  count: number;
  /**
   * Matching rows may lie far from the first page, while the planner expects them evenly spread. They are collected from
   * the filters' indexes and sorted, instead of met along the index of the order. If more than `limits.collected` match,
   * they are met soon.
   */
  sparse?: boolean;
  /**
   * An index in the list's order also holds the columns of all filters, so it is read from its beginning. The planner
   * would prefer to fetch all matching rows from all over the table and sort them.
   */
  covered?: boolean;
  /** How many rows match, and how many the merchant has, if both are known: then nothing is counted or tried. */
  known?: Known;
}

export interface Known {
  fitting: number;
  among: number;
}

export interface Page<T> {
  rows: T[];
  /** How many rows match, counted up to `limits.counted`: no page lies beyond it. */
  total: number;
}

const limits = { counted: 10_000, collected: 100_000, branches: 24 } as const;

/** The value of a filter; absent, '', 0 or [] does not filter. */
export function given<V>(value: V): V | undefined {
  const blank = value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
  return blank ? undefined : value;
}

/**
 * Equality with one of several values. A few values are searched one by one, so that an index on (column, the list's
 * order) gives the order too; use it only for a column that has such an index.
 */
export const each = (column: string, values: readonly unknown[] | undefined): Condition => [
  `${column} = any(?)`,
  values,
  column,
];

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
 * filters has a text of its own, and the planner has to see the values to choose the index. Rejects `answer_too_large`
 * if the rows of a page exceed the size limit.
 */
export async function pageOf<T>(session: Session, list: List<T>): Promise<Page<T>> {
  await session.open();
  const { known } = list;
  if (known?.fitting === 0) return { rows: [], total: 0 };
  if (known) return isSparse(list, known) ? gathered(session, list, known) : met(session, list);
  return ((list.sparse || isScattered(list)) && (await collected(session, list))) || met(session, list);
}

/**
 * A condition has more values than are searched one by one. The planner expects them to be evenly spread; if the newest
 * rows have other values, it reads through hundreds of thousands of them.
 */
const isScattered = ({ where }: Pick<List<unknown>, 'where'>) =>
  where.some(([, value, column]) => column !== undefined && Array.isArray(value) && value.length > limits.branches);

/**
 * Collecting all matching rows reads fewer rows than meeting those of the page, which lie among `end * among / fitting`
 * rows.
 */
const isSparse = ({ page, count }: Pick<List<unknown>, 'page' | 'count'>, { fitting, among }: Known) =>
  fitting <= limits.collected && fitting ** 2 < (page + 1) * count * among;

/** The page, read along the index of its order, or along those of its branches. */
async function met<T>(session: Session, list: List<T>): Promise<Page<T>> {
  const { values, branches, branchValues, conditions } = listSource(session, list, limits.branches);
  const end = (list.page + 1) * list.count;
  const keys = orderKeys(list);
  const first = branches.map(branch => `(select ${keys} ${branch} order by ${list.order} limit ${end})`);
  const page = pageIn(list, `(${first.join(' union all ')})`);
  const [, rows, total] = await Promise.all([
    session.query(planning(list), []),
    session.queryUnprepared(`with ${page} ${listRows(list, conditions)}`, values),
    list.known?.fitting ??
      session.queryUnprepared(countText(branches), branchValues).then(([count]) => Number(count?.total)),
  ]);
  return { rows: assertComplete(rows).map(row => hydrate(list.from, row)), total: Math.min(total, limits.counted) };
}

/** How many rows there are in all branches, up to the last that is counted. */
function countText(branches: readonly string[]): string {
  const counted = branches.map(branch => `select 1 ${branch} limit ${limits.counted}`);
  const all = counted.length === 1 ? counted.join() : `(${counted.join(') union all (')}) limit ${limits.counted}`;
  return `select count(*) as total from (${all}) counted`;
}

/** The page of a sparse list whose number of matching rows is known. */
async function gathered<T>(session: Session, list: List<T>, { fitting }: Known): Promise<Page<T>> {
  const { values, branches, conditions } = listSource(session, list, 1);
  // an optimization fence: the planner would read along the index of the order
  const all = `(select ${orderKeys(list)} ${branches.join()} offset 0)`;
  const [, rows] = await Promise.all([
    session.query(planning(list), []),
    session.queryUnprepared(`with ${pageIn(list, all)} ${listRows(list, conditions)}`, values),
  ]);
  return { rows: assertComplete(rows).map(row => hydrate(list.from, row)), total: Math.min(fitting, limits.counted) };
}

/** The page of a sparse list; undefined if too many rows match to be collected. */
async function collected<T>(session: Session, list: List<T>): Promise<Page<T> | undefined> {
  const { values, branches, conditions } = listSource(session, list, 1);
  const fitting = `fitting as materialized (select ${orderKeys(list)} ${branches.join()} limit ${limits.collected + 1})`;
  const [, rows] = await Promise.all([
    session.query(planning(list), []),
    // at least one row, which holds the total
    session.queryUnprepared(
      `with ${fitting}, ${pageIn(list, 'fitting')} select total, row.* from (select count(*) as total from fitting) counted
       left join lateral (${listRows(list, conditions)}) row on true order by ${list.order}`,
      values,
    ),
  ]);
  const total = Number(rows[0]?.total);
  if (total > limits.collected) return undefined;
  const page = assertComplete(rows)
    .filter(row => row.merchant_id !== null)
    .map(row => hydrate(list.from, row));
  return { rows: page, total: Math.min(total, limits.counted) };
}

/**
 * Planner settings for a page. Every filter has an index, but the planner may prefer a sequential scan: a merchant's rows
 * may all be at the end of the table, while it expects them evenly spread. A page is too cheap for workers or JIT.
 */
const planning = <T>({ covered }: List<T>) => {
  const off = ['enable_seqscan', 'jit', ...(covered ? ['enable_bitmapscan'] : [])];
  return `select ${off.map(name => `set_config('${name}', 'off', true)`).join(', ')},
    set_config('max_parallel_workers_per_gather', '0', true)`;
};

/** The combinations of values that are searched one by one: of the first conditions that allow it, up to `most` in all. */
function alternatives(conditions: readonly Condition[], most: number): Condition[][] {
  return conditions.reduce<Condition[][]>(
    (branches, condition) => {
      const [, value, column] = condition;
      const values = column && Array.isArray(value) ? [...new Set(value)] : [];
      const split = values.length > 0 && branches.length * values.length <= most;
      const alike = split ? values.map((one): Condition => [`${column} = ?`, one]) : [condition];
      return alike.flatMap(one => branches.map(branch => [...branch, one]));
    },
    [[]],
  );
}

/**
 * The sources of a list's rows, as SQL: one or several, each in the order of the list. `conditions`: those of a single
 * value, which all of its rows fit.
 */
function listSource<T>(session: Session, { from, where }: List<T>, most: number) {
  const values: unknown[] = [];
  const written = ([sql, value]: Condition) => sql.replaceAll('?', `$${values.push(value)}`);
  const all: Condition[] = [['merchant_id = ?', session.merchantId], ...where];
  const applying = all.filter(([, value]) => value !== undefined);
  const branches = alternatives(applying, most).map(
    branch => `from ${from.table} where ${branch.map(written).join(' and ')}`,
  );
  const branchValues = [...values];
  const conditions = applying.filter(([, , column]) => column === undefined).map(written);
  return { values, branches, branchValues, conditions: conditions.join(' and ') };
}

const orderKeys = <T>({ order }: List<T>) =>
  [...new Set(order.split(', ').map(term => term.replace(/ \w+$/, '')))].join(', ');

/**
 * The keys of a page, found by the columns of the order alone, so that an index-only scan can skip the rows before the
 * page.
 */
const pageIn = <T>({ order, page, count }: List<T>, source: string) =>
  `page as materialized (select * from ${source} keys order by ${order} limit ${count} offset ${page * count})`;

/** The rows of `page`. The conditions are repeated, so that those are found by indexes that hold for no others. */
const listRows = <T>(list: List<T>, conditions: string) => {
  const { from, order } = list;
  const columns = from.columns.map(({ column }) => column).join(', ');
  const inPage = `select ${columns} from ${from.table}
    where ${conditions} and (${orderKeys(list)}) in (select ${orderKeys(list)} from page) order by ${order}`;
  return bounded(from, inPage, `order by ${order}`);
};
