import type { EventName, OperationLogged } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type EventKinds, written } from '../events/envelope.js';
import type { Caller } from '../runtime/caller.js';
import { moveClock } from './clocks.js';
import { type LeasedItems, WorkChanges } from './due-work.js';
import { type List, type Page, pageOf } from './list.js';
import type { RowToWrite } from './rows.js';
import { type Row, type Session, violatedIndex } from './session.js';
import { assertComplete } from './size-limits.js';
import { amongText, type Change, selectText } from './statements.js';
import { hydrate, type Table } from './table.js';
import type { EventRow, WriteSet } from './write-set.js';

/**
 * Of an event's data, whole. Well below what the bus carries (`max_payload`): an event that it does not carry would wait
 * in the outbox for ever, and an object could not be answered any more.
 */
const limits = { eventBytes: 3_145_728 } as const;

/** How an aggregate stands in its table, so that its events can be numbered under its row lock; made by `aggregate`. */
export interface Aggregate {
  table: Table<unknown>;
  key: string;
  view?(row: unknown): object;
  also?: Readonly<Record<string, (value: string) => object>>;
}

/**
 * Declares an aggregate: its table, the property that identifies it within its merchant, and, where others may keep
 * copies, its state as events and snapshots show it. `also` is what else identifies it to those who know no id: the
 * name of a field, and the condition that finds its value.
 */
export function aggregate<T>(
  table: Table<T>,
  key: keyof T & string,
  view?: (row: T) => object,
  also?: Readonly<Record<string, (value: string) => Where<T>>>,
): Aggregate {
  return { table, key, view, also } as unknown as Aggregate;
}

/** What identifies an object to its owner: its id, or one field of another name, such as `{ email }` (see `aggregate`). */
export type Known = string | number | Readonly<Record<string, string>>;

export interface TxContext {
  caller: Caller;
  /** Unix seconds on the merchant's clock. */
  now: number;
  /** Unix seconds on the machine's clock, by which what is kept for some time is removed. */
  keptFrom: number;
  aggregates: Readonly<Record<string, Aggregate>>;
  events: EventKinds;
  newId(prefix: `${string}_`): string;
  nextId(table: string): Promise<number>;
  /** Whether merchants' clocks can be moved here: in a sandbox. */
  clocksMove: boolean;
}

/** A row was refused because of a copy that may be behind its owner: `db.write` asks the owner and runs again. */
export class Stale {
  constructor(
    readonly copy: string,
    readonly id: Known,
    readonly rejection: Rejected,
  ) {}
}

/**
 * What a command returns that is refused and yet leaves a trace, such as a count of failed attempts: what it saved is
 * committed, then `rejection` is thrown. No answer is kept, and where the caller's key has one already that is the
 * answer, and nothing is committed.
 */
export class CommittedRejection {
  constructor(readonly rejection: Rejected) {}
}

/** Ids of other objects that an operation concerned, for the operation log's filters. */
export type LogIds = OperationLogged['ids'];

/** A unique index that was violated: how to refuse, or `again` to run the command once more. */
type Conflict = (() => Rejected) | 'again';

type Where<T> = { [K in keyof T]?: T[K] };

/** Reads of one merchant's rows. Asked for together, they share one round trip. */
export class Reader {
  constructor(
    protected readonly session: Session,
    readonly context: TxContext,
  ) {}

  /** Unix seconds on the merchant's clock. */
  get now(): number {
    return this.context.now;
  }

  get merchantId(): number {
    return this.session.merchantId;
  }

  async find<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    const [row] = await this.all(from, where, 'limit 1');
    return row;
  }

  /** The row, or Rejected(slug). */
  async get<T>(from: Table<T>, where: Where<T>, slug: string): Promise<T> {
    const row = await this.find(from, where);
    if (row === undefined) throw new Rejected(slug);
    return row;
  }

  /** Rows equal in the given properties; `tail` is SQL after the conditions: order by, limit. */
  async all<T>(from: Table<T>, where: Where<T>, tail = ''): Promise<T[]> {
    const conditions = this.conditions(from, where);
    const rows = await this.session.query(selectText(from, Object.keys(conditions), tail), Object.values(conditions));
    return rows.map(row => hydrate(from, row));
  }

  /** The rows of which a property is one of `values`, in one question. Rejects `answer_too_large`. */
  async among<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]> {
    if (values.length === 0) return [];
    const asked = [...new Set(values)];
    const rows = await this.session.query(amongText(from, property), [this.merchantId, asked]);
    return assertComplete(rows).map(row => hydrate(from, row));
  }

  /** A page of a list, and how many rows fit it. What is read after it is of the same moment. */
  page<T>(list: List<T>): Promise<Page<T>> {
    return pageOf(this.session, list);
  }

  /** A hand-written read; row-level security still holds. */
  query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.session.query(text, values);
  }

  protected conditions<T>(from: Table<T>, where: Where<T>): Record<string, unknown> {
    return from.infrastructure ? { ...where } : { merchantId: this.merchantId, ...where };
  }
}

