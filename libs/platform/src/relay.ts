import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { isCut, upTo } from './bounds.js';
import type { Bus } from './bus.js';
import type { Clock } from './clock.js';
import { crashPoint } from './crash.js';
import { packed } from './events.js';
import type { Log } from './log.js';
import { prepared, queryOn, type Row } from './session.js';
import { ensureStream } from './stream.js';
import { eventsPublished, outboxWaiting } from './telemetry.js';

/** Under load (`busy` rows in a batch) the next batch is let grow for a moment: a batch costs little more than a row. */
const limits = {
  batch: 512,
  batchBytes: 16_777_216,
  idleMs: 500,
  retryMs: 500,
  checkMs: 10_000,
  /** Longer than a statement may take (see session.ts), and with it the commit of a row that has its seq already. */
  sweepMs: 5_000,
  busy: 8,
  lingerMs: 60,
} as const;

const columns = 'seq, id, type, merchant_id, aggregate, aggregate_id, envelope';
const batchOf = (select: string) => upTo(limits.batchBytes, select, 'octet_length(envelope)', 'order by seq');
/** As an array, so that the rows are always found by their key, whatever the planner knows of the tables. */
const unpublished = batchOf(`select ${columns} from outbox
  where seq = any(array(select seq from unpublished where seq > $1 order by seq limit ${limits.batch})) order by seq`);
const kept = batchOf(`select ${columns} from outbox where seq > $1 and seq <= $2 order by seq limit ${limits.batch}`);

interface RelayParts {
  service: string;
  pool: pg.Pool;
  bus: Bus;
  clock: Clock;
  log: Log;
}

/**
 * Publishes the outbox to JetStream, in order, in pipelined batches. One relay of a service is active, elected by an
 * advisory lock on a connection of its own. When the stream turns out to be a new one, every row that is still kept is
 * published again; inboxes drop what they have seen.
 */
export class Relay {
  private leader: pg.PoolClient | undefined;
  private stopped = false;
  private wake: () => void = () => undefined;
  private work = false;
  private checkedAt = 0;
  private republishing = false;
  /** The highest seq that is published: now, at the last sweep, and at the one before. */
  private reached = 0;
  private sweptTo = 0;
  private floor = 0;
  private sweptAt = 0;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RelayParts) {
    parts.bus.onReconnect(() => {
      this.checkedAt = 0;
      this.nudge();
    });
    parts.bus.onSignal(`nudge.${parts.service}`, () => this.nudge());
  }

  start(): void {
    this.running = this.loop();
  }

  /** There are new rows. A replica that does not lead tells the one that does. */
  committed(): void {
    if (this.leader) this.nudge();
    else this.parts.bus.signal(`nudge.${this.parts.service}`);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.nudge();
    await this.running;
    // a lock dies with its connection: the next replica leads at once
    this.leader?.release(true);
    this.leader = undefined;
  }

  private nudge(): void {
    this.work = true;
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
        this.work = false;
        const published = await this.publish(await this.query(unpublished, [this.from()]));
        const again = await this.republish();
        if (published >= limits.busy && published < limits.batch) await pause(limits.lingerMs);
        else if (published < limits.batch && !again && !this.work) await this.rest(limits.idleMs);
      } catch (error) {
        if (!this.stopped) {
          this.parts.log.warn({ err: error }, 'the relay could not publish; it goes on trying');
          await this.rest(limits.retryMs);
        }
      }
    }
  }

  private async elect(): Promise<boolean> {
    const client = await this.parts.pool.connect();
    const lock = `select pg_try_advisory_lock(hashtext('relay ' || $1)) as won`;
    const { rows } = await client.query<{ won: boolean }>(lock, [this.parts.service]).catch(error => {
      client.release(true);
      throw error;
    });
    if (!rows[0]?.won) {
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
    return true;
  }

  /** Finds out whether the stream is the one that was published to; a new one gets the kept rows again. */
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
    // all of them once more: what the stream has taken by now, inboxes drop
    if (failed.size > 0) throw new Error(`JetStream did not acknowledge ${failed.size} events again`);
    const reached = rows.at(-1)?.seq ?? state.republish_to;
    await this.query('update relay_state set republish_from = $1', [reached]);
    return true;
  }

  /**
   * The seq above which to look for rows. What was published leaves a dead entry each in the index until the table is
   * vacuumed, hundreds of thousands under load: they are passed over, but for a sweep through all every few seconds. It
   * finds what became visible long after it got its seq.
   */
  private from(): number {
    const now = this.parts.clock.wall();
    if (Math.abs(now - this.sweptAt) < limits.sweepMs) return this.floor;
    this.sweptAt = now;
    this.floor = this.sweptTo;
    this.sweptTo = this.reached;
    return 0;
  }

  private async publish(rows: readonly Row[]): Promise<number> {
    outboxWaiting.set(rows.length);
    if (rows.length === 0) return 0;
    crashPoint('before-publish');
    const failed = await this.send(rows);
    const done = rows.map(({ seq }) => seq).filter(seq => !failed.has(seq));
    await this.query('delete from unpublished where seq = any($1)', [done]);
    eventsPublished.inc(done.length);
    this.work ||= isCut(rows, limits.batchBytes);
    if (failed.size > 0) throw new Error(`JetStream did not acknowledge ${failed.size} events`);
    this.reached = Math.max(this.reached, Number(rows.at(-1)?.seq));
    return rows.length;
  }

  /** Publishes rows without waiting for each other; returns the seqs that were not acknowledged. */
  private async send(rows: readonly Row[]): Promise<Set<unknown>> {
    const parcels = packed(this.parts.service, rows);
    const acknowledged = await this.parts.bus.publish(parcels);
    const failed = new Set(
      parcels.filter((_, at) => !acknowledged[at]).flatMap(parcel => parcel.rows.map(({ seq }) => seq)),
    );
    // no acknowledgement at all: the stream may be gone
    if (failed.size > 0) this.checkedAt = 0;
    return failed;
  }

  private query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return queryOn(this.parts.pool, prepared(text, values));
  }

  private rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
