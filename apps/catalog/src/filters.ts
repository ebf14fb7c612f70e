import { type Condition, each } from '@recur/platform';

/** What a search found, and the row whose id the part is: a number is that, too. */
export const withId = (found: readonly number[], part: string) =>
  /^\d{1,15}$/.test(part) ? [...found, Number(part)] : found;

/** A filter by one of several values: its column, and what was asked for. */
export type Filter = readonly [column: string, values: readonly unknown[] | undefined];

/**
 * The conditions of a list, beside `others` that it has. One filter alone has an index of its own in the order of the
 * newest, where each of its values is looked for by itself. In another order, and for several filters, the index of the
 * order holds all their columns, and is read once for all values.
 */
export function conditions(newest: boolean, filters: readonly Filter[], others: readonly Condition[]): Condition[] {
  const asked = [...filters, ...others].filter(([, value]) => value !== undefined);
  const alone = newest && asked.length === 1;
  return [
    ...filters.map(([column, values]) => (alone ? each(column, values) : ([`${column} = any(?)`, values] as const))),
    ...others,
  ];
}
