import type { Rejected } from '@recur/kernel';
import type { AggregateOf, LogIds, Lookup, Where } from './aggregate.js';
import { Stale } from './outcomes.js';
import { type CommandReader, rowsAmong, rowsWhere } from './reads/reads.js';
import type { Recorder, StepOptions, Stepped } from './recorder.js';
import type { Conflict } from './records.js';
import type { Table } from './schema/table.js';
import type { Source } from './session.js';

/**
 * Writes new rows without a transaction that is held: what is added goes out as one statement, which shares its commit
 * with other commands. It cannot lock. What must be certain is a unique index, named with `onConflict`.
 */
export class Appender implements CommandReader {
  constructor(
    private readonly source: Source,
    private readonly recorder: Recorder,
  ) {}

  /** Unix seconds on the merchant's clock. */
  get now(): number {
    return this.recorder.context.now;
  }

  get merchantId(): number {
    return this.source.merchantId;
  }

  async peek<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    const [row] = await this.peekAll(from, where, 'limit 1');
    return row;
  }

  peekAll<T>(from: Table<T>, where: Where<T>, tail = ''): Promise<T[]> {
    return rowsWhere(this.source, from, where, tail);
  }

  peekAmong<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]> {
    return rowsAmong(this.source, from, property, values);
  }

  /** The next integer id of a table, from its sequence `<table>_id_seq`. */
  nextId<T>(of: Table<T>): Promise<number> {
    return this.recorder.context.nextId(of.table);
  }

  /** A time-ordered unique id with a prefix, for objects that the API names by a string. */
  newId(prefix: `${string}_`): string {
    return this.recorder.context.newId(prefix);
  }

  /** Inserts the row. */
  add<T>(into: Table<T>, row: T): void {
    this.recorder.add(into, row);
  }

  /** Inserts a new aggregate's row and emits `event` with its view; returns both. See `Tx.step`. */
  step<E extends string, T, S, V extends object>(
    of: AggregateOf<E, T, S, V>,
    state: NoInfer<S>,
    event: NoInfer<E>,
    options?: StepOptions,
  ): Stepped<S, V> {
    return this.recorder.step(of, state, event, options);
  }

  /** Schedules work for `at`, in unix seconds on the clock of its kind; see `Tx.schedule`. */
  schedule(kind: string, key: string, at: number): void {
    this.recorder.work.schedule(this.merchantId, kind, key, at);
  }

  /** The one entry in the operation log: who did what to which target, e.g. `Invoice(in_…)`, `New`. */
  log(target: string, content: string, ids?: LogIds): void {
    this.recorder.log(target, content, ids);
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