type Outcome = Omit<WriteSet, 'answers'> & {
  emitted: ReadonlyMap<object, EventRow>;
  logged: boolean;
  ran: boolean;
  work: WorkChanges;
  clockMoved: boolean;
};

const LOGGED = 'operation.logged' satisfies EventName;

interface Tracked {
  table: Table<never>;
  change: Change;
  row: unknown;
  version: number;
  saved: boolean;
}

interface Emission {
  type: string;
  aggregate: string;
  aggregateId: string;
  data: object;
  of?: Tracked;
  caller: Caller;
}

/**
 * The one handle to write with. Reads and locks run at once; saves, events and the log entry are collected and go out
 * together with the commit. A command that takes no lock needs no open transaction: its rows are one statement.
 */
export class Tx extends Reader {
  private readonly tracked = new Map<string, Tracked>();
  private readonly emissions: Emission[] = [];
  private readonly conflicts = new Map<string, Conflict>();
  private readonly entries = new Map<string, Emission>();
  private readonly did = { run: false, moveClock: false };
  private readonly work = new WorkChanges();

  /**
   * The same transaction on behalf of one item of work: events have the item's request id, and the log its own entry.
   */
  item({ requestId }: { requestId: string }): Tx {
    const context = { ...this.context, caller: { ...this.context.caller, requestId } };
    return Object.create(this, { context: { value: context } });
  }

  /**
   * Has work done at `at`, in unix seconds on the clock of its kind; goes out with the commit. One item of a kind has one
   * time: this replaces an earlier one, and a worker that is at the item meanwhile leaves the new one alone.
   */
  schedule(kind: string, key: string, at: number): void {
    this.work.schedule(this.merchantId, kind, key, at);
  }

  /** Takes work off the schedule, if it is there. A worker that has begun it is not stopped. */
  unschedule(kind: string, key: string): void {
    this.work.unschedule(this.merchantId, kind, key);
  }

  /** For the work runner: deletes items that are done with this transaction; answers those that are not its own any more. */
  settle(items: LeasedItems): Promise<string[]> {
    return this.work.settle(this.session, items);
  }

  /**
   * Moves the merchant's clock to `offsetSeconds` ahead of the machine's, never back; only in a sandbox. Answers the
   * merchant's new time; `now` stays what it was when the command began.
   */
  async moveClock(offsetSeconds: number): Promise<number> {
    if (!this.context.clocksMove) throw new Error('clocks are moved in a sandbox only');
    this.did.moveClock = true;
    const offset = await moveClock((text, values) => this.run(text, values), this.merchantId, offsetSeconds);
    return this.context.keptFrom + offset;
  }

  /** Locks a row until the commit and returns it, or throws Rejected(slug). Lock parents before children. */
  async lock<T>(from: Table<T>, where: Where<T>, slug: string): Promise<T> {
    const row = await this.lockIfAny(from, where);
    if (row === undefined) throw new Rejected(slug);
    return row;
  }

  /** A row that this command has locked before is answered as it was saved since, if it was. */
  async lockIfAny<T>(from: Table<T>, where: Where<T>): Promise<T | undefined> {
    await this.session.open();
    const [row] = await this.all(from, where, 'for update');
    if (row === undefined) return undefined;
    return (this.tracked.get(keyOf(from, row)) ?? this.track(from, row, 'update')).row as T;
  }

  /** A hand-written statement that writes or locks, in the transaction that is held until the commit. */
  async run(text: string, values: readonly unknown[]): Promise<Row[]> {
    this.did.run = true;
    await this.session.open();
    return this.session.query(text, values);
  }

  /** The next integer id of a table, from its sequence `<table>_id_seq`. */
  nextId<T>(of: Table<T>): Promise<number> {
    return this.context.nextId(of.table);
  }

  /** A time-ordered unique id with a prefix, for objects that the API names by a string. */
  newId(prefix: `${string}_`): string {
    return this.context.newId(prefix);
  }

  /** Inserts the row, or updates it where this transaction has locked it. */
  save<T>(into: Table<T>, row: T): void {
    const known = this.tracked.get(keyOf(into, row));
    if (known) {
      known.row = row;
      known.saved = true;
    } else {
      this.track(into, row, 'insert').saved = true;
    }
  }

  /** What a violated unique index means to the caller. */
  onConflict(index: string, means: Conflict): void {
    this.conflicts.set(index, means);
  }

