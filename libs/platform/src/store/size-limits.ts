import { Rejected } from '@recur/kernel';
import type { Row } from './pool.js';
import type { Table } from './table.js';

/** What rows of one question may come to as text: they are read whole into memory, several questions at once. */
const limits = { readBytes: 33_554_432, shortDocument: 2_048 } as const;

/**
 * The rows of `select` as far as their `bytes` come to `most`, and the one that passes it; `carried` counts them. `order`
 * is theirs, if they have one.
 */
export function upTo(most: number, select: string, bytes: string, order = ''): string {
  return `select * from (
      select *, sum(bytes) over (${order} rows unbounded preceding) as carried
      from (select *, ${bytes} as bytes from (${select}) chosen) weighed) read
    where carried - bytes <= ${most} ${order}`;
}

/**
 * The same for rows of a table, where they hold documents: everything else of a row is short. A document is written
 * out to be weighed, since its text may be many times as long as what is stored, unless it is short and not compressed.
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

/** What was read with `upTo` ended because of its size. */
export const isCut = (rows: readonly Row[], most: number) => rows.some(({ carried }) => Number(carried ?? 0) > most);

/** All that was asked for with `bounded`. Throws Rejected where it was more than memory is to hold. */
export function assertComplete<R extends Row>(rows: readonly R[]): readonly R[] {
  if (!isCut(rows, limits.readBytes)) return rows;
  const why = 'What has to be read for this would be too large: ask for fewer entries at once (count)';
  throw new Rejected('answer_too_large', why);
}
