import { Rejected } from '@recur/kernel';
import type { Row } from '../pool.js';
import type { Table } from '../schema/table.js';

/** The largest result of one query, as text: results are held in memory, several at once. */
const limits = { readBytes: 33_554_432, shortDocument: 2_048 } as const;

/**
 * SQL for the first rows of `select` whose `bytes` add up to `most`, and the one that exceeds it; `bytes_read` is the sum.
 * `order` is the order of the rows, if they have one.
 */
export function upTo(most: number, select: string, bytes: string, order = ''): string {
  return `select * from (
      select *, sum(bytes) over (${order} rows unbounded preceding) as bytes_read
      from (select *, ${bytes} as bytes from (${select}) chosen) weighed) read
    where bytes_read - bytes <= ${most} ${order}`;
}

/**
 * `upTo` for the rows of a table that has documents (everything else in a row is short). Documents are measured as text,
 * which may be many times as long as what is stored, unless they are short and not compressed.
 */
export function bounded<T>(from: Table<T>, select: string, order = '', most: number = limits.readBytes): string {
  const documents = from.columns.filter(({ type }) => type === 'jsonb');
  if (documents.length === 0) return select;
  const sizes = documents.map(
    ({ column: c }) => `coalesce(case when pg_column_compression(${c}) is null
      and pg_column_size(${c}) < ${limits.shortDocument} then pg_column_size(${c}) else octet_length(${c}::text) end, 0)`,
  );
  return upTo(most, select, sizes.join(' + '), order);
}

/** The rows read with `upTo` were cut because of their size. */
export const isCut = (rows: readonly Row[], most: number) =>
  rows.some(({ bytes_read }) => Number(bytes_read ?? 0) > most);

/** The rows read with `bounded`. Throws Rejected `answer_too_large` if they were cut. */
export function assertComplete<R extends Row>(rows: readonly R[]): readonly R[] {
  if (!isCut(rows, limits.readBytes)) return rows;
  const why = 'The answer would be too large: ask for fewer entries at once (count)';
  throw new Rejected('answer_too_large', why);
}
