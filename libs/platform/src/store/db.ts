import type pg from 'pg';
import { type Caller, systemCaller } from '../runtime/caller.js';
import { crashPoint } from '../runtime/crash.js';
import { markAnswer, markRead } from './answers/answer-bytes.js';
import { StoredAnswers } from './answers/stored-answers.js';
import { Appender } from './appender.js';
import { committing, copyKey, repeated } from './attempts.js';
import type { DbParts, Expect, Refresh, Sighting } from './db-parts.js';
import { merchantTime } from './due/clocks.js';
import { indexedOn } from './due/indexed.js';
import { asRejection } from './errors.js';
import type { Event } from './event.js';
import { CommittedRejection, committedRejectionIn } from './outcomes.js';
import type { Paths } from './paths/paths.js';
import { prepared, queryOn, type Row } from './pool.js';
import { Reader } from './reader.js';
import { type ChangeSet, type Context, Recorder } from './recorder.js';
import { ReadSession, Session, type Source, sourceOf, tracedStatement } from './session.js';
import { type Intake, ingest, isSeen, type OutOfOrder } from './sql/dedupe.js';
import { type Part, searched } from './sql/search.js';
import { commitText } from './sql/statements.js';
import { commitValues, type WriteSet } from './sql/write-set.js';
import { Tx } from './tx.js';

