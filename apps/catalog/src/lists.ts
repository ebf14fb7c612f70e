import { type Condition, each } from '@recur/platform';

/** Ids found by a search; a numeric search term also matches the row with that id. */
export const withId = (found: readonly number[], part: string) =>
  /^\d{1,15}$/.test(part) ? [...found, Number(part)] : found;

/** A filter: the column holds one of the values; undefined for no filter. */
export type Filter = readonly [column: string, values: readonly unknown[] | undefined];

/**
 * Conditions of a list: its filters and `others`. A single filter in the order of the newest uses its own index, with one
 * scan per value. With several filters, or in another order, the index of that order holds all filter columns and is
 * scanned once.
 */
export function conditions(newest: boolean, filters: readonly Filter[], others: readonly Condition[]): Condition[] {
  const asked = [...filters, ...others].filter(([, value]) => value !== undefined);
  const alone = newest && asked.length === 1;
  return [
    ...filters.map(([column, values]) => (alone ? each(column, values) : ([`${column} = any(?)`, values] as const))),
    ...others,
  ];
}
