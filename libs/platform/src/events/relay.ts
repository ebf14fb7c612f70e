import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Bus } from '../bus/bus.js';
import type { Clock } from '../runtime/clock.js';
import { crashPoint } from '../runtime/crash.js';
import type { Log } from '../runtime/log.js';
import { eventsPublished, outboxWaiting } from '../runtime/telemetry.js';
import { ask, connectionOf, prepared, queryOn, type Row } from '../store/pool.js';
import { isCut, upTo } from '../store/sql/size-limits.js';
import type { Written } from '../store/sql/write-set.js';
import { packed } from './envelope.js';
import { ensureStream } from './stream.js';

/**
 * Batches and delays. Under load (`busy` rows in a batch) the relay waits before the next batch, `lingerTimes` as long as
 * the last one took and at most `lingerMs`: a batch costs little more than a row, and the delay follows the load.
 */
const limits = {
  batch: 512,
  batchCharacters: 16_777_216,
  idleMs: 500,
  retryMs: 500,
  checkMs: 10_000,
  lookMs: 5_000,
  busy: 8,
  lingerTimes: 3,
  lingerMs: 60,
} as const;

const columns = 'seq, id, type, merchant_id, aggregate, aggregate_id, envelope';
const batchOf = (select: string, weight: string, by: string) =>
  upTo(limits.batchCharacters, `${select} order by ${by} limit ${limits.batch}`, weight, `order by ${by}`);
/** Weight of an event besides its characters: a batch holds many short events or a few long ones. */
const eventWeight = limits.batchCharacters / limits.batch;
const listWeight = `characters + cardinality(seqs) * ${eventWeight}`;
const unpublished = batchOf('select first, seqs, characters from unpublished', listWeight, 'first');
const listed = `select ${columns} from outbox where seq = any($1) order by seq`;
const kept = batchOf(`select ${columns} from outbox where seq > $1 and seq <= $2`, 'octet_length(envelope)', 'seq');

interface RelayParts {
  service: string;
  pool: pg.Pool;
  bus: Bus;
  clock: Clock;
  log: Log;
}

/**
 * Publishes the outbox to JetStream, in order, in pipelined batches. One relay per service is active, elected by an
 * advisory lock on a connection of its own. If the stream was recreated, every row still kept is published again; inboxes
 * drop duplicates.
 */
