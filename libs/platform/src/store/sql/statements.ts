import type { ColumnInfo, Table } from '../schema/table.js';
import { rowsText, rowsWidth } from './rows.js';
import { bounded } from './size-limits.js';
import { type Change, widths } from './write-set.js';

const cache = new Map<string, string>();

function once(key: string, make: () => string): string {
  let text = cache.get(key);
  if (text === undefined) {
    text = make();
    cache.set(key, text);
  }
  return text;
}

/** `select` by equality on the given properties; a tenant table's merchant is always the first condition. */
export function selectText<T>(from: Table<T>, properties: readonly string[], tail: string): string {
  return once(`s ${from.table} ${properties.join()} ${tail}`, () => {
    const conditions = properties.map((property, at) => `${columnOf(from, property)} = $${at + 1}`);
    const list = from.columns.map(({ column }) => column).join(', ');
    const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
    return `select ${list} from ${from.table} ${where} ${tail}`;
  });
}

/**
 * Several `selectText` that differ in their values alone, of which each parameter has a list: their rows, with the number
 * of the question, from 1, as `asked_at`. Each question is looked up by itself, in the order of the lists.
 */
export function jointText<T>(from: Table<T>, properties: readonly string[], tail: string): string {
  return once(`j ${from.table} ${properties.join()} ${tail}`, () => {
    const asked = properties.map(property => columnInfo(from, property));
    const lists = asked.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ');
    const conditions = asked.map(({ column }, at) => `${column} = asked.v${at}`).join(' and ');
    const list = from.columns.map(({ column }) => column).join(', ');
    return `select asked.asked_at, found.* from
      unnest(${lists}) with ordinality asked(${asked.map((_, at) => `v${at}`).join(', ')}, asked_at) cross join lateral
      (select ${list} from ${from.table} where ${conditions} ${tail || 'offset 0'}) found`;
  });
}

/**
 * `select` by a list of values of one property of a tenant table, with one index lookup per value. Left to itself, a
 * generic plan, made for a merchant of average size, may read all rows of the merchant.
 */
export function amongText<T>(from: Table<T>, property: keyof T & string): string {
  return once(`a ${from.table} ${property}`, () => {
    const list = from.columns.map(({ column }) => `found.${column}`).join(', ');
    const { column, type } = columnInfo(from, property);
    return bounded(
      from,
      `select ${list} from unnest($2::${type}[]) asked(value) cross join lateral
      (select * from ${from.table} where merchant_id = $1 and ${column} = asked.value offset 0) found`,
    );
  });
}

export const columnOf = <T>(of: Table<T>, property: string): string => columnInfo(of, property).column;

function columnInfo<T>(of: Table<T>, property: string): ColumnInfo {
  const found = of.columns.find(column => column.property === property);
  if (!found) throw new Error(`${of.table} has no property ${property}`);
  return found;
}

function insertText<T>(into: Table<T>, at: number, from = ''): string {
  const columns = into.columns.map(({ column }) => column);
  return `insert into ${into.table} (${columns.join(', ')}) select ${columns.map(c => `r.${c}`).join(', ')} from ${from}${rowsText(into, at)}`;
}

function updateText<T>(of: Table<T>, at: number): string {
  const match = keyColumns(of).map(key => `t.${key} = r.${key}`);
  // rows that are made first: arithmetic within a comparison of keys may fail, so under row-level security it is done after
  // the merchant's rows are found, all of them
  const rows = rowsText(of, at, 'offset 0');
  return `update ${of.table} t set ${assignments(of, 'r')} from ${rows} where ${match.join(' and ')}`;
}

/** The change of rows of a table, whose parameters begin at $at. `from` comes before the rows of an insert. */
const changeText = <T>(of: Table<T>, change: Change, at: number, from = '') =>
  change === 'insert' ? insertText(of, at, from) + replacing(of) : updateText(of, at);

/** Inserts rows, or updates rows that are locked, as a statement of its own; see `rowsValues`. */
export const saveText = <T>(into: Table<T>, change: Change): string =>
  once(`n ${change} ${into.table}`, () => changeText(into, change, 1));

/** Inserts rows of a table with a version, or updates those that are there with an older one; see `rowsValues`. */
export function upsertText<T>(into: Table<T>): string {
  return once(
    `u ${into.table}`,
    () => `${insertText(into, 1)} on conflict (${keyColumns(into).join(', ')})
      do update set ${assignments(into, 'excluded')} where ${into.table}.version < excluded.version`,
  );
}

const replacing = <T>(into: Table<T>) =>
  into.replaced ? ` on conflict (${keyColumns(into).join(', ')}) do update set ${assignments(into, 'excluded')}` : '';

const keyColumns = <T>(of: Table<T>) => of.key.map(property => columnOf(of, property));

/** Assigns all columns except the key from `from`. */
const assignments = <T>(of: Table<T>, from: string) =>
  of.columns
    .map(({ column }) => column)
    .filter(column => !keyColumns(of).includes(column))
    .map(column => `${column} = ${from}.${column}`)
    .join(', ');

const arrays = (from: number, width: number) =>
  Array.from({ length: width }, (_, at) => `$${from + at}::text[]`).join(', ');

const insertEvents = (at: number) => `insert into outbox
    (merchant_id, id, type, aggregate, aggregate_id, version, envelope, created_at)
  select ($1::text)::bigint, r.id, r.type, r.aggregate, r.aggregate_id, r.version::integer, r.envelope,
    r.created_at::bigint
  from ctx, unnest(${arrays(at, widths.events)}) r(id, type, aggregate, aggregate_id, version, envelope, created_at)
  returning seq, octet_length(envelope) as characters`;

const insertAnswers = (at: number) => `insert into idempotency
    (merchant_id, key, fingerprint, request_id, form, answer, created_at)
  select ($1::text)::bigint, r.key, r.fingerprint, r.request_id, r.form, r.answer, r.created_at::bigint
  from ctx, unnest(${arrays(at, widths.answers)}) r(key, fingerprint, request_id, form, answer, created_at)`;

/** The shape of a command: the tables it changes, and how. Commands of one shape share a statement. */
export const shapeOf = (changes: readonly (readonly [Table<unknown>, Change])[]) =>
  changes.map(([{ table }, change]) => `${change} ${table}`).join();

/**
 * Everything a command commits, as one statement: its changes, its events with their row in `unpublished` (see
 * platform-tables.ts), its stored answer.
 * $1 is the merchant, followed by the rows of each changed table and the columns of events and answers (see
 * `commitValues`). `ctx` sets the merchant before any row is produced, so that row-level security holds when the
 * statement is a transaction of its own.
 */
export function commitText(changes: readonly (readonly [Table<unknown>, Change])[]): string {
  return once(shapeOf(changes), () => {
    let at = 2;
    const parts = changes.map(([table, change]) => {
      const text = changeText(table, change, at, 'ctx, ');
      at += rowsWidth(table);
      return text;
    });
    parts.push(insertEvents(at), insertAnswers(at + widths.events));
    const named = parts.map((part, index) => `w${index} as (${part})`);
    return `with ctx as materialized (select set_config('app.merchant_id', $1::text, true)), ${named.join(', ')}
      insert into unpublished select min(seq), array_agg(seq), sum(characters) from w${changes.length}
      having count(*) > 0`;
  });
}
