import { Outcome } from '@recur/kernel';
import type pg from 'pg';
import type { Caller } from '../../runtime/caller.js';
import { crashPoint } from '../../runtime/crash.js';
import { markAnswer } from '../answers/answer-bytes.js';
import type { StoredAnswers } from '../answers/stored-answers.js';
import { Appender } from '../appender.js';
import type { DbParts, Expect, Sighting } from '../db-parts.js';
import { merchantTime } from '../due/clocks.js';
import { Joint } from '../joint.js';
import { CommittedRejection, committedRejectionIn, isRefusal } from '../outcomes.js';
import type { Paths } from '../paths/paths.js';
import { prepared, queryOn } from '../pool.js';
import { type ChangeSet, type Context, Recorder } from '../recorder.js';
import { Session, type Source, sourceOf, tracedStatement } from '../session.js';
import { commitText } from '../sql/statements.js';
import { type AnswerRow, commitValues, type WriteSet } from '../sql/write-set.js';
import { Tx } from '../tx.js';
import { committing, copyKey, isCommitLost } from './attempts.js';

const registerTenantText = 'insert into tenants (merchant_id) values ($1) on conflict do nothing';

/** The surroundings of a run, which are known once the service is whole. */
export interface Hooks {
  readonly lags: (copy: string) => boolean;
  readonly expect: Expect;
  readonly onDue: (merchantId: number, kind?: string) => void;
}

/** A command that may share a transaction with others, and the copies that were refreshed for it. */
export interface Member {
  caller: Caller;
  refreshed: ReadonlySet<string>;
  run(tx: Tx): Promise<object>;
}

/** Outcomes of the commands of a group that was committed. */
export interface GroupOutcome {
  /** Answers, and the refusals of those that are not in it, in the order of the commands. */
  results: readonly PromiseSettledResult<object>[];
  /** Resolves when they may be answered; see Keepers. */
  seen: Promise<void> | undefined;
}

/** A group failed, and none of it was committed. */
export class Undone extends Outcome {
  override readonly name = 'Undone';

  constructor(cause: unknown) {
    super('the commands of a group go one by one', { cause });
  }
}

/** Single attempts of commands, and of what is no command. */
export class CommandRuns {
  private readonly tenants = new Set<number>();

  constructor(
    private readonly parts: DbParts,
    private readonly paths: Paths,
    private readonly answers: StoredAnswers,
    private readonly hooks: Hooks,
  ) {}