  /** Records that something happened to the saved `row`; `data` is its whole state after the step. */
  emit<T>(type: string, row: T, data: object): void {
    const { aggregate } = this.context.events[type] ?? fail(`event ${type} is not registered`);
    const { table, key } =
      this.context.aggregates[aggregate] ?? fail(`aggregate ${aggregate} of ${type} is not declared`);
    const of = this.tracked.get(keyOf(table, row));
    if (!of?.saved) throw new Error(`${type}: save the row before its event`);
    const aggregateId = String((row as Record<string, unknown>)[key]);
    this.emissions.push({ type, aggregate, aggregateId, data, of, caller: this.context.caller });
  }

  /** The one entry in the operation log: who did what to which target, e.g. `Invoice(in_…)`, `Finish`. */
  log(target: string, content: string, ids: LogIds = {}): void {
    const { caller } = this.context;
    if (this.entries.has(caller.requestId)) throw new Error('one command, one log entry');
    const data = { actor: caller.actor, target, content, ids } satisfies OperationLogged;
    this.entries.set(caller.requestId, { type: LOGGED, aggregate: 'operation', aggregateId: '', data, caller });
  }

  /** The refusal to throw where a copy, which may be behind its owner, says no. */
  stale(copy: string, id: Known, rejection: Rejected): Stale {
    return new Stale(copy, id, rejection);
  }

  /** What the commit has to write; for the write path only. `emitted` finds an event by its data. */
  outcome(): Outcome {
    const emissions = [...this.emissions, ...this.entries.values()];
    const events = emissions.map(emission => this.outboxRow(emission));
    const byTable = new Map<string, { table: Table<unknown>; change: Change; rows: RowToWrite[] }>();
    for (const { table, change, row, version, saved } of this.tracked.values()) {
      if (!saved) continue;
      const key = `${table.table} ${change}`;
      const group = byTable.get(key) ?? { table: table as unknown as Table<unknown>, change, rows: [] };
      byTable.set(key, group);
      group.rows.push({ row, version });
    }
    const groups = [...byTable.values()];
    const { run: ran, moveClock: clockMoved } = this.did;
    return {
      changes: groups.map(({ table, change }) => [table, change] as const),
      rows: groups.map(({ rows }) => rows),
      events,
      emitted: new Map(emissions.map(({ data }, at) => [data, events[at] as EventRow])),
      logged: this.entries.size > 0,
      ran,
      work: this.work,
      clockMoved,
    };
  }

  rejectionFor(error: unknown): Rejected | undefined {
    const means = this.conflictOf(error);
    return means === 'again' ? undefined : means?.();
  }

  /** The command ran into what another has made meanwhile, and finds it when it runs again. */
  runsAgainAfter(error: unknown): boolean {
    return this.conflictOf(error) === 'again';
  }

  private conflictOf(error: unknown): Conflict | undefined {
    const index = violatedIndex(error);
    return index === undefined ? undefined : this.conflicts.get(index);
  }

  private track<T>(table: Table<T>, row: T, change: Change): Tracked {
    const version = Number((row as { version?: number }).version ?? 0);
    const tracked = {
      table: table as unknown as Table<never>,
      change,
      row,
      version,
      saved: false,
    };
    this.tracked.set(keyOf(table, row), tracked);
    return tracked;
  }

  private outboxRow({ type, aggregate, aggregateId, data, of, caller }: Emission): EventRow {
    const id = this.context.newId('ev_');
    const { actor, requestId, traceparent, merchantId } = caller;
    const version = of ? ++of.version : 1;
    const subject = aggregateId || id;
    const at = this.now;
    const head = { id, type, merchantId, aggregate, aggregateId: subject, version, at, actor, requestId, traceparent };
    const { envelope, data: json } = written(head, data, this.context.events[type]);
    checkSize(json, `${aggregate} ${subject}`);
    return {
      id,
      type,
      aggregate,
      aggregateId: subject,
      version,
      envelope,
      data: json,
      createdAt: this.context.keptFrom,
    };
  }
}

/** What comes in many small steps may grow without end, though each of them is bounded. */
function checkSize(data: string, subject: string): void {
  if (data.length * 3 <= limits.eventBytes) return;
  const bytes = Buffer.byteLength(data);
  if (bytes <= limits.eventBytes) return;
  throw invalid('', `${subject} would have ${bytes} bytes as JSON, and can have ${limits.eventBytes} at most`);
}

function keyOf(table: { table: string; key: readonly string[] }, row: unknown): string {
  const values = row as Record<string, unknown>;
  return `${table.table} ${table.key.map(property => String(values[property])).join(' ')}`;
}

function fail(why: string): never {
  throw new Error(why);
}