export class Relay {
  private leader: pg.PoolClient | undefined;
  private stopped = false;
  private wake: () => void = () => undefined;
  private checkedAt = 0;
  private republishing = false;
  /** Writes committed in this process since the last batch, published without reading them from the database. */
  private handed: Written[] = [];
  private handedWeight = 0;
  /** True if the table `unpublished` may name rows not handed over. Until it is read, handed-over rows are left to it. */
  private looking = true;
  /** True if the last read of `unpublished` did not reach its end. */
  private behind = false;
  private lookedAt = 0;
  /** Entries found by the last read: their commit may be answered, and so handed over, only afterwards. */
  private found: ReadonlySet<unknown> = new Set();
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RelayParts) {
    parts.bus.onReconnect(() => {
      this.checkedAt = 0;
      this.look();
    });
    parts.bus.onSignal(`nudge.${parts.service}`, () => this.look());
  }

  start(): void {
    this.running = this.loop();
  }

  /** Announces new rows: `written`, or else those in `unpublished`. A replica that does not lead signals the leader. */
  committed(written?: Written): void {
    if (!this.leader) this.parts.bus.signal(`nudge.${this.parts.service}`);
    else if (!written) this.look();
    else if (!this.looking && !this.found.has(written.first)) this.take(written);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.look();
    await this.running;
    // closing the connection releases the lock, so another replica leads at once
    this.leader?.release(true);
    this.leader = undefined;
  }

  private look(): void {
    this.looking = true;
    this.wake();
  }

  private take(written: Written): void {
    this.handed.push(written);
    for (const { envelope } of written.rows) this.handedWeight += String(envelope).length + eventWeight;
    this.looking = this.handedWeight > limits.batchCharacters;
    this.wake();
  }

  private async loop(): Promise<void> {
    while (!this.stopped) {
      try {
        if (!(this.leader || (await this.elect()))) {
          await this.rest(limits.idleMs);
          continue;
        }
        await this.checkStream();
        const startedMs = this.parts.clock.wall();
        const published = (await this.publish(this.takeHanded())) + (await this.publish(await this.takeListed()));
        const again = await this.republish();
        const tookMs = this.parts.clock.wall() - startedMs;
        if (published >= limits.busy && !this.behind)
          await pause(Math.min(tookMs * limits.lingerTimes, limits.lingerMs));
        else if (!again && !this.looking && this.handed.length === 0) {
          outboxWaiting.set(0);
          await this.rest(limits.idleMs);
        }
      } catch (error) {
        this.looking = true;
        if (!this.stopped) {
          this.parts.log.warn({ err: error }, 'the relay could not publish; it goes on trying');
          await this.rest(limits.retryMs);
        }
      }
    }
  }

  private async elect(): Promise<boolean> {
    const client = await connectionOf(this.parts.pool);
    const lock = `select pg_try_advisory_lock(hashtext('relay ' || $1)) as won`;
    const [answer] = await ask(client, { text: lock, values: [this.parts.service] }).catch(error => {
      client.release(true);
      throw error;
    });
    if (!answer?.won) {
      client.release();
      return false;
    }
    client.once('error', error => {
      if (this.leader !== client) return;
      this.leader = undefined;
      client.release(error);
    });
    this.leader = client;
    this.checkedAt = 0;
    this.looking = true;
    return true;
  }

  /** Detects a recreated stream by its creation time, and schedules publishing the kept rows again. */
  private async checkStream(): Promise<void> {
    const now = this.parts.clock.wall();
    if (now - this.checkedAt < limits.checkMs) return;
    const created = await ensureStream(this.parts.bus, this.parts.service);
    await this.query(
      `insert into relay_state (stream_created) values ($1) on conflict (only_row) do update
         set stream_created = $1, republish_from = 0, republish_to = (select coalesce(max(seq), 0) from outbox)
         where relay_state.stream_created <> $1`,
      [created],
    );
    this.checkedAt = now;
    this.republishing = true;
  }

  private async republish(): Promise<boolean> {
    if (!this.republishing) return false;
    const [state] = await this.query('select republish_from, republish_to from relay_state', []);
    this.republishing = state !== undefined && Number(state.republish_from) < Number(state.republish_to);
    if (!state || !this.republishing) return false;
    const rows = await this.query(kept, [state.republish_from, state.republish_to]);
    const failed = await this.send(rows);
    // the whole page is sent again: inboxes drop the events that the stream did take
    if (failed.size > 0) throw new Error(`JetStream did not acknowledge ${failed.size} events again`);
    const reached = rows.at(-1)?.seq ?? state.republish_to;
    await this.query('update relay_state set republish_from = $1', [reached]);
    return true;
  }

  private takeHanded(): readonly Written[] {
    const handed = this.looking ? [] : this.handed;
    this.handed = [];
    this.handedWeight = 0;
    return handed;
  }

  /** A batch of the rows named in `unpublished`; empty if there is no need to read it. */
  private async takeListed(): Promise<readonly Written[]> {
    const now = this.parts.clock.wall();
    if (!this.looking && Math.abs(now - this.lookedAt) < limits.lookMs) return [];
    this.lookedAt = now;
    this.looking = false;
    const list = (await this.query(unpublished, [])) as { first: unknown; seqs: unknown[] }[];
    this.behind = list.length === limits.batch || isCut(list, limits.batchCharacters);
    this.looking ||= this.behind;
    if (list.length === 0) return [];
    this.found = new Set(list.map(({ first }) => first));
    this.handed = this.handed.filter(({ first }) => !this.found.has(first));
    const rows = await this.query(listed, [list.flatMap(({ seqs }) => seqs)]);
    const bySeq = new Map(rows.map(row => [row.seq, row]));
    const rowsOf = (seqs: readonly unknown[]) => seqs.map(seq => bySeq.get(seq)).filter(row => row !== undefined);
    return list.map(({ first, seqs }) => ({ first, rows: rowsOf(seqs) }));
  }

  private async publish(written: readonly Written[]): Promise<number> {
    const rows = written.flatMap(statement => statement.rows);
    if (written.length === 0) return 0;
    outboxWaiting.set(rows.length);
    crashPoint('before-publish');
    const failed = await this.send(rows);
    const done = written.filter(statement => !statement.rows.some(row => failed.has(row)));
    await this.query('delete from unpublished where first = any($1)', [done.map(({ first }) => first)]);
    eventsPublished.inc(rows.length - failed.size);
    if (failed.size > 0) throw new Error(`JetStream did not acknowledge ${failed.size} events`);
    return rows.length;
  }

  /** Publishes rows concurrently; returns those that were not acknowledged. */
  private async send(rows: readonly Row[]): Promise<ReadonlySet<Row>> {
    const parcels = packed(this.parts.service, rows);
    const acknowledged = await this.parts.bus.publish(parcels);
    const failed = new Set(parcels.filter((_, at) => !acknowledged[at]).flatMap(parcel => parcel.rows));
    // a missing acknowledgement: the stream may be gone
    if (failed.size > 0) this.checkedAt = 0;
    return failed;
  }

  private query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return queryOn(this.parts.pool, prepared(text, values));
  }

  private rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.look(), ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