const registerTenantText = 'insert into tenants (merchant_id) values ($1) on conflict do nothing';

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
  private readonly tenants = new Set<number>();
  private readonly answers: StoredAnswers;
  private readonly repetition: Parameters<typeof repeated>[0];

  constructor(private readonly parts: DbParts) {
    const { pool, readPool, clock, random } = parts;
    this.answers = new StoredAnswers(parts.keyring, parts.events);
    this.paths = parts.paths({ pool, readPool });
    this.repetition = {
      clock,
      random,
      replay: caller => this.answers.replay(caller, (text, values) => this.infra(text, values)),
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
      this.transaction(inner, run, refreshed),
    );
    if (result instanceof CommittedRejection) throw result.rejection;
    return result;
  }

  /** Throws Replayed if the caller's key has an answer: for a command that acts before its own write. */
  replay = (caller: Caller): Promise<void> => this.repetition.replay(caller);

  /** Like `write`, for a command that only adds rows and cannot lock: one statement, no transaction. See Appender. */
  append<T extends object>(caller: Caller, run: (appender: Appender) => Promise<T>): Promise<T> {
    return repeated(this.repetition, caller, (inner, refreshed) => this.statement(inner, run, refreshed));
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
    const intake = { consumer, order, events, now: this.retentionNow(), arrays: this.paths.arrays };
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
    const session = this.session(caller);
    try {
      const { fresh, early, raise } = await ingest(session, intake, unseen);
      const last = fresh.length > 0 ? await this.effect(session, caller, tx => apply(tx, fresh)) : [];
      await session.commit([...last, ...raise]);
      return early;
    } catch (error) {
      await session.rollback();
      throw error;
    }
  }

  /** A transaction that is not a command, such as storing a copy's row: no log entry, no stored answer. */
  async apply(caller: Caller, run: (tx: Tx) => Promise<unknown>): Promise<void> {
    const session = this.session(caller);
    try {
      await session.commit(await this.effect(session, caller, run));
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

  /** An attempt of a command, in a transaction. */
  private async transaction<T extends object>(
    caller: Caller,
    run: (tx: Tx) => Promise<T>,
    refreshed: ReadonlySet<string>,
  ): Promise<T | CommittedRejection> {
    const session = this.session(caller);
    let recorder: Recorder | undefined;
    let sighting: Sighting | undefined;
    try {
      recorder = new Recorder(await this.context(caller, session, refreshed));
      const result = await run(new Tx(session, recorder)).catch(committedRejectionIn);
      const refused = result instanceof CommittedRejection;
      if (refused) await this.answers.replay(caller, (text, values) => session.query(text, values));
      const key = refused ? undefined : caller.idempotencyKey;
      const recorded = recorder.outcome();
      await recorder.work.remove(session);
      const effects = await this.effectsOf(recorded, { ...caller, idempotencyKey: key }, result);
      sighting = this.expect(caller, recorded.events);
      if (effects === undefined) await session.rollback();
      else await committing(session.commit([this.commitOf(caller.merchantId, effects)]), key !== undefined);
      if (recorded.events.length > 0) this.committed();
      this.wake(caller.merchantId, recorded);
      await sighting?.seen();
      return refused ? result : markAnswer(result, recorded.emitted);
    } catch (error) {
      sighting?.forget();
      await session.rollback();
      throw recorder ? recorder.meaningOf(error) : error;
    }
  }

  /** A single attempt of a command that only adds rows, as one statement. */
  private async statement<T extends object>(
    caller: Caller,
    run: (appender: Appender) => Promise<T>,
    refreshed: ReadonlySet<string>,
  ): Promise<T> {
    const { merchantId, idempotencyKey, traceparent } = caller;
    const source = sourceOf(caller, this.paths.ask);
    const recorder = new Recorder(await this.context(caller, source, refreshed));
    try {
      const answer = await run(new Appender(source, recorder));
      const recorded = recorder.outcome();
      const effects = await this.effectsOf(recorded, caller, answer);
      const commit = (of: WriteSet) =>
        tracedStatement('', traceparent, () => this.paths.commit(merchantId, of), 'commit');
      if (effects) await committing(commit(effects), idempotencyKey !== undefined);
      if (recorded.events.length > 0) this.committed();
      this.wake(merchantId, recorded);
      return markAnswer(answer, recorded.emitted);
    } catch (error) {
      throw recorder.meaningOf(error);
    }
  }

  /** Everything a command commits, with its answer under its key; undefined if there is nothing to commit. */
  private async effectsOf(recorded: ChangeSet, caller: Caller, answer: object): Promise<WriteSet | undefined> {
    const { changed, wrote, logged, emitted } = recorded;
    if (changed && !logged) throw new Error('a command that changes something writes its log entry');
    if (changed) await this.registerTenant(caller.merchantId);
    if (caller.idempotencyKey === undefined) return wrote ? { ...recorded, answers: [] } : undefined;
    return { ...recorded, answers: [this.answers.keep(caller, answer, emitted, this.retentionNow())] };
  }

  /** The last statement of a transaction that is not a command. */
  private async effect(session: Session, caller: Caller, run: (tx: Tx) => Promise<unknown>): Promise<pg.QueryConfig[]> {
    const recorder = new Recorder(await this.context(caller, session));
    await run(new Tx(session, recorder));
    const recorded = recorder.outcome();
    await recorder.work.remove(session);
    session.onCommit(() => this.wake(caller.merchantId, recorded));
    if (recorded.changed) await this.registerTenant(caller.merchantId);
    if (recorded.changes.length + recorded.events.length === 0) return [];
    if (recorded.events.length > 0) session.onCommit(() => this.parts.committed());
    return [this.commitOf(caller.merchantId, { ...recorded, answers: [] })];
  }

  private commitOf(merchantId: number, effects: WriteSet): pg.QueryConfig {
    return prepared(commitText(effects.changes), commitValues(merchantId, [effects], this.paths.arrays));
  }

  private committed(): void {
    crashPoint('after-commit');
    this.parts.committed();
  }

  private wake(merchantId: number, { due }: ChangeSet): void {
    for (const kind of due) this.onDue(merchantId, kind);
  }

  private async context(caller: Caller, source: Source, refreshed?: ReadonlySet<string>): Promise<Context> {
    const { clocksMove, events, newId } = this.parts;
    // work asks nobody: it would wait for an owner that is away, and no caller of it has changed something before
    const asks = refreshed !== undefined && caller.deadline !== Number.POSITIVE_INFINITY;
    return {
      caller,
      now: caller.now ?? (await merchantTime(source, this.parts)),
      clocksMove,
      retentionNow: this.retentionNow(),
      events,
      newId,
      nextId: this.paths.nextId,
      arrays: this.paths.arrays,
      isBehind: (copy, id) => asks && this.lags(copy) && !refreshed.has(copyKey(copy, id)),
    };
  }

  private retentionNow(): number {
    return Math.floor(this.parts.clock.wall() / 1000);
  }

  private session({ merchantId, traceparent }: Caller): Session {
    return new Session(this.parts.pool, merchantId, '', traceparent);
  }

  private reading({ merchantId, traceparent }: Caller): Session {
    return new ReadSession(this.parts.readPool, merchantId, this.paths.ask, traceparent);
  }

  private async registerTenant(merchantId: number): Promise<void> {
    if (this.tenants.has(merchantId)) return;
    await queryOn(this.parts.readPool, prepared(registerTenantText, [merchantId]));
    this.tenants.add(merchantId);
  }
}
