import type { Row, Session } from './session.js';
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

const limits = { counted: 10_000, branches: 12, expected: 50_000, collected: 100_000 } as const;

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
 * filters has a text of its own, and the planner has to see the values to choose the index.
 */
export async function pageOf<T>(session: Session, list: List<T>): Promise<Page<T>> {
  const { from, where } = list;
  const applying: Condition[] = [['merchant_id = ?', session.merchantId], ...where];
  const values: unknown[] = [];
  const written = ([sql, value]: Condition) => sql.replaceAll('?', `$${values.push(value)}`);
  const branches = alternatives(applying.filter(([, value]) => value !== undefined)).map(
    conditions => `from ${from.table} where ${conditions.map(written).join(' and ')}`,
  );
  await session.open();
  await session.once(planning, []);
  const [source = '', ...others] = branches;
  if (list.sparse && others.length === 0 && (await expected(session, source, values)) <= limits.expected) {
    const collected = await collect(session, list, source, values);
    if (collected) return collected;
  }
  const [rows, counted] = await Promise.all([
    session.once(pageText(list, branches), values),
    session.once(countText(branches), values),
  ]);
  return { rows: rows.map((row: Row) => hydrate(from, row)), total: Number(counted[0]?.total) };
}

/**
 * Every filter has its index, which the planner does not always believe: a merchant's rows may all stand at the end of
 * a table, where it expects them everywhere. What a page costs is too little for several workers, or for compiling.
 */
const planning = `select ${['enable_seqscan', 'jit'].map(name => `set_config('${name}', 'off', true)`).join(', ')},
  set_config('max_parallel_workers_per_gather', '0', true)`;

/** The combinations of the values that are looked for by themselves; one, of all conditions, where these are too many. */
function alternatives(conditions: readonly Condition[]): Condition[][] {
  const valuesOf = ([, value, column]: Condition) => (column && Array.isArray(value) && value.length > 0 ? value : []);
  const count = conditions.reduce((before, condition) => before * (valuesOf(condition).length || 1), 1);
  if (count > limits.branches) return [[...conditions]];
  return conditions.reduce<Condition[][]>(
    (branches, condition) => {
      const single = valuesOf(condition).map((value): Condition => [`${condition[2]} = ?`, value]);
      return (single.length > 0 ? single : [condition]).flatMap(one => branches.map(branch => [...branch, one]));
    },
    [[]],
  );
}

/**
 * A page far from the first one begins at an edge, which is found first, by the columns of the order alone: an index that
 * holds these and those of the filters is then all that has to be read of what stands before the page.
 */
function pageText<T>({ from, order, page, count }: List<T>, branches: readonly string[]): string {
  const keys = order.split(', ').map(term => term.replace(/ \w+$/, ''));
  const first = (columns: string, limit: number, more = '') => {
    const parts = branches.map(branch => `select ${columns} ${branch}${more} order by ${order} limit ${limit}`);
    if (parts.length === 1) return String(parts[0]);
    return `select * from (${parts.map(part => `(${part})`).join(' union all ')}) branches order by ${order} limit ${limit}`;
  };
  const columns = from.columns.map(({ column }) => column).join(', ');
  const offset = page * count;
  if (offset === 0) return first(columns, count);
  const edge = keys.map(key => `(select ${key} from edge)`).join(', ');
  const reached = `(${keys.join(', ')}) ${order.endsWith(' asc') ? '>=' : '<='} (${edge})`;
  return `with edge as materialized (select * from (${first(distinct(keys), offset + 1)}) before order by ${order}
    limit 1 offset ${offset}) ${first(columns, count, ` and ${reached}`)}`;
}

const distinct = (keys: readonly string[]) => [...new Set(keys)].join(', ');

function countText(branches: readonly string[]): string {
  const parts = branches.map(branch => `(select 1 ${branch} limit ${limits.counted})`);
  return `select count(*) as total from (select * from (${parts.join(' union all ')}) branches limit ${limits.counted}) counted`;
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
