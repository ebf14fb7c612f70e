import type { CodeTable } from '@recur/contracts';

/** Name of a code in its table, for input; the contract has validated the code. Throws Error for an unknown one. */
export function nameOfCode<T extends CodeTable>(table: T, code: number): keyof T & string {
  const name = Object.keys(table).find(candidate => table[candidate] === code);
  if (name === undefined) throw new Error(`${code} is none of ${Object.values(table).join(', ')}`);
  return name;
}

/** Names of the codes that are in the table; undefined where no codes were given. */
export const namesOf = (table: CodeTable, codes: readonly number[] | undefined): string[] | undefined =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] as number));
