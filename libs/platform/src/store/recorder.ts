import type { EventName, OperationLogged } from '@recur/contracts';
import { Outcome } from '@recur/kernel';
import type { Caller } from '../runtime/caller.js';
import type { AggregateOf, EventSource, LogIds, Lookup } from './aggregate.js';
import type { WorkChanges } from './due/work-changes.js';
import { violatedIndex } from './errors.js';
import type { EventKinds } from './event.js';
import { type Conflict, Records, type Tracked } from './records.js';
import type { Table } from './schema/table.js';
import type { Arrays } from './sql/arrays.js';
import { type Emission, outboxRow } from './sql/outbox-row.js';
import type { RowToWrite } from './sql/rows.js';
import type { Change, EventRow, RowGroup, WriteSet } from './sql/write-set.js';

const LOGGED = 'operation.logged' satisfies EventName;

/** The surroundings of one run of a command. */
export interface Context {
  readonly caller: Caller;
  /** Unix seconds on the merchant's clock. */
  readonly now: number;
  /** The merchants' clocks can be moved: in a sandbox. */
  readonly clocksMove: boolean;
  /** Unix seconds on the machine's clock, by which expired rows are removed. */
  readonly retentionNow: number;
  readonly events: EventKinds;
  readonly arrays: Arrays;
  /** True if a row of a copy has to be asked for: the copy lags, and the command has not asked yet. */
  isBehind(copy: string, id: Lookup): boolean;
  newId(prefix: `${string}_`): string;
  nextId(table: string): Promise<number>;
}

/** A conflict after which the command runs again and finds what the other has made. */
export class RunAgain extends Outcome {
  override readonly name = 'RunAgain';

  constructor(cause: unknown) {
    super('ran into what another command has made', { cause });
  }
}

/** The optional parts of a step. */
export interface StepOptions {
  /** The content of the operation log's entry, such as `Cancel`: the command logs this step. */
  log?: string;
  /** Ids for the log's filters, beside those of the aggregate. */
  ids?: LogIds;
}

/** An aggregate after a step. */
export interface Stepped<S, V> {
  /** The state with the version that the step gave it. */
  readonly state: S;
  /** The view of that state, which the event carries. */
  readonly view: V;
}

/** Everything a command leaves behind, apart from its stored answer. */
export interface ChangeSet extends Omit<WriteSet, 'answers'> {
  /** Finds an event by the data it was made of. */
  emitted: ReadonlyMap<object, EventRow>;
  logged: boolean;
  changed: boolean;
  /** There is something to commit, if it is only work that was scheduled. */
  wrote: boolean;
  /** Kinds of work that have an item due now; undefined stands for all: the merchant's clock moved. */
  due: readonly (string | undefined)[];
}

/** Collects the effects of one run of a command: rows, events, the log entry, and the meaning of conflicts. */
export class Recorder {
  constructor(
    readonly context: Context,
    private readonly records = new Records(),
  ) {}

  /** A recorder of the same run whose events and log entry have another request id. */
  under(requestId: string): Recorder {
    return new Recorder({ ...this.context, caller: { ...this.context.caller, requestId } }, this.records);
  }

  /** A recorder of all that runs side by side in one transaction have recorded. Throws Entangled. */
  static joined(context: Context, runs: readonly Recorder[]): Recorder {
    const records = new Records();
    for (const run of runs) records.absorb(run.records);
    return new Recorder(context, records);
  }

  /** Work that is scheduled, taken off the schedule, or done. */
  get work(): WorkChanges {
    return this.records.work;
  }

  /** A hand-written statement has written. */
  wrote(): void {
    this.records.ran = true;
  }

  get hasWritten(): boolean {
    return this.records.ran;
  }

  /** A name is locked. */
  lockedName(name: string): void {
    this.records.names.add(name);
  }

  /** The command needs no log entry. */
  unlogged(): void {
    this.records.unlogged = true;
  }

  /** The merchant's clock was moved. */
  movedClock(): void {
    this.records.clockMoved = true;
  }

  /** Tracks a row that is locked; returns it as it was saved since, if it was. */
  locked<T>(table: Table<T>, row: T): T {
    return (this.records.tracked.get(rowKey(table, row)) ?? this.track(table, row, 'update')).row as T;
  }

  /** Inserts the row, or updates it where it is locked. */
  save<T>(into: Table<T>, row: T): void {
    this.saved(into, row);
  }

  /** Like `save`, for a row that the caller writes at once: returns how. It counts as locked and saved from then on. */
  savedNow<T>(into: Table<T>, row: T): { change: Change; written: RowToWrite } {
    const tracked = this.saved(into, row);
    const { change, version } = tracked;
    tracked.change = 'update';
    tracked.saved = false;
    this.wrote();
    return { change, written: { row, version } };
  }

  /** Inserts the row. */
  add<T>(into: Table<T>, row: T): void {
    if (this.records.tracked.has(rowKey(into, row))) throw new Error(`${rowKey(into, row)} was added before`);
    this.track(into, row, 'insert').saved = true;
  }

