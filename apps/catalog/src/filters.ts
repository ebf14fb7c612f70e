import { type Condition, each } from '@recur/platform';

/**
 * One of several values of a column whose index is in the order of the newest: in that order each is looked for by
 * itself; in another, the index of that order holds the column too, and is read once for all values.
 */
export const oneOf = (newest: boolean, column: string, values: readonly unknown[] | undefined): Condition =>
  newest ? each(column, values) : [`${column} = any(?)`, values];
