import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Bus } from '../bus/bus.js';
import type { Clock } from '../runtime/clock.js';
import { crashPoint } from '../runtime/crash.js';
import type { Log } from '../runtime/log.js';
import type { Span } from '../runtime/span.js';
import { eventsPublished, outboxOldest, outboxWaiting } from '../runtime/telemetry.js';
import { isTracing, startSpan } from '../runtime/tracing.js';
import { indexedOn } from '../store/due/indexed.js';
import { connectionOf, prepared, queryOn, type Row, runQuery } from '../store/pool.js';
import { isCut, upTo } from '../store/sql/size-limits.js';
import { type Parcel, packed } from './envelope.js';
import { streamCreated } from './stream.js';

/**
 * Batches and delays. Under load (`busy` rows in a batch) the relay waits before the next batch, `lingerTimes` as long as
 * the last one took and at most `lingerMs`: a batch costs little more than a row, and the delay follows the load.
 */
const limits = {
  batch: 512,
  batchBytes: 16_777_216,
  restMs: 500,
  retryMs: 500,
  checkMs: 10_000,
  busy: 8,
  lingerTimes: 3,
  lingerMs: 60,
} as const;

const columns = 'seq, id, type, merchant_id, aggregate, aggregate_id, envelope, created_at';
const batchOf = (select: string, weight: string, by: string) =>
  upTo(limits.batchBytes, `${select} order by ${by} limit ${limits.batch}`, weight, `order by ${by}`);
/** Weight of an event beside its bytes: a batch is full of short events, or of a few long ones. */
const eventWeight = limits.batchBytes / limits.batch;
const listWeight = `characters + cardinality(seqs) * ${eventWeight}`;
/** Statements that have events to publish, oldest first; `first` names a statement by its first event. */
export const unpublished = batchOf('select first, seqs, characters from unpublished', listWeight, 'first');
export const listed = `select ${columns} from unnest($1::bigint[]) with ordinality named(listed, place)
  cross join lateral (select * from outbox where seq = listed) o order by place`;
/** Takes statements off the list; found key by key, see indexed.ts. */
export const settled = `delete from unpublished where ctid = any(array(select u.ctid from unnest($1::bigint[]) done
  cross join lateral (select ctid from unpublished where first = done) u))`;
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
  /** Events may have been committed since the last look at the list. */
  private awake = true;
  private endRest: () => void = () => undefined;
  private checkedAt = 0;
  private republishing = false;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RelayParts) {
    parts.bus.onReconnect(() => {
      this.checkedAt = 0;
      this.wake();
    });
    parts.bus.onSignal(`nudge.${parts.service}`, () => this.wake());
  }

  start(): void {
    this.running = this.loop();
  }

  /** Events were committed. A replica that does not lead tells the one that does. */
  committed(): void {
    if (this.leader) this.wake();
    else this.parts.bus.signal(`nudge.${this.parts.service}`);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
    // closing the connection releases the lock, so another replica leads at once
    this.leader?.release(true);
    this.leader = undefined;
  }

  private wake(): void {
    this.awake = true;
    this.endRest();
  }

  private async loop(): Promise<void> {
    while (!this.stopped) {
      try {
        if (!(this.leader || (await this.elect()))) {
          await this.rest(limits.restMs);
          continue;
        }
        await this.checkStream();
        this.awake = false;
        const startedMs = this.parts.clock.wall();
        const { published, more } = await this.publishListed();
        const again = await this.republish();
        const tookMs = this.parts.clock.wall() - startedMs;
        if (more || again) continue;
        if (published >= limits.busy) await pause(Math.min(tookMs * limits.lingerTimes, limits.lingerMs));
        else if (!this.awake) {
          outboxWaiting.set(0);
          await this.rest(limits.restMs);
        }
      } catch (error) {
        if (this.stopped) return;
        this.parts.log.warn({ err: error }, 'the relay could not publish; it goes on trying');
        await this.rest(limits.retryMs);
      }
    }
  }

  private async elect(): Promise<boolean> {
    const client = await connectionOf(this.parts.pool);
    const lock = `select pg_try_advisory_lock(hashtext('relay ' || $1)) as won`;
    const [answer] = await runQuery(client, { text: lock, values: [this.parts.service] }).catch(error => {
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
      outboxOldest.set(0);
      client.release(error);
    });
    this.leader = client;
    this.checkedAt = 0;
    return true;
  }

  /** Detects a recreated stream by its creation time, and schedules publishing the kept rows again. */
  private async checkStream(): Promise<void> {
    const now = this.parts.clock.wall();
    if (now - this.checkedAt < limits.checkMs) return;
    const created = await streamCreated(this.parts.bus, this.parts.service);
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

  /**
   * Publishes one batch of the list, and takes the statements off it whose events were all acknowledged. `more`: the
   * list goes on. It is always read from its beginning, since a transaction may become visible after later ones.
   */
  private async publishListed(): Promise<{ published: number; more: boolean }> {
    const list = (await this.indexed(unpublished, [])) as { first: unknown; seqs: unknown[] }[];
    if (list.length === 0) {
      outboxOldest.set(0);
      return { published: 0, more: false };
    }
    const rows = await this.indexed(listed, [list.flatMap(({ seqs }) => seqs)]);
    outboxWaiting.set(rows.length);
    outboxOldest.set(Math.max(0, Math.floor(this.parts.clock.wall() / 1000) - Number(rows[0]?.created_at)));
    crashPoint('before-publish');
    const failed = await this.send(rows);
    const failedSeqs = new Set([...failed].map(({ seq }) => seq));
    const done = list.filter(({ seqs }) => !seqs.some(seq => failedSeqs.has(seq)));
    await this.indexed(settled, [done.map(({ first }) => first)]);
    eventsPublished.inc(rows.length - failed.size);
    if (failed.size > 0) throw new Error(`JetStream did not acknowledge ${failed.size} events`);
    return { published: rows.length, more: list.length === limits.batch || isCut(list, limits.batchBytes) };
  }

  /** Publishes rows concurrently; returns those that were not acknowledged. */
  private async send(rows: readonly Row[]): Promise<ReadonlySet<Row>> {
    const parcels = packed(this.parts.service, rows);
    const spans = isTracing() ? parcels.flatMap(publishing) : [];
    const acknowledged = await this.parts.bus.publish(parcels);
    for (const span of spans) span.end();
    const failed = new Set(parcels.filter((_, at) => !acknowledged[at]).flatMap(parcel => parcel.rows));
    // a missing acknowledgement: the stream may be gone
    if (failed.size > 0) this.checkedAt = 0;
    return failed;
  }

  private query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return queryOn(this.parts.pool, prepared(text, values));
  }

  /** The list is empty at one time and long at another: planned for indexes alone, it costs the same with any statistics. */
  private indexed(text: string, values: readonly unknown[]): Promise<Row[]> {
    return indexedOn(this.parts.pool, text, values);
  }

  private rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.wake(), ms);
      this.endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A span for each event of a message, in the trace of the command that emitted it. */
const publishing = ({ subject, rows }: Parcel): Span[] =>
  rows.flatMap(({ envelope }) => {
    const [, parent = ''] = /"traceparent":"([^"]*)"/.exec(String(envelope)) ?? [];
    return parent === '' ? [] : (startSpan(`publish ${subject}`, 'producer', parent) ?? []);
  });