  /** Saves a state, numbers it, and emits its view; returns both. */
  step<E extends string, T, S, V extends object>(
    of: AggregateOf<E, T, S, V>,
    state: S,
    event: E,
    { log, ids }: StepOptions = {},
  ): Stepped<S, V> {
    const row = this.saved(of.table as Table<unknown>, state);
    const numbered: S = { ...state, version: ++row.version };
    row.row = numbered;
    const view = of.view(numbered);
    this.record(event, of, numbered, row.version, view);
    if (log !== undefined) {
      const target = of.target?.(numbered) ?? rowId(of, numbered);
      this.log(`${of.title}(${target})`, log, { ...of.ids?.(numbered), ...ids });
    }
    return { state: numbered, view };
  }

  /** Saves a state, numbers it, and emits data that is not its view; returns its version. */
  emit<E extends string, T, S>(of: EventSource<E, T, S>, state: S, event: E, data: object): number {
    const row = this.saved(of.table as Table<unknown>, state);
    row.row = { ...state, version: ++row.version };
    this.record(event, of, state, row.version, data);
    return row.version;
  }

  log(target: string, content: string, ids: LogIds = {}, { also = false } = {}): void {
    const { caller } = this.context;
    const { entries } = this.records;
    const there = entries.get(caller.requestId) ?? [];
    if (!also && there.some(entry => !entry.also)) throw new Error('one command, one log entry');
    const data = { actor: caller.actor, target, content, ids } satisfies OperationLogged;
    const entry = { type: LOGGED, aggregate: 'operation', aggregateId: '', version: 1, data, caller, also };
    entries.set(caller.requestId, also ? [...there, entry] : [entry, ...there]);
  }

  /** The entries with what was added to them. */
  private logEntries(): Emission[] {
    return [...this.records.entries.values()].flatMap(all => {
      const content = all.map(({ data }) => data.content).join(', ');
      const ids = Object.assign({}, ...all.map(({ data }) => data.ids).reverse());
      return all.slice(0, 1).map(({ also: _, ...entry }) => ({ ...entry, data: { ...entry.data, content, ids } }));
    });
  }

  onConflict(index: string, means: Conflict): void {
    this.records.conflicts.set(index, means);
  }

  /** Translates an error for the command: the refusal or retry that a conflict stands for, or the error itself. */
  meaningOf(error: unknown): unknown {
    const index = violatedIndex(error);
    const means = index === undefined ? undefined : this.records.conflicts.get(index);
    if (means === undefined) return error;
    return means === 'again' ? new RunAgain(error) : means();
  }

  outcome(): ChangeSet {
    const { work, ran, unlogged, clockMoved } = this.records;
    const entries = this.logEntries();
    const emissions = [...this.records.emissions, ...entries];
    const events = emissions.map(emission => outboxRow(emission, this.context));
    const changed = this.changedRows();
    const groups = [...changed, ...work.scheduledRows()];
    return {
      changes: groups.map(({ table, change }) => [table, change] as const),
      rows: groups.map(({ rows }) => rows),
      events,
      emitted: new Map(emissions.map(({ data }, at) => [data, events[at] as EventRow])),
      logged: unlogged || entries.length > 0,
      changed: ran || changed.length > 0,
      wrote: ran || groups.length > 0 || work.deleted,
      due: [...(clockMoved ? [undefined] : []), ...work.dueBy(this.context.now)],
    };
  }

  private changedRows(): RowGroup[] {
    const groups = new Map<string, RowGroup & { rows: RowToWrite[] }>();
    for (const { table, change, row, version, saved } of this.records.tracked.values()) {
      if (!saved) continue;
      const key = `${table.table} ${change}`;
      const group = groups.get(key) ?? { table, change, rows: [] };
      groups.set(key, group);
      group.rows.push({ row, version });
    }
    return [...groups.values()];
  }

  private saved<T>(into: Table<T>, row: T): Tracked {
    const tracked = this.records.tracked.get(rowKey(into, row)) ?? this.track(into, row, 'insert');
    tracked.row = row;
    tracked.saved = true;
    return tracked;
  }

  private track<T>(table: Table<T>, row: T, change: Change): Tracked {
    const version = Number((row as { version?: number }).version ?? 0);
    const tracked = { table, change, row, version, saved: false };
    this.records.tracked.set(rowKey(table, row), tracked);
    return tracked;
  }

  private record(type: string, of: { name: string; key: string }, row: unknown, version: number, data: object): void {
    const { caller } = this.context;
    this.records.emissions.push({ type, aggregate: of.name, aggregateId: rowId(of, row), version, data, caller });
  }
}

const rowId = ({ key }: { key: string }, row: unknown) => String((row as Record<string, unknown>)[key]);

function rowKey(table: { table: string; key: readonly string[] }, row: unknown): string {
  const values = row as Record<string, unknown>;
  return `${table.table} ${table.key.map(property => String(values[property])).join(' ')}`;
}
