import { Rejected } from '@recur/kernel';
import type pg from 'pg';
import { type Caller, systemCaller } from './caller.js';
import type { Clock } from './clock.js';
import type { Event } from './consumer.js';
import { crashPoint } from './crash.js';
import { GatheredReads } from './gather.js';
import { GroupedCommit } from './group.js';
import { type Early, raiseGates, takeIn } from './intake.js';
import { jsonOfAnswer } from './json.js';
import type { Keyring } from './secrets.js';
import { Sequences } from './sequence.js';
import { asRejection, isCollision, isConnectionLoss, prepared, type Row, Session, violatedIndex } from './session.js';
import { commitText } from './statements.js';
import { type Aggregate, type EventKind, Reader, Stale, Tx, type TxContext } from './tx.js';

const limits = { attempts: 6, backoffMs: 20 } as const;

/** The answer that was stored under the caller's Idempotency-Key: thrown out of `write`, caught by the dispatcher. */
export class Replayed {
  constructor(
    readonly answer: string,
    readonly requestId: string,
  ) {}
}

/** Asks the owner of a copy for its newest state of one object and stores it; see copies.ts. */
export type Refresh = (copy: string, id: string | number, caller: Caller) => Promise<void>;

export interface DbParts {
  pool: pg.Pool;
  clock: Clock;
  keyring: Keyring;
  aggregates: Readonly<Record<string, Aggregate>>;
  events: Readonly<Record<string, EventKind>>;
  /** A time-ordered unique id with a prefix. */
  newId(prefix: `${string}_`): string;
  random(): number;
  /** Told after each commit that wrote events. */
  committed(): void;
}

/** Answers that `write` has stored, by caller: the dispatcher sends exactly these bytes. */
const answers = new WeakMap<Caller, string>();
export const storedAnswer = (caller: Caller) => answers.get(caller);

/** The only way to a service's database. */
export class Db {
  refresh: Refresh = () => Promise.reject(new Error('this service declares no copies'));
  private readonly grouped: GroupedCommit;
  private readonly gathered: GatheredReads;
  private readonly tenants = new Set<number>();
  private readonly sequences: Sequences;

  constructor(private readonly parts: DbParts) {
    this.sequences = new Sequences(parts.pool);
    this.grouped = new GroupedCommit(parts.pool);
    this.gathered = new GatheredReads(parts.pool);
  }

  /**
   * Runs one command: begin, effect, events, stored answer, commit. `run` may be called more than once and must
   * only touch the world through `tx`. What it returns is the answer, sent and stored as it is.
   * Throws Rejected, or Replayed where the caller's key has an answer already.
   */
  async write<T extends object>(caller: Caller, run: (tx: Tx) => Promise<T>): Promise<T> {
    let refreshed = false;
    for (let attempt = 1; ; attempt++) {
      const session = this.session(caller.merchantId);
      const tx = new Tx(session, this.context(caller));
      let committing = false;
      try {
        const result = await run(tx);
        committing = true;
        const answer = jsonOfAnswer(result);
        await this.commit(session, tx, caller, answer);
        answers.set(caller, answer);
        return result;
      } catch (error) {
        await session.rollback();
        if (this.runAgain(error, caller, committing) && attempt < limits.attempts) {
          await this.pause(attempt);
          continue;
        }
        await this.replay(error, caller);
        if (!(error instanceof Stale)) throw tx.rejectionFor(error) ?? asRejection(error, committing);
        if (refreshed) throw error.rejection;
        await this.refresh(error.copy, error.id, caller);
        refreshed = true;
      }
    }
  }

  /** Reads of one merchant. GETs go through here: nothing can be written. */
  async read<T>(caller: Caller, run: (reader: Reader) => Promise<T>): Promise<T> {
    try {
      return await run(new Reader(this.session(caller.merchantId), this.context(caller)));
    } catch (error) {
      throw asRejection(error, false);
    }
  }

