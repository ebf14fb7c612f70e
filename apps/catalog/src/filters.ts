import { type Condition, each } from '@recur/platform';

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
