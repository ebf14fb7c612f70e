import type { Rejected } from '@recur/kernel';
import type { Lookup, Where } from '../aggregate.js';
import { type AnswerAll, distinct } from '../joint.js';
import type { Stale } from '../outcomes.js';
import type { Row } from '../pool.js';
import { hydrate, type Table } from '../schema/table.js';
import type { Source } from '../session.js';
import { assertComplete } from '../sql/size-limits.js';
import { amongText, jointText, selectText } from '../sql/statements.js';

/**
 * Reads that decide nothing for certain: another command may change what they show before this one commits. Reads and
 * both ways to write have them, so that helper functions serve all three.
 */
export interface PeekReader {
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
export interface CommandReader extends PeekReader {
  /** The refusal to throw where a copy, which may be behind its owner, says no. */
  stale(copy: string, id: Lookup, rejection: Rejected): Stale;
  /**
   * To be called before a row of a copy is read that amounts, parties or a sale are decided with. Throws Stale where the
   * copy is known to lag: the owner is asked, if it is there, and the command runs again.
   */
  fresh(copy: string, id: Lookup): void;
}

/** Rows equal in the given properties, from wherever `source` asks. */
export async function rowsWhere<T>(source: Source, from: Table<T>, where: Where<T>, tail: string): Promise<T[]> {
  const conditions: Record<string, unknown> = from.infrastructure
    ? { ...where }
    : { merchantId: source.merchantId, ...where };
  const properties = Object.keys(conditions);
  const values = properties.map(property => stored(from, property, conditions[property]));
  const rows = source.joint
    ? await source.joint.ask(`${from.table} ${properties} ${tail}`, values, jointRows(source, from, properties, tail))
    : await source.query(selectText(from, properties, tail), values);
  return rows.map(row => hydrate(from, row));
}

/** A value as the column of a property holds it. */
function stored({ encoders }: Pick<Table<unknown>, 'encoders'>, property: string, value: unknown): unknown {
  const encode = encoders.get(property);
  return encode ? encode(value) : value;
}

/** The rows of several questions that differ in their values alone, in one statement. */
function jointRows<T>(source: Source, from: Table<T>, properties: readonly string[], tail: string) {
  const answerAll: AnswerAll<unknown[], Row[]> = async questions => {
    const [first = []] = questions;
    if (questions.length === 1) return [await source.query(selectText(from, properties, tail), first)];
    const columns = properties.map((_, at) => questions.map(values => values[at]));
    const rows = await source.query(jointText(from, properties, tail), columns);
    const found = questions.map((): Row[] => []);
    for (const row of rows) found[Number(row.asked_at) - 1]?.push(row);
    return found;
  };
  return distinct(answerAll, valuesKey);
}

/** The rows of a read as it is written; equal ones of items that go side by side are asked once. */
export function sourceRows(source: Source, text: string, values: readonly unknown[]): Promise<Row[]> {
  if (!source.joint) return source.query(text, values);
  const answerAll: AnswerAll<readonly unknown[], Row[]> = questions =>
    Promise.all(questions.map(question => source.query(text, question)));
  return source.joint.ask(text, values, distinct(answerAll, valuesKey));
}

const valuesKey = (values: readonly unknown[]): string =>
  JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? String(value) : value));

/** The rows of which a property is one of `values`, in one question. Rejects `answer_too_large`. */
export async function rowsAmong<T, K extends keyof T & string>(
  source: Source,
  from: Table<T>,
  property: K,
  values: readonly T[K][],
): Promise<T[]> {
  if (values.length === 0) return [];
  const among = [...new Set(values)].map(value => stored(from, property, value));
  const rows = await sourceRows(source, amongText(from, property), [source.merchantId, among]);
  return assertComplete(rows).map(row => hydrate(from, row));
}
