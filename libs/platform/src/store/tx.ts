import { type ErrorSlug, Rejected } from '@recur/kernel';
import {
  type AggregateOf,
  type EventSource,
  isAggregate,
  type LogIds,
  type Lookup,
  loadState,
  type Where,
  whereOf,
} from './aggregate.js';
import { moveClock } from './due/clocks.js';
import type { LeasedItems } from './due/work-changes.js';
import { type AnswerAll, Joint } from './joint.js';
import { Stale } from './outcomes.js';
import type { Row } from './pool.js';
import { Reader } from './reader.js';
import type { CommandReader } from './reads/reads.js';
import type { Recorder, StepOptions, Stepped } from './recorder.js';
import type { Conflict } from './records.js';
import { hydrate, type Table } from './schema/table.js';
import type { Session } from './session.js';
import { rowsValues } from './sql/rows.js';
import { saveText, upsertText } from './sql/statements.js';

/**
 * A transaction that writes. It begins with its first statement, and everything read in it is read in it. Reads and
 * locks run at once; saves, steps and the log entry are collected and go out with the commit, in one round trip.
 */
export class Tx extends Reader implements CommandReader {
  constructor(
    session: Session,
    private readonly recorder: Recorder,
  ) {
    super(session, recorder.context.now);
  }

  /**
   * Locks an aggregate with its parts, or a row, until the commit. Throws Rejected(slug). Lock parents before children.
   * A row that this command has saved since it was locked is returned as saved.
   */
  lock<T, S>(of: EventSource<string, T, S>, which: string | number | Where<T>, slug: ErrorSlug): Promise<S>;
  lock<T>(from: Table<T>, where: Where<T>, slug: ErrorSlug): Promise<T>;
  async lock<T, S>(
    of: EventSource<string, T, S> | Table<T>,
    which: string | number | Where<T>,
    slug: ErrorSlug,
  ): Promise<T | S> {
    const found = isAggregate(of) ? await this.lockIfAny(of, which) : await this.lockIfAny(of, which as Where<T>);
    if (found === undefined) throw new Rejected(slug);
    return found;
  }

  lockIfAny<T, S>(of: EventSource<string, T, S>, which: string | number | Where<T>): Promise<S | undefined>;
  lockIfAny<T>(from: Table<T>, where: Where<T>): Promise<T | undefined>;
  async lockIfAny<T, S>(
    of: EventSource<string, T, S> | Table<T>,
    which: string | number | Where<T>,
  ): Promise<T | S | undefined> {
    if (!isAggregate(of)) return this.part(of, which as Where<T>);
    const row = await this.part(of.table, whereOf(of, which));
    return row === undefined ? undefined : loadState(of, this, row);
  }

