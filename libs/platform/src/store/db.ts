import { setTimeout as pause } from 'node:timers/promises';
import { Rejected } from '@recur/kernel';
import type pg from 'pg';
import type { Event, EventKinds } from '../events/envelope.js';
import type { Written } from '../events/relay.js';
import { type Caller, systemCaller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import { crashPoint } from '../runtime/crash.js';
import type { Keyring } from '../runtime/secrets.js';
import { StoredAnswers } from './answers.js';
import { clockOffset } from './clocks.js';
import { type Early, type Intake, isSeen, takeIn } from './dedupe.js';
import type { WorkChanges } from './due-work.js';
import { CommitBatcher } from './fast/commit-batcher.js';
import { ReadBatcher } from './fast/read-batcher.js';
import { Sequences } from './fast/sequences.js';
import { indexedOn } from './indexed.js';
import { jsonOfAnswer } from './json.js';
import { contains, idsOf, type Part, searchText } from './search.js';
import {
  type Ask,
  asRejection,
  isCollision,
  isConnectionLoss,
  isUnsent,
  prepared,
  queryOn,
  type Row,
  Session,
  violatedIndex,
} from './session.js';
import { commitText } from './statements.js';
import { type Aggregate, CommittedRejection, type Known, Reader, Stale, Tx, type TxContext } from './tx.js';
import { commitValues, type EventRow, type WriteSet } from './write-set.js';

const limits = { attempts: 6, backoffMs: 20 } as const;

/** Asks the owner of a copy for its newest state of one object and stores it; see copies.ts. */
export type Refresh = (copy: string, id: Known, caller: Caller) => Promise<void>;

export interface DbParts {
  pool: pg.Pool;
  /**
   * Connections beside those of commands: for lists, so that many long ones hold up no command, and for what a command
   * needs while it holds its own connection, which it might else wait for in vain.
   */
  readPool: pg.Pool;
  clock: Clock;
  /** Whether merchants' clocks can be moved: in a sandbox. Elsewhere none is read. */
  clocksMove: boolean;
  keyring: Keyring;
  aggregates: Readonly<Record<string, Aggregate>>;
  events: EventKinds;
  /** A time-ordered unique id with a prefix. */
  newId(prefix: `${string}_`): string;
  random(): number;
  /** Told after each commit that wrote events; of `written` where no lock was held for it. */
  committed(written?: Written): void;
}

/** The only way to a service's database. */
export class Db {
  refresh: Refresh = () => Promise.reject(new Error('this service declares no copies'));
  /** Called after a commit that scheduled work of this kind that is due now; without a kind, when a clock moved. */
  onDue: (merchantId: number, kind?: string) => void = () => undefined;
  private readonly grouped: CommitBatcher;
  private readonly gathered: ReadBatcher;
  private readonly tenants = new Set<number>();
  private readonly sequences: Sequences;
  private readonly answers: StoredAnswers;
  private readonly ask: Ask = (...question) => this.gathered.ask(...question);

  constructor(private readonly parts: DbParts) {
    this.sequences = new Sequences(parts.readPool);
    this.answers = new StoredAnswers(parts.keyring, parts.events);
    this.grouped = new CommitBatcher(parts.pool, written => this.committed(written));
    this.gathered = new ReadBatcher(parts.pool);
  }

  /**
   * Runs one command: begin, effect, events, stored answer, commit. `run` may be called more than once and must
   * only touch the world through `tx`. What it returns is the answer, sent and stored as it is.
   * Throws Rejected, or Replayed where the caller's key has an answer already. See CommittedRejection.
   */
  async write<T extends object>(caller: Caller, run: (tx: Tx) => Promise<T | CommittedRejection>): Promise<T> {
    const refreshed = new Set<string>();
    let unknown = false;
    for (let attempt = 1; ; attempt++) {
      const session = this.session(caller.merchantId);
      let tx: Tx | undefined;
      let committing = false;
      let kept = caller;
      let result: T | CommittedRejection;
      let emitted: ReadonlyMap<object, EventRow>;
      try {
        tx = new Tx(session, await this.contextIn(session, caller));
        result = await run(tx);
        const refusal = result instanceof CommittedRejection ? result.rejection : undefined;
        if (refusal) {
          await this.replay(refusal, caller);
          kept = { ...caller, idempotencyKey: undefined };
        }
        committing = true;
        emitted = await this.commit(session, tx, kept, result);
      } catch (error) {
        await session.rollback();
        unknown ||= committing && isConnectionLoss(error) && !isUnsent(error);
        const again = tx?.runsAgainAfter(error) || this.runAgain(error, kept, committing);
        if (again && attempt < limits.attempts) {
          await this.backOff(attempt);
          continue;
        }
        await this.replay(error, caller);
        if (!(error instanceof Stale)) throw tx?.rejectionFor(error) ?? asRejection(error, unknown);
        const asked = JSON.stringify([error.copy, error.id]);
        if (refreshed.has(asked)) throw error.rejection;
        await this.refresh(error.copy, error.id, caller);
        refreshed.add(asked);
        continue;
      }
      if (result instanceof CommittedRejection) throw result.rejection;
      caller.written = { answer: result, json: jsonOfAnswer(result, value => emitted.get(value)?.data) };
      return result;
    }
  }

  /** Reads of one merchant. GETs go through here: nothing can be written. */
  async read<T>(caller: Caller, run: (reader: Reader) => Promise<T>): Promise<T> {
    const session = this.snapshot(caller.merchantId);
    try {
      return await run(new Reader(session, await this.contextIn(session, caller)));
    } catch (error) {
      throw asRejection(error, false);
    } finally {
      void session.rollback();
    }
  }

  /**
   * Applies one merchant's events: inbox rows, gates and effect in one transaction, without a log entry of its own.
   * Returns the events that came too early; they have not been taken.
   */
  async consume(
    merchantId: number,
    consumer: string,
    order: Intake['order'],
    events: readonly Event[],
    apply: (tx: Tx, fresh: readonly Event[]) => Promise<void>,
  ): Promise<Early[]> {
    const intake = { consumer, order, events, now: Math.floor(this.parts.clock.wall() / 1000) };
    return this.take(merchantId, intake, true, apply).catch(error => {
      if (!isSeen(error)) throw error;
      return this.take(merchantId, intake, false, apply);
    });
  }

  private async take(
    merchantId: number,
    intake: Intake,
    unseen: boolean,
    apply: (tx: Tx, fresh: readonly Event[]) => Promise<void>,
  ): Promise<Early[]> {
    const [first] = intake.events;
    const caller = systemCaller(merchantId, first?.requestId ?? '', Number.POSITIVE_INFINITY, first?.traceparent);
    const session = this.session(merchantId);
    try {
      await session.open();
      const { fresh, early, raise } = await takeIn(session, intake, unseen);
      const last = fresh.length > 0 ? await this.effect(session, caller, tx => apply(tx, fresh)) : [];
      await session.commit([...last, ...raise]);
      return early;
    } catch (error) {
      await session.rollback();
      throw error;
    }
  }

  /** Writes what is no command of anybody: a copy's row. No log entry, no stored answer. */
  async apply(caller: Caller, run: (tx: Tx) => Promise<void>): Promise<void> {
    const session = this.session(caller.merchantId);
    try {
      await session.open();
      await session.commit(await this.effect(session, caller, run));
    } catch (error) {
      await session.rollback();
      throw asRejection(error, false);
    }
  }

  /** The tables that belong to no merchant (see `platformTables` and each service's own list). */
  infra(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return queryOn(this.parts.pool, prepared(text, values));
  }

  /** Like `infra`, for tables whose size varies by the minute: see indexed.ts for what the statement must be like. */
  indexed(text: string, values: readonly unknown[]): Promise<Row[]> {
    return indexedOn(this.parts.pool, text, values);
  }

  /**
   * The ids of the merchant's rows of a searchable table (see search.ts) in which every given text holds its part,
   * whatever its case; undefined where no part is given. Rejects `invalid_parameters` where too many fit.
   */
  async search(caller: Caller, table: string, parts: readonly Part[]): Promise<number[] | undefined> {
    const asked = parts.filter(({ part }) => part);
    if (asked.length === 0) return undefined;
    const values = [caller.merchantId, ...asked.map(({ part = '' }) => contains(part))];
    const session = this.snapshot(caller.merchantId);
    try {
      await session.open();
      return idsOf(await session.once(searchText(table, asked), values), asked);
    } catch (error) {
      throw asRejection(error, false);
    } finally {
      void session.rollback();
    }
  }

  private async contextIn(session: Session, caller: Caller): Promise<TxContext> {
    return this.context(caller, this.parts.clocksMove ? await clockOffset(session) : 0);
  }

  context(caller: Caller, offsetSeconds = 0): TxContext {
    const { clock, clocksMove, aggregates, events, newId } = this.parts;
    return {
      caller,
      now: clock.now(caller.merchantId) + offsetSeconds,
      clocksMove,
      keptFrom: Math.floor(clock.wall() / 1000),
      aggregates,
      events,
      newId,
      nextId: table => this.sequences.next(table),
    };
  }

  private session(merchantId: number): Session {
    return new Session(this.parts.pool, merchantId, this.ask);
  }

  private snapshot(merchantId: number): Session {
    return new Session(this.parts.readPool, merchantId, this.ask, ' isolation level repeatable read read only');
  }

  /** Lets go of the database; nothing may be asked any more. */
  async close(): Promise<void> {
    await Promise.all([this.gathered.close(), this.parts.readPool.end()]);
  }

  /** Commits what the command leaves behind; answers its events by their data. */
  private async commit(session: Session, tx: Tx, caller: Caller, result: object) {
    const { changes, rows, events, emitted, logged, ran, work, clockMoved } = tx.outcome();
    const changed = ran || changes.length > 0;
    if (changed && !logged) throw new Error('a command that changes something writes its log entry');
    if (changed) await this.knowTenant(caller.merchantId);
    const answers = caller.idempotencyKey ? [this.answers.keep(caller, result, emitted, tx.context.keptFrom)] : [];
    await work.remove(session);
    const effects = withWork({ changes, rows, events, answers }, work);
    if (!changed && !work.any && answers.length === 0) await session.rollback();
    else if (!session.isOpen) await this.grouped.commit(caller.merchantId, effects);
    else {
      await session.commit([commitOf(caller.merchantId, effects)]);
      if (events.length > 0) this.committed();
    }
    this.wake(tx, work, clockMoved);
    return emitted;
  }

  private committed(written?: Written): void {
    crashPoint('after-commit');
    this.parts.committed(written);
  }

  private wake({ merchantId, now }: Tx, work: WorkChanges, clockMoved: boolean): void {
    if (clockMoved) this.onDue(merchantId);
    for (const kind of work.dueBy(now)) this.onDue(merchantId, kind);
  }

  private async effect(session: Session, caller: Caller, run: (tx: Tx) => Promise<void>): Promise<pg.QueryConfig[]> {
    const tx = new Tx(session, await this.contextIn(session, caller));
    await run(tx);
    const { work, clockMoved, ...outcome } = tx.outcome();
    await work.remove(session);
    const { changes, rows, events } = withWork({ ...outcome, answers: [] }, work);
    session.onCommit(() => this.wake(tx, work, clockMoved));
    if (changes.length === 0) return [];
    await this.knowTenant(caller.merchantId);
    if (events.length > 0) session.onCommit(() => this.parts.committed());
    return [commitOf(caller.merchantId, { changes, rows, events, answers: [] })];
  }

  /** Throws Replayed where the key has an answer: because of a conflict, or because a repeat was refused. */
  private async replay(error: unknown, caller: Caller): Promise<void> {
    const refused = error instanceof Rejected || error instanceof Stale || violatedIndex(error) !== undefined;
    if (!caller.idempotencyKey || !refused) return;
    const stored = await this.answers.find(caller, (text, values) => this.infra(text, values));
    if (stored) throw stored;
  }

  private runAgain(error: unknown, { idempotencyKey, deadline }: Caller, committing: boolean): boolean {
    if (isCollision(error)) return true;
    // with a key, an unknown commit can be tried again: if it did happen, its stored answer is found
    const mayTryAgain = committing && idempotencyKey !== undefined && isConnectionLoss(error);
    return mayTryAgain && this.parts.clock.wall() < deadline;
  }

  private async knowTenant(merchantId: number): Promise<void> {
    if (this.tenants.has(merchantId)) return;
    const text = 'insert into tenants (merchant_id) values ($1) on conflict do nothing';
    await queryOn(this.parts.readPool, prepared(text, [merchantId]));
    this.tenants.add(merchantId);
  }

  private backOff(attempt: number): Promise<void> {
    const ms = limits.backoffMs * 2 ** (attempt - 1) * (0.5 + this.parts.random());
    return pause(ms);
  }
}

const withWork = (effects: WriteSet, work: WorkChanges): WriteSet => {
  const { changes, rows } = work.writes();
  return { ...effects, changes: [...effects.changes, ...changes], rows: [...effects.rows, ...rows] };
};

const commitOf = (merchantId: number, effects: WriteSet) =>
  prepared(commitText(effects.changes), commitValues(merchantId, [effects]));
