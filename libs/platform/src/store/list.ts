import type { Session } from './session.js';
import { assertComplete, bounded } from './size-limits.js';
import { hydrate, type Table } from './table.js';

/** A condition in SQL and the value that stands at its `?`; one whose value is undefined does not apply. See `each`. */
export type Condition = readonly [sql: string, value: unknown, column?: string];

/** One page of a merchant's rows. */
export interface List<T> {
  from: Table<T>;
  /** All must hold. The SQL is the service's own, the values are the caller's. */
  where: readonly Condition[];
  /** Columns that are never null, each with the same direction, the last one unique. See `sorted`. */
  order: string;
  /** From 0. */
  page: number;
  count: number;
  /**
   * What fits may lie far from the first page, where the planner expects it everywhere: it is collected from the filters'
   * indexes and sorted, instead of met along the index of the order. Where more than `limits.collected` fit, these are
   * met soon.
   */
  sparse?: boolean;
  /**
   * Some index in the order holds the columns of all filters, too: where more than a few fit, it is read from its
   * beginning. The planner would rather fetch all that fit from all over the table, and sort them.
   */
  covered?: boolean;
  /** How many fit, and how many rows the merchant has, where both are known: then nothing is counted, nor tried. */
  known?: Known;
}

export interface Known {
  fitting: number;
  among: number;
}

export interface Page<T> {
  rows: T[];
  /** How many rows fit, counted up to `limits.counted`: no page lies beyond it. */
  total: number;
}

const limits = { counted: 10_000, collected: 100_000, branches: 24 } as const;

/** What was asked for: a filter that is absent, '', 0 or [] does not filter. */
export function given<V>(value: V): V | undefined {
  const blank = value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
  return blank ? undefined : value;
}

/**
 * One of several values. Where they are few, each is looked for by itself, so that an index on (column, the list's
 * order) gives the order too; say so only of a column that has one.
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
 * where the rows of a page come to more than memory is to hold.
 */
export async function pageOf<T>(session: Session, list: List<T>): Promise<Page<T>> {
  await session.open();
  const { known } = list;
  if (known?.fitting === 0) return { rows: [], total: 0 };
  if (known) return isSparse(list, known) ? gathered(session, list, known) : met(session, list);
  return ((list.sparse || isScattered(list)) && (await collected(session, list))) || met(session, list);
}

/**
 * One of more values than are looked for by themselves. The planner expects them among the newest as often as anywhere;
 * where the newest are all of others, it read through hundreds of thousands of these.
 */
const isScattered = ({ where }: Pick<List<unknown>, 'where'>) =>
  where.some(([, value, column]) => column !== undefined && Array.isArray(value) && value.length > limits.branches);

/**
 * Whether fewer rows are read by collecting all that fit than by meeting those of the page: these lie among
 * `end * among / fitting` rows.
 */
const isSparse = ({ page, count }: Pick<List<unknown>, 'page' | 'count'>, { fitting, among }: Known) =>
  fitting <= limits.collected && fitting ** 2 < (page + 1) * count * among;

/** The page as it is met along the index of its order, or along those of its branches. */
async function met<T>(session: Session, list: List<T>): Promise<Page<T>> {
  const { values, branches } = sourceOf(session, list, limits.branches);
  const end = (list.page + 1) * list.count;
  const keys = keysOf(list);
  const first = branches.map(branch => `(select ${keys} ${branch} order by ${list.order} limit ${end})`);
  const counted = branches.map(branch => `(select 1 ${branch} limit ${limits.counted})`);
  const [, rows, total] = await Promise.all([
    session.query(planning(list), []),
    session.once(`with ${pageIn(list, `(${first.join(' union all ')})`)} ${rowsOf(list)}`, values),
    list.known?.fitting ??
      session
        .once(
          `select count(*) as total from (select * from (${counted.join(' union all ')}) counted limit ${limits.counted}) counted`,
          values,
        )
        .then(([count]) => Number(count?.total)),
  ]);
  return { rows: assertComplete(rows).map(row => hydrate(list.from, row)), total: Math.min(total, limits.counted) };
}

/** The page of a sparse list of which it is known how many fit. */
async function gathered<T>(session: Session, list: List<T>, { fitting }: Known): Promise<Page<T>> {
  const { values, branches } = sourceOf(session, list, 1);
  // the offset keeps the planner from meeting them along the index of the order
  const all = `(select ${keysOf(list)} ${branches.join()} offset 0)`;
  const [, rows] = await Promise.all([
    session.query(planning(list), []),
    session.once(`with ${pageIn(list, all)} ${rowsOf(list)}`, values),
  ]);
  return { rows: assertComplete(rows).map(row => hydrate(list.from, row)), total: Math.min(fitting, limits.counted) };
}

/** The page of a sparse list; undefined where too many fit to be collected. */
async function collected<T>(session: Session, list: List<T>): Promise<Page<T> | undefined> {
  const { values, branches } = sourceOf(session, list, 1);
  const fitting = `fitting as materialized (select ${keysOf(list)} ${branches.join()} limit ${limits.collected + 1})`;
  const [, rows] = await Promise.all([
    session.query(planning(list), []),
    // one row at least, which tells the total
    session.once(
      `with ${fitting}, ${pageIn(list, 'fitting')} select total, row.* from (select count(*) as total from fitting) counted
       left join lateral (${rowsOf(list)}) row on true order by ${list.order}`,
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
 * Every filter has its index, which the planner does not always believe: a merchant's rows may all stand at the end of
 * a table, where it expects them everywhere. What a page costs is too little for several workers, or for compiling.
 */
const planning = <T>({ covered }: List<T>) => {
  const off = ['enable_seqscan', 'jit', ...(covered ? ['enable_bitmapscan'] : [])];
  return `select ${off.map(name => `set_config('${name}', 'off', true)`).join(', ')},
    set_config('max_parallel_workers_per_gather', '0', true)`;
};

/** The combinations of values that are looked for by themselves: the first conditions that allow it, up to `most` in all. */
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

/** Where the rows of a list come from, as SQL: one source, or several, each in the order of the list. */
function sourceOf<T>(session: Session, { from, where }: List<T>, most: number) {
  const values: unknown[] = [];
  const written = ([sql, value]: Condition) => sql.replaceAll('?', `$${values.push(value)}`);
  const applying: Condition[] = [['merchant_id = ?', session.merchantId], ...where];
  const branches = alternatives(
    applying.filter(([, value]) => value !== undefined),
    most,
  ).map(conditions => `from ${from.table} where ${conditions.map(written).join(' and ')}`);
  return { values, branches };
}

const keysOf = <T>({ order }: List<T>) =>
  [...new Set(order.split(', ').map(term => term.replace(/ \w+$/, '')))].join(', ');

/**
 * The keys of a page, found by the columns of the order alone: an index that holds these and those of the filters is
 * then all that has to be read of what stands before the page.
 */
const pageIn = <T>({ order, page, count }: List<T>, source: string) =>
  `page as materialized (select * from ${source} keys order by ${order} limit ${count} offset ${page * count})`;

const rowsOf = <T>(list: List<T>) => {
  const { from, order } = list;
  const columns = from.columns.map(({ column }) => column).join(', ');
  const inPage = `select ${columns} from ${from.table}
    where merchant_id = $1 and (${keysOf(list)}) in (select ${keysOf(list)} from page) order by ${order}`;
  return bounded(from, inPage, `order by ${order}`);
};