  /** An attempt of a command, in a transaction; `ended` is called once that is over. */
  async transaction<T extends object>(
    caller: Caller,
    run: (tx: Tx) => Promise<T>,
    refreshed: ReadonlySet<string>,
    ended: () => void = () => undefined,
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
      const effects = await this.effectsOf(recorded, caller, key === undefined ? undefined : result);
      sighting = this.hooks.expect(caller, recorded.events);
      if (effects === undefined) await session.rollback();
      else await committing(session.commit([this.commitOf(caller.merchantId, effects)]), key !== undefined);
      if (recorded.events.length > 0) this.committed();
      this.wake(caller.merchantId, recorded);
      ended();
      await sighting?.seen();
      return refused ? result : markAnswer(result, recorded.emitted);
    } catch (error) {
      sighting?.forget();
      await session.rollback();
      throw recorder ? recorder.meaningOf(error) : error;
    }
  }

  /**
   * An attempt of several commands of one merchant side by side, in one transaction. Throws where one of them leaves more
   * than its refusal, where two of them lock the same row of which one changes it, and where the transaction fails:
   * Undone where nothing is committed for certain.
   */
  async group(members: readonly Member[]): Promise<GroupOutcome> {
    const [{ caller }] = members as readonly [Member];
    const session = this.session(caller);
    let sighting: Sighting | undefined;
    let ended = false;
    // before what the commands do then, which may fail
    session.onCommit(() => {
      ended = true;
    });
    try {
      const now = await merchantTime(session, this.parts);
      const recorders = await Promise.all(
        members.map(async each => new Recorder(await this.context({ now, ...each.caller }, session, each.refreshed))),
      );
      session.joint = new Joint();
      const results = await Promise.allSettled(
        members.map(({ run }, at) => run(new Tx(session, recorders[at] as Recorder))),
      );
      session.joint = undefined;
      const kept = recorders.filter((recorder, at) => isKept(results[at], recorder));
      const joined = Recorder.joined((recorders[0] as Recorder).context, kept);
      const recorded = joined.outcome();
      await joined.work.remove(session);
      if (recorded.changed) await this.registerTenant(caller.merchantId);
      const answers = members.flatMap((each, at) => {
        const result = results[at];
        if (result?.status !== 'fulfilled' || each.caller.idempotencyKey === undefined) return [];
        return [this.answers.keep(each.caller, result.value, recorded.emitted, this.retentionNow())];
      });
      const effects = writeSet(recorded, answers);
      sighting = this.hooks.expect(caller, recorded.events);
      if (!recorded.wrote && answers.length === 0) await session.rollback();
      else await committing(session.commit([this.commitOf(caller.merchantId, effects)]), answers.length > 0);
      if (recorded.events.length > 0) this.committed();
      this.wake(caller.merchantId, recorded);
      for (const result of results) if (result.status === 'fulfilled') markAnswer(result.value, recorded.emitted);
      return { results, seen: sighting?.seen() };
    } catch (error) {
      sighting?.forget();
      await session.rollback();
      throw ended || isCommitLost(error) ? error : new Undone(error);
    }
  }

  /** A single attempt of a command that only adds rows, as one statement. */
  async statement<T extends object>(
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
      const effects = await this.effectsOf(recorded, caller, idempotencyKey === undefined ? undefined : answer);
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

  /** Everything a command commits, with the answer to keep under its key; undefined if there is nothing to commit. */
  private async effectsOf(
    recorded: ChangeSet,
    caller: Caller,
    kept: object | undefined,
  ): Promise<WriteSet | undefined> {
    const { changed, wrote, logged, emitted } = recorded;
    if (changed && !logged) throw new Error('a command that changes something writes its log entry');
    if (changed) await this.registerTenant(caller.merchantId);
    if (kept === undefined) return wrote ? writeSet(recorded, []) : undefined;
    return writeSet(recorded, [this.answers.keep(caller, kept, emitted, this.retentionNow())]);
  }

  /** The last statement of a transaction that is not a command. */
  async effect(session: Session, caller: Caller, run: (tx: Tx) => Promise<unknown>): Promise<pg.QueryConfig[]> {
    const recorder = new Recorder(await this.context(caller, session));
    await run(new Tx(session, recorder));
    const recorded = recorder.outcome();
    await recorder.work.remove(session);
    session.onCommit(() => this.wake(caller.merchantId, recorded));
    if (recorded.changed) await this.registerTenant(caller.merchantId);
    if (recorded.changes.length + recorded.events.length === 0) return [];
    if (recorded.events.length > 0) session.onCommit(() => this.parts.committed());
    return [this.commitOf(caller.merchantId, writeSet(recorded, []))];
  }

  private commitOf(merchantId: number, effects: WriteSet): pg.QueryConfig {
    return prepared(commitText(effects.changes), commitValues(merchantId, [effects], this.paths.arrays));
  }

  private committed(): void {
    crashPoint('after-commit');
    this.parts.committed();
  }

  private wake(merchantId: number, { due }: ChangeSet): void {
    for (const kind of due) this.hooks.onDue(merchantId, kind);
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
      isBehind: (copy, id) => asks && this.hooks.lags(copy) && !refreshed.has(copyKey(copy, id)),
    };
  }

  retentionNow(): number {
    return Math.floor(this.parts.clock.wall() / 1000);
  }

  session({ merchantId, traceparent }: Caller): Session {
    return new Session(this.parts.pool, merchantId, '', traceparent);
  }

  private async registerTenant(merchantId: number): Promise<void> {
    if (this.tenants.has(merchantId)) return;
    await queryOn(this.parts.readPool, prepared(registerTenantText, [merchantId]));
    this.tenants.add(merchantId);
  }
}

/** True for a run that is committed, false for one that is refused and leaves no trace. Throws any other failure. */
function isKept(result: PromiseSettledResult<object> | undefined, recorder: Recorder): boolean {
  if (result?.status !== 'rejected') return true;
  if (isRefusal(result.reason) && !recorder.hasWritten) return false;
  throw result.reason;
}

const writeSet = ({ changes, rows, events }: ChangeSet, answers: readonly AnswerRow[]): WriteSet => ({
  changes,
  rows,
  events,
  answers,
});
