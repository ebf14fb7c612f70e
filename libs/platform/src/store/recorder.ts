import type { EventName, OperationLogged } from '@recur/contracts';
import { invalid, Outcome, type Rejected } from '@recur/kernel';
import type { Caller } from '../runtime/caller.js';
import type { Aggregate, AggregateOf, EventSource, LogIds } from './aggregate.js';
import { violatedIndex } from './errors.js';
import { type EventKinds, written } from './event.js';
import type { Table } from './schema/table.js';
import type { Arrays } from './sql/arrays.js';
import type { RowToWrite } from './sql/rows.js';
import type { Change, EventRow, WriteSet } from './sql/write-set.js';

/**
 * The largest event data. Well below NATS's `max_payload`: an event that the bus refuses would stay in the outbox for
 * ever, and its object could not be answered any more.
 */
const limits = { eventBytes: 3_145_728 } as const;

const LOGGED = 'operation.logged' satisfies EventName;

/** The surroundings of one run of a command. */
export interface Context {
  readonly caller: Caller;
  /** Unix seconds on the merchant's clock. */
  readonly now: number;
  /** Unix seconds on the machine's clock, by which expired rows are removed. */
  readonly keptFrom: number;
  readonly aggregates: Readonly<Record<string, Aggregate>>;
  readonly events: EventKinds;
  readonly arrays: Arrays;
  newId(prefix: `${string}_`): string;
  nextId(table: string): Promise<number>;
}

/** The meaning of a violated unique index: how to refuse, or `again` to run the command once more. */
export type Conflict = (() => Rejected) | 'again';

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

/** Everything a command leaves behind, apart from its stored answer. */
export interface Recorded extends Omit<WriteSet, 'answers'> {
  /** Finds an event by the data it was made of. */
  emitted: ReadonlyMap<object, EventRow>;
  logged: boolean;
  changed: boolean;
}

interface Tracked {
  table: Table<unknown>;
  change: Change;
  row: unknown;
  version: number;
  saved: boolean;
}

interface Emission {
  type: string;
  aggregate: string;
  aggregateId: string;
  version: number;
  data: object;
}

/** Collects the effects of one run of a command: rows, events, the log entry, and the meaning of conflicts. */
export class Recorder {
  private readonly tracked = new Map<string, Tracked>();
  private readonly emissions: Emission[] = [];
  private readonly conflicts = new Map<string, Conflict>();
  private entry: OperationLogged | undefined;
  private ran = false;

  constructor(readonly context: Context) {}

  /** A hand-written statement has written. */
  wrote(): void {
    this.ran = true;
  }

  /** Tracks a row that is locked; returns it as it was saved since, if it was. */
  locked<T>(table: Table<T>, row: T): T {
    return (this.tracked.get(keyOf(table, row)) ?? this.track(table, row, 'update')).row as T;
  }

  /** Inserts the row, or updates it where it is locked. */
  save<T>(into: Table<T>, row: T): void {
    this.saved(into, row);
  }

  /** Inserts the row. */
  add<T>(into: Table<T>, row: T): void {
    if (this.tracked.has(keyOf(into, row))) throw new Error(`${keyOf(into, row)} was added before`);
    this.track(into, row, 'insert').saved = true;
  }

  /** Saves a state, numbers it, and emits its view; returns the view. */
  step<E extends string, T, S, V extends object>(
    of: AggregateOf<E, T, S, V>,
    state: S,
    event: E,
    { log, ids }: StepOptions = {},
  ): V {
    const row = this.saved(of.table as Table<unknown>, state);
    const numbered: S = { ...state, version: ++row.version };
    row.row = numbered;
    const data = of.view(numbered);
    this.record(event, of, numbered, row.version, data);
    if (log !== undefined) {
      const target = of.target?.(numbered) ?? idOf(of, numbered);
      this.log(`${of.title}(${target})`, log, { ...of.ids?.(numbered), ...ids });
    }
    return data;
  }

  /** Saves a state, numbers it, and emits data that is not its view; returns its version. */
  emit<E extends string, T, S>(of: EventSource<E, T, S>, state: S, event: E, data: object): number {
    const row = this.saved(of.table as Table<unknown>, state);
    row.row = { ...state, version: ++row.version };
    this.record(event, of, state, row.version, data);
    return row.version;
  }