  /**
   * Applies one merchant's events: inbox rows, gates and effect in one transaction, without a log entry of its own.
   * Returns the events that came too early; they have not been taken.
   */
  async consume(
    merchantId: number,
    consumer: string,
    order: 'every' | 'latest' | 'alone',
    events: readonly Event[],
    apply: (tx: Tx, fresh: readonly Event[]) => Promise<void>,
  ): Promise<Early[]> {
    const { clock } = this.parts;
    const [first] = events;
    const caller = systemCaller(merchantId, first?.requestId ?? '', Number.POSITIVE_INFINITY, first?.traceparent);
    const session = this.session(merchantId);
    try {
      await session.open();
      const { fresh, early, raised } = await takeIn(session, consumer, order, events, Math.floor(clock.wall() / 1000));
      const last = fresh.length > 0 ? await this.effect(session, caller, tx => apply(tx, fresh)) : [];
      if (raised) last.push(prepared(raiseGates, [consumer, merchantId, raised]));
      await session.commit(last);
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

  /** Lets a gate pass to `version` although earlier events were never seen: their owner no longer keeps them. */
  async openGate(consumer: string, { merchantId, aggregate, aggregateId }: Event, version: number): Promise<void> {
    const raised = JSON.stringify([{ aggregate, aggregate_id: aggregateId, version }]);
    await this.infra(raiseGates, [consumer, merchantId, raised]);
  }

  async isParked(consumer: string, { merchantId, aggregate, aggregateId }: Event): Promise<boolean> {
    const rows = await this.infra(
      'select 1 from dead_letter where consumer = $1 and merchant_id = $2 and aggregate = $3 and aggregate_id = $4 limit 1',
      [consumer, merchantId, aggregate, aggregateId],
    );
    return rows.length > 0;
  }

  /** Puts an event aside; `resume` applies it and what waits behind it. */
  async park(consumer: string, event: Event, reason: string, now: number): Promise<void> {
    await this.infra(
      `insert into dead_letter (consumer, event_id, merchant_id, aggregate, aggregate_id, version, envelope, reason, parked_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`,
      [
        consumer,
        event.id,
        event.merchantId,
        event.aggregate,
        event.aggregateId,
        event.version,
        JSON.stringify(event),
        reason,
        now,
      ],
    );
  }

  /** Takes what was parked out of the dead letters, in order. */
  async unpark(consumer: string): Promise<Event[]> {
    const rows = await this.infra('delete from dead_letter where consumer = $1 returning envelope, version', [
      consumer,
    ]);
    rows.sort((a, b) => Number(a.version) - Number(b.version));
    return rows.map(({ envelope }) => JSON.parse(String(envelope)) as Event);
  }

  /** The tables that belong to no merchant (see `platformTables` and each service's own list). */
  async infra(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.parts.pool.query<Row>(prepared(text, values));
    return rows;
  }

  context(caller: Caller): TxContext {
    const { clock, aggregates, events, newId } = this.parts;
    return {
      caller,
      now: clock.now(caller.merchantId),
      aggregates,
      events,
      newId,
      nextId: table => this.sequences.next(table),
    };
  }

  private session(merchantId: number): Session {
    return new Session(this.parts.pool, merchantId, (...question) => this.gathered.ask(...question));
  }

  /** Lets go of the database; nothing may be asked any more. */
  close(): Promise<void> {
    return this.gathered.close();
  }

  private async commit(session: Session, tx: Tx, caller: Caller, answer: string): Promise<void> {
    const { changes, rows, events, changed, logged } = tx.outcome();
    if (changed && !logged) throw new Error('a command that changes something writes its log entry');
    const kept = caller.idempotencyKey ? this.keptAnswer(caller, answer, tx.now) : '';
    if (changed || kept) {
      if (changed) await this.knowTenant(caller.merchantId);
      const text = commitText(changes);
      const parameters = [...rows, events, kept];
      if (session.isOpen) {
        await session.commit([prepared(text, [String(caller.merchantId), ...parameters.map(list => `[${list}]`)])]);
      } else {
        await this.grouped.commit(caller.merchantId, text, parameters);
      }
    } else if (session.isOpen) {
      await session.rollback();
    }
    if (events) {
      crashPoint('after-commit');
      this.parts.committed();
    }
  }

  private async effect(session: Session, caller: Caller, run: (tx: Tx) => Promise<void>): Promise<pg.QueryConfig[]> {
    const tx = new Tx(session, this.context(caller));
    await run(tx);
    const { changes, rows, events, changed } = tx.outcome();
    if (!changed) return [];
    await this.knowTenant(caller.merchantId);
    if (events) session.onCommit(() => this.parts.committed());
    const lists = [...rows, events, ''].map(list => `[${list}]`);
    return [prepared(commitText(changes), [String(caller.merchantId), ...lists])];
  }

  private keptAnswer(
    { merchantId, idempotencyKey = '', fingerprint = '', requestId, secretOutput }: Caller,
    answer: string,
    now: number,
  ) {
    const sealed = secretOutput === true;
    const json = sealed
      ? JSON.stringify(this.parts.keyring.seal(answer, sealedAt(merchantId, idempotencyKey)))
      : answer;
    const columns = {
      merchant_id: merchantId,
      key: idempotencyKey,
      fingerprint,
      request_id: requestId,
      sealed,
      created_at: now,
    };
    return `${JSON.stringify(columns).slice(0, -1)},"answer":${json}}`;
  }

  /** Throws Replayed where the key has an answer: because of a conflict, or because a repeat was refused. */
  private async replay(error: unknown, { merchantId, idempotencyKey, fingerprint }: Caller): Promise<void> {
    const conflict = violatedIndex(error) === 'idempotency_pkey';
    if (!idempotencyKey || !(conflict || error instanceof Rejected || error instanceof Stale || violatedIndex(error)))
      return;
    const [stored] = await this.infra(
      'select fingerprint, request_id, answer, sealed from idempotency where merchant_id = $1 and key = $2',
      [merchantId, idempotencyKey],
    );
    if (!stored) return;
    if (stored.fingerprint !== fingerprint) throw new Rejected('idempotency_reused');
    const text = String(stored.answer);
    const answer = stored.sealed
      ? this.parts.keyring.open(JSON.parse(text), sealedAt(merchantId, idempotencyKey))
      : text;
    throw new Replayed(answer, String(stored.request_id));
  }

  private runAgain(error: unknown, { idempotencyKey }: Caller, committing: boolean): boolean {
    // with a key, an unknown commit can be tried again: if it did happen, its stored answer is found
    return isCollision(error) || (committing && idempotencyKey !== undefined && isConnectionLoss(error));
  }

  private async knowTenant(merchantId: number): Promise<void> {
    if (this.tenants.has(merchantId)) return;
    await this.infra('insert into tenants (merchant_id) values ($1) on conflict do nothing', [merchantId]);
    this.tenants.add(merchantId);
  }

  private pause(attempt: number): Promise<void> {
    const ms = limits.backoffMs * 2 ** (attempt - 1) * (0.5 + this.parts.random());
    return new Promise(resolve => setTimeout(resolve, ms));
  }
}

const sealedAt = (merchantId: number, key: string) => `idempotency.answer ${merchantId} ${key}`;
