import type { CodeTable } from '@recur/contracts';

/** Names of the codes; unknown codes are dropped, so a filter by them matches nothing. */
export const namesOf = (table: CodeTable, codes: readonly number[] | undefined): string[] | undefined =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] ?? Number.NaN));
