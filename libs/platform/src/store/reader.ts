import { type ErrorSlug, Rejected } from '@recur/kernel';
import { type AggregateOf, isAggregate, type Loader, loadState, type Where, whereOf } from './aggregate.js';
import type { AnswerAll } from './joint.js';
import type { Row } from './pool.js';
import { type PeekReader, rowsAmong, rowsWhere, sourceRows } from './reads/reads.js';
import type { Table } from './schema/table.js';
import type { Session } from './session.js';
import { type List, type Page, pageOf } from './sql/list.js';
import { type Slice, type Sliced, sliceOf } from './sql/slice.js';

/** Reads of one merchant's rows. Asked for together, they share one round trip. */
export class Reader implements Loader, PeekReader {
  constructor(
    protected readonly session: Session,
    /** Unix seconds on the merchant's clock. */
    readonly now: number,
  ) {}

  get merchantId(): number {
    return this.session.merchantId;
  }

  async find<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    const [row] = await this.all(from, where, 'limit 1');
    return row;
  }

  /** The row, or the aggregate with its parts. Throws Rejected(slug). */
  get<T, S>(from: AggregateOf<string, T, S, object>, which: string | number | Where<T>, slug: ErrorSlug): Promise<S>;
  get<T>(from: Table<T>, where: Where<T>, slug: ErrorSlug): Promise<T>;
  async get<T, S>(
    from: AggregateOf<string, T, S, object> | Table<T>,
    which: string | number | Where<T>,
    slug: ErrorSlug,
  ): Promise<T | S> {
    const row = isAggregate(from)
      ? await this.find(from.table, whereOf(from, which))
      : await this.find(from, which as Where<T>);
    if (row === undefined) throw new Rejected(slug);
    return isAggregate(from) ? loadState(from, this, row) : row;
  }

  /** Rows equal in the given properties; `tail` is SQL after the conditions: order by, limit. */
  all<T>(from: Table<T>, where: Where<T>, tail = ''): Promise<T[]> {
    return rowsWhere(this.session, from, where, tail);
  }

  /** The rows of which a property is one of `values`, in one question. Rejects `answer_too_large`. */
  among<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]> {
    return rowsAmong(this.session, from, property, values);
  }

  /** Like `find`; see `PeekReader`. */
  peek<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    return this.find(from, where);
  }

  peekAll<T>(from: Table<T>, where: Where<T>, tail?: string): Promise<T[]> {
    return this.all(from, where, tail);
  }

  peekAmong<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]> {
    return this.among(from, property, values);
  }

  /** A row that an aggregate consists of. */
  part<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    return this.find(from, where);
  }

  /** Rows that an aggregate consists of. */
  parts<T>(from: Table<T>, where: Where<T>, tail = ''): Promise<T[]> {
    return this.all(from, where, tail);
  }

  /** A page of a list, and how many rows fit it. What is read after it is of the same moment. */
  page<T>(list: List<T>): Promise<Page<T>> {
    return pageOf(this.session, list);
  }

  /** The next rows of a list that is read to its end. */
  async slice<T, K extends keyof T & string = keyof T & string>(slice: Slice<T, K>): Promise<Sliced<Pick<T, K>>> {
    await this.session.open();
    return sliceOf(this.session, slice);
  }

  /** A hand-written read; row-level security still holds. */
  query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return sourceRows(this.session, text, values);
  }

  /** Asks by `answerAll`, which answers the questions of one `kind` together where items go side by side. */
  async jointly<Q, A>(kind: string, question: Q, answerAll: AnswerAll<Q, A>): Promise<A> {
    if (this.session.joint) return this.session.joint.ask(kind, question, answerAll);
    const [answer] = await answerAll([question]);
    return answer as A;
  }
}