  /** Locks a row, if there is one. */
  override async part<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    const [row] = await this.parts(from, where);
    return row;
  }

  /** Locks rows, in the order of `tail`. */
  override async parts<T>(from: Table<T>, where: Where<T>, tail = ''): Promise<T[]> {
    const rows = await this.all(from, where, `${tail} for update`);
    return rows.map(row => this.recorder.locked(from, row));
  }

  /** Waits for other transactions that lock this name, and keeps it until the commit. */
  async lockName(name: string): Promise<void> {
    this.recorder.lockedName(name);
    await this.session.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
  }

  /** Locks rows that a hand-written statement finds: it selects all columns and ends its search with `for update`. */
  async lockFound<T>(from: Table<T>, text: string, values: readonly unknown[]): Promise<T[]> {
    const rows = await this.session.query(text, values);
    return rows.map(row => this.recorder.locked(from, hydrate(from, row)));
  }

  /** A hand-written statement that writes or locks. */
  run(text: string, values: readonly unknown[]): Promise<Row[]> {
    this.recorder.wrote();
    return this.session.query(text, values);
  }

  /** Like `jointly`, for a question whose answer writes. */
  jointlyWritten<Q, A>(kind: string, question: Q, answerAll: AnswerAll<Q, A>): Promise<A> {
    this.recorder.wrote();
    return this.jointly(kind, question, answerAll);
  }

  /** The next integer id of a table, from its sequence `<table>_id_seq`. */
  nextId<T>(of: Table<T>): Promise<number> {
    return this.recorder.context.nextId(of.table);
  }

  /** A time-ordered unique id with a prefix, for objects that the API names by a string. */
  newId(prefix: `${string}_`): string {
    return this.recorder.context.newId(prefix);
  }

  /** Inserts the row, or updates it where this transaction has locked it. */
  save<T>(into: Table<T>, row: T): void {
    this.recorder.save(into, row);
  }

  /**
   * Like `save`, but the statement runs at once: for what follows in this transaction and has to see it, such as a unique
   * index or a read. The row counts as locked from then on; a step of it goes out with the commit, as every step does.
   * Throws what the database does, of which `onConflict` gives the meaning.
   */
  async saveNow<T>(into: Table<T>, row: T): Promise<void> {
    const { change, written } = this.recorder.savedNow(into, row);
    await this.session.query(saveText(into, change), rowsValues(into, [written], this.recorder.context.arrays));
  }

  /** Inserts rows of a table with a version, or updates those that are there with an older one; runs at once. */
  async upsert<T extends { version: number }>(into: Table<T>, rows: readonly T[]): Promise<void> {
    if (rows.length === 0) return;
    const written = rows.map(row => ({ row, version: row.version }));
    await this.session.query(upsertText(into), rowsValues(into, written, this.recorder.context.arrays));
  }

  /**
   * Something happened to an aggregate: saves its row (an insert, or an update where it is locked), numbers it, and
   * emits `event` with its view. Returns the numbered state and the view. `log` adds the command's entry to the operation
   * log.
   */
  step<E extends string, T, S, V extends object>(
    of: AggregateOf<E, T, S, V>,
    state: NoInfer<S>,
    event: NoInfer<E>,
    options?: StepOptions,
  ): Stepped<S, V> {
    return this.recorder.step(of, state, event, options);
  }

  /** Like `step`, for an event whose data is not the view: returns the version. */
  emit<E extends string, T, S, V extends object>(
    of: EventSource<E, T, S, V>,
    state: NoInfer<S>,
    event: NoInfer<E>,
    data: NoInfer<V>,
  ): number {
    return this.recorder.emit(of, state, event, data);
  }

  /**
   * Schedules work for `at`, in unix seconds on the clock of its kind; it goes out with the commit. An item has one time:
   * this replaces an earlier one, and a worker that is on the item meanwhile leaves the new one alone.
   */
  schedule(kind: string, key: string, at: number): void {
    this.recorder.work.schedule(this.merchantId, kind, key, at);
  }

  /** Takes work off the schedule, if it is there. A worker that has begun it is not stopped. */
  unschedule(kind: string, key: string): void {
    this.recorder.work.unschedule(this.merchantId, kind, key);
  }

  /** The same transaction for one item of work: its events have the item's request id, and the log its own entry. */
  item({ requestId }: { requestId: string }): Tx {
    return new Tx(this.session, this.recorder.under(requestId));
  }

  /**
   * Runs `each` for all items side by side: questions that several of them ask at the same point are asked as one. They must
   * write and lock no row in common. Throws the first failure, when all have ended.
   */
  async together<T>(items: readonly T[], each: (item: T) => Promise<void>): Promise<void> {
    this.session.joint = items.length > 1 ? new Joint() : undefined;
    const results = await Promise.allSettled(items.map(each));
    this.session.joint = undefined;
    const failure = results.find(result => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** For the work runner: deletes items that this transaction has done; returns those that are no longer its own. */
  settle(items: LeasedItems): Promise<string[]> {
    return this.recorder.work.settle(this.session, items);
  }

  /**
   * Moves the merchant's clock to `offsetSeconds` ahead of the machine's, never back; only in a sandbox. Returns how far
   * it is ahead then, and the merchant's new time; `tx.now` stays what it was when the command began.
   */
  async moveClock(offsetSeconds: number): Promise<{ offset: number; now: number }> {
    const { clocksMove, retentionNow } = this.recorder.context;
    if (!clocksMove) throw new Error('clocks are moved in a sandbox only');
    this.recorder.wrote();
    this.recorder.movedClock();
    const offset = await moveClock(this.session, offsetSeconds);
    return { offset, now: retentionNow + offset };
  }

  /** Calls `then` once the transaction has committed, such as to wake a worker. A process that ends before never does. */
  onCommit(then: () => void): void {
    this.session.onCommit(then);
  }

  /** The one entry in the operation log: who did what to which target, e.g. `Invoice(in_…)`, `Finish`. */
  log(target: string, content: string, ids?: LogIds): void {
    this.recorder.log(target, content, ids);
  }

  /** Adds words to that entry, whichever part of the command makes it; without another entry they are the entry. */
  logAlso(target: string, content: string, ids?: LogIds): void {
    this.recorder.log(target, content, ids, { also: true });
  }

  /** Leaves the command without an entry in the operation log: for mass data that nobody would look up there. */
  unlogged(): void {
    this.recorder.unlogged();
  }

  /** Declares what a violation of a unique index means to the caller. */
  onConflict(index: string, means: Conflict): void {
    this.recorder.onConflict(index, means);
  }

  /** The refusal to throw where a copy, which may be behind its owner, says no. */
  stale(copy: string, id: Lookup, rejection: Rejected): Stale {
    return new Stale(copy, id, rejection);
  }

  fresh(copy: string, id: Lookup): void {
    if (this.recorder.context.isBehind(copy, id)) throw new Stale(copy, id, undefined);
  }
}