  /** The event of a row that was saved by hand. */
  emitFor(type: string, row: unknown, data: object): void {
    const name = this.context.events[type]?.aggregate ?? fail(`event ${type} is not registered`);
    const of = this.context.aggregates[name] ?? fail(`aggregate ${name} of ${type} is not declared`);
    const saved = this.tracked.get(keyOf(of.table, row));
    if (!saved?.saved) throw new Error(`${type}: save the row before its event`);
    this.record(type, { ...of, name }, row, ++saved.version, data);
  }

  log(target: string, content: string, ids: LogIds = {}): void {
    if (this.entry) throw new Error('one command, one log entry');
    this.entry = { actor: this.context.caller.actor, target, content, ids };
  }

  onConflict(index: string, means: Conflict): void {
    this.conflicts.set(index, means);
  }

  /** Translates an error for the command: the refusal or retry that a conflict stands for, or the error itself. */
  meaningOf(error: unknown): unknown {
    const index = violatedIndex(error);
    const means = index === undefined ? undefined : this.conflicts.get(index);
    if (means === undefined) return error;
    return means === 'again' ? new RunAgain(error) : means();
  }

  outcome(): Recorded {
    const entry = this.entry && { type: LOGGED, aggregate: 'operation', aggregateId: '', version: 1, data: this.entry };
    const emissions = [...this.emissions, ...(entry ? [entry] : [])];
    const events = emissions.map(emission => this.outboxRow(emission));
    const groups = this.changedRows();
    return {
      changes: groups.map(({ table, change }) => [table, change] as const),
      rows: groups.map(({ rows }) => rows),
      events,
      emitted: new Map(emissions.map(({ data }, at) => [data, events[at] as EventRow])),
      logged: this.entry !== undefined,
      changed: this.ran || groups.length > 0,
    };
  }

  private changedRows() {
    const groups = new Map<string, { table: Table<unknown>; change: Change; rows: RowToWrite[] }>();
    for (const { table, change, row, version, saved } of this.tracked.values()) {
      if (!saved) continue;
      const key = `${table.table} ${change}`;
      const group = groups.get(key) ?? { table, change, rows: [] };
      groups.set(key, group);
      group.rows.push({ row, version });
    }
    return [...groups.values()];
  }

  private saved<T>(into: Table<T>, row: T): Tracked {
    const tracked = this.tracked.get(keyOf(into, row)) ?? this.track(into, row, 'insert');
    tracked.row = row;
    tracked.saved = true;
    return tracked;
  }

  private track<T>(table: Table<T>, row: T, change: Change): Tracked {
    const version = Number((row as { version?: number }).version ?? 0);
    const tracked = { table, change, row, version, saved: false };
    this.tracked.set(keyOf(table, row), tracked);
    return tracked;
  }

  private record(type: string, of: { name: string; key: string }, row: unknown, version: number, data: object): void {
    this.emissions.push({ type, aggregate: of.name, aggregateId: idOf(of, row), version, data });
  }

  private outboxRow({ type, aggregate, aggregateId, version, data }: Emission): EventRow {
    const { context } = this;
    const kind = context.events[type];
    const id = context.newId('ev_');
    const { actor, requestId, traceparent, merchantId } = context.caller;
    const subject = aggregateId || id;
    const at = context.now;
    const head = { id, type, merchantId, aggregate, aggregateId: subject, version, at, actor, requestId, traceparent };
    const { envelope, data: json } = written(head, data, kind);
    checkSize(json, `${aggregate} ${subject}`);
    return {
      id,
      type,
      aggregate,
      aggregateId: subject,
      version,
      envelope,
      data: json,
      createdAt: context.keptFrom,
    };
  }
}

/** Each write is size-limited, but an aggregate can grow past the limit over many writes. */
function checkSize(data: string, subject: string): void {
  if (data.length * 3 <= limits.eventBytes) return;
  const bytes = Buffer.byteLength(data);
  if (bytes <= limits.eventBytes) return;
  throw invalid('', `${subject} would have ${bytes} bytes as JSON, and can have ${limits.eventBytes} at most`);
}

const idOf = ({ key }: { key: string }, row: unknown) => String((row as Record<string, unknown>)[key]);

function keyOf(table: { table: string; key: readonly string[] }, row: unknown): string {
  const values = row as Record<string, unknown>;
  return `${table.table} ${table.key.map(property => String(values[property])).join(' ')}`;
}

function fail(why: string): never {
  throw new Error(why);
}
