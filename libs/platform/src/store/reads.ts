import type { Rejected } from '@recur/kernel';
import type { Lookup, Where } from './aggregate.js';
import type { Stale } from './outcomes.js';
import { hydrate, type Table } from './schema/table.js';
import type { Source } from './session.js';
import { assertComplete } from './sql/size-limits.js';
import { amongText, selectText } from './sql/statements.js';

/**
 * Reads that decide nothing for certain: another command may change what they show before this one commits. Reads and
 * both ways to write have them, so that helper functions serve all three.
 */
export interface Peeking {
  readonly merchantId: number;
  /** Unix seconds on the merchant's clock. */
  readonly now: number;
  peek<T>(from: Table<T>, where: Where<T>): Promise<T | undefined>;
  /** Rows equal in the given properties; `tail` is SQL after the conditions: order by, limit. */
  peekAll<T>(from: Table<T>, where: Where<T>, tail?: string): Promise<T[]>;
  /** The rows of which a property is one of `values`, in one question. Rejects `answer_too_large`. */
  peekAmong<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]>;
}

/** The same for helper functions of commands, which may refuse because of a copy. */
export interface Peeks extends Peeking {
  /** The refusal to throw where a copy, which may be behind its owner, says no. */
  stale(copy: string, id: Lookup, rejection: Rejected): Stale;
}

/** Rows equal in the given properties, from wherever `source` asks. */
export async function rowsWhere<T>(source: Source, from: Table<T>, where: Where<T>, tail: string): Promise<T[]> {
  const conditions: Record<string, unknown> = from.infrastructure
    ? { ...where }
    : { merchantId: source.merchantId, ...where };
  const rows = await source.query(selectText(from, Object.keys(conditions), tail), Object.values(conditions));
  return rows.map(row => hydrate(from, row));
}

/** The rows of which a property is one of `values`, in one question. Rejects `answer_too_large`. */
export async function rowsAmong<T, K extends keyof T & string>(
  source: Source,
  from: Table<T>,
  property: K,
  values: readonly T[K][],
): Promise<T[]> {
  if (values.length === 0) return [];
  const rows = await source.query(amongText(from, property), [source.merchantId, [...new Set(values)]]);
  return assertComplete(rows).map(row => hydrate(from, row));
}
