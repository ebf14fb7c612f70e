import { type Caller, systemCaller } from '../runtime/caller.js';
import { markRead } from './answers/answer-bytes.js';
import { StoredAnswers } from './answers/stored-answers.js';
import { Appender } from './appender.js';
import type { DbParts, Expect, Refresh } from './db-parts.js';
import { merchantTime } from './due/clocks.js';
import { indexedOn } from './due/indexed.js';
import { asRejection } from './errors.js';
import type { Event } from './event.js';
import { CommittedRejection } from './outcomes.js';
import type { Paths } from './paths/paths.js';
import { prepared, queryOn, type Row } from './pool.js';
import { Reader } from './reader.js';
import { repeated } from './runs/attempts.js';
import { CommandRuns } from './runs/command-runs.js';
import { JoinedCommands } from './runs/joined-commands.js';
import { ReadSession, Session } from './session.js';
import { type Intake, ingest, isSeen, type OutOfOrder } from './sql/dedupe.js';
import { type Part, searched } from './sql/search.js';
import { Tx } from './tx.js';

/** The only way to a service's database. */
export class Db {
  refresh: Refresh = () => Promise.reject(new Error('this service declares no copies'));
  /** True while events of a copy may wait; see Consumer. */
  lags: (copy: string) => boolean = () => false;
  /** Waits for the keepers of copies of what a command commits before it is answered; see Keepers. */
  expect: Expect = () => undefined;
  /** Called after a commit that scheduled work of `kind` which is due now; without a kind, the merchant's clock moved. */
  onDue: (merchantId: number, kind?: string) => void = () => undefined;
  private readonly paths: Paths;
  private readonly runs: CommandRuns;
  private readonly joined: JoinedCommands;
  private readonly repetition: Parameters<typeof repeated>[0];

  constructor(private readonly parts: DbParts) {
    const { pool, readPool, clock, random } = parts;
    const answers = new StoredAnswers(parts.keyring, parts.events);
    this.paths = parts.paths({ pool, readPool });
    this.runs = new CommandRuns(parts, this.paths, answers, this);
    this.joined = new JoinedCommands(this.runs);
    this.repetition = {
      clock,
      random,
      replay: caller => answers.replay(caller, (text, values) => this.infra(text, values)),
      refresh: ({ copy, id }, caller) => this.refresh(copy, id, caller),
    };
  }

  /**
   * Runs one command in a transaction: begin, effect, events, stored answer, commit. `run` may be called more than once
   * and must only touch the world through `tx`. What it returns is the answer, sent and stored as it is.
   * Throws Rejected, or Replayed if the caller's key has an answer already. See CommittedRejection.
   */
  async write<T extends object>(caller: Caller, run: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await repeated(this.repetition, caller, (inner, refreshed) =>
      this.runs.transaction(inner, run, refreshed),
    );
    if (result instanceof CommittedRejection) throw result.rejection;
    return result;
  }

  /**
   * Like `write`, for a command that many callers send at once, each about something of its own, such as an invoice:
   * commands of one merchant and `kind` that arrive while others are under way run side by side in one transaction, and
   * questions that they ask at the same point are asked as one. A refused one leaves no trace and stops no other; commands
   * that touch the same row run one after the other.
   */
  async writeJoined<T extends object>(caller: Caller, kind: string, run: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await repeated(this.repetition, caller, (inner, refreshed) =>
      this.joined.take(kind, { caller: inner, refreshed, run }),
    );
    if (result instanceof CommittedRejection) throw result.rejection;
    return result as T;
  }

  /** Throws Replayed if the caller's key has an answer: for a command that acts before its own write. */
  replay = (caller: Caller): Promise<void> => this.repetition.replay(caller);

  /** Like `write`, for a command that only adds rows and cannot lock: one statement, no transaction. See Appender. */
  append<T extends object>(caller: Caller, run: (appender: Appender) => Promise<T>): Promise<T> {
    return repeated(this.repetition, caller, (inner, refreshed) => this.runs.statement(inner, run, refreshed));
  }

  /**
   * Reads of one merchant. Each point read is a question by itself, batched with others, until `page` opens a snapshot
   * for it and what follows.
   */
  async read<T>(caller: Caller, run: (reader: Reader) => Promise<T>): Promise<T> {
    const session = this.reading(caller);
    try {
      return markRead(await run(new Reader(session, await merchantTime(session, this.parts))));
    } catch (error) {
      throw asRejection(error, false);
    } finally {
      void session.rollback();
    }
  }

  /**
   * Applies one merchant's events: inbox rows, gates and effect in one transaction, without a log entry. Returns the
   * events that came too early and were not taken.
   */
  async consume(
    merchantId: number,
    consumer: string,
    order: Intake['order'],
    events: readonly Event[],
    apply: (tx: Tx, fresh: readonly Event[]) => Promise<void>,
  ): Promise<OutOfOrder[]> {
    const intake = { consumer, order, events, now: this.runs.retentionNow(), arrays: this.paths.arrays };
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
  ): Promise<OutOfOrder[]> {
    const [first] = intake.events;
    const caller = systemCaller(merchantId, first?.requestId ?? '', Number.POSITIVE_INFINITY, first?.traceparent);
    const session = this.runs.session(caller);
    try {
      const { fresh, early, raise } = await ingest(session, intake, unseen);
      const last = fresh.length > 0 ? await this.runs.effect(session, caller, tx => apply(tx, fresh)) : [];
      await session.commit([...last, ...raise]);
      return early;
    } catch (error) {
      await session.rollback();
      throw error;
    }
  }

  /** A transaction that is not a command, such as storing a copy's row: no log entry, no stored answer. */
  async apply(caller: Caller, run: (tx: Tx) => Promise<unknown>): Promise<void> {
    const session = this.runs.session(caller);
    try {
      await session.commit(await this.runs.effect(session, caller, run));
    } catch (error) {
      await session.rollback();
      throw asRejection(error, false);
    }
  }

  /** A statement on tables that belong to no merchant. */
  infra(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return queryOn(this.parts.pool, prepared(text, values));
  }

  /** Like `infra`, for tables whose size varies by the minute: see due/indexed.ts for the form of the statement. */
  queryIndexOnly(text: string, values: readonly unknown[]): Promise<Row[]> {
    return indexedOn(this.parts.pool, text, values);
  }

  /**
   * The ids of the merchant's rows of a searchable table (see search.ts) in which every given text contains its part,
   * ignoring case; undefined if no part is given. Rejects `invalid_parameters` if too many match.
   */
  async search(caller: Caller, table: string, parts: readonly Part[]): Promise<number[] | undefined> {
    const session = this.reading(caller);
    try {
      return await searched(session, table, parts);
    } catch (error) {
      throw asRejection(error, false);
    } finally {
      void session.rollback();
    }
  }

  /** Releases the database; it cannot be used afterwards. */
  async close(): Promise<void> {
    await Promise.all([this.paths.close(), this.parts.readPool.end()]);
  }

  private reading({ merchantId, traceparent }: Caller): Session {
    return new ReadSession(this.parts.readPool, merchantId, this.paths.ask, traceparent);
  }
}
