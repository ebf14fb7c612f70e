import type { ColumnInfo, Table } from '../schema/table.js';
import type { Arrays } from './arrays.js';

/** A row to write; `version` replaces the row's own, if its table has one. */
export interface RowToWrite {
  row: unknown;
  version: number;
}

type Columns = Pick<Table<unknown>, 'columns' | 'wholes' | 'others'>;

/**
 * SQL for rows of a table as `r`, from parameter $at on: one prepared statement serves any number of rows. The whole
 * numbers of all rows are one bigint[], row after row (elements of an array without nulls are found by offset); every
 * other column is a text[]. PostgreSQL reads this in half the time of JSON, which it validates, parses and looks up by
 * name. `tail` ends the sub-select.
 */
export function rowsText(of: Columns, at: number, tail = ''): string {
  const { wholes, others } = of;
  const first = wholes.length > 0 ? at + 1 : at;
  const read = (column: ColumnInfo) => {
    const behind = wholes.length - 1 - wholes.indexOf(column);
    const [value, type] = wholes.includes(column)
      ? [`($${at}::bigint[])[i * ${wholes.length} - ${behind}]`, 'bigint']
      : [`v${others.indexOf(column)}`, 'text'];
    return column.type === type ? value : `${value}::${column.type}`;
  };
  const list = of.columns.map(column => `${read(column)} as ${column.column}`).join(', ');
  const from =
    others.length > 0
      ? `unnest(${others.map((_, index) => `$${first + index}::text[]`).join(', ')})
          with ordinality x(${others.map((_, index) => `v${index}`).join(', ')}, i)`
      : `generate_series(1, cardinality($${at}::bigint[]) / ${wholes.length}) i`;
  return `(select ${list} from ${from} ${tail}) r`;
}

/** The parameters of `rowsText`. */
export function rowsValues({ wholes, others }: Columns, rows: readonly RowToWrite[], arrays: Arrays): unknown[] {
  const texts = others.map(column => arrays.texts(rows.map(({ row }) => parameterText(column, member(row, column)))));
  if (wholes.length === 0) return texts;
  const numbers: unknown[] = [];
  for (const { row, version } of rows) {
    for (const column of wholes) numbers.push(column.property === 'version' ? version : member(row, column));
  }
  return [arrays.wholes(numbers), ...texts];
}

/** How many parameters those are. */
export const rowsWidth = ({ wholes, others }: Columns) => (wholes.length > 0 ? 1 : 0) + others.length;

function member(row: unknown, { property, encode }: ColumnInfo): unknown {
  const value = (row as Record<string, unknown>)[property];
  return encode ? encode(value) : value;
}

function parameterText({ type }: ColumnInfo, value: unknown): string | null {
  if (typeof value === 'string' && type === 'text') return value;
  if (value === null || value === undefined) return null;
  if (type === 'jsonb') return JSON.stringify(value);
  if (!Array.isArray(value)) return String(value);
  return `{${value.map(each => `"${String(each).replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
