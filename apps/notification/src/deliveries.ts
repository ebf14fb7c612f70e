import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  CONFIG,
  crashPoint,
  Db,
  Keyring,
  LOG,
  type Log,
  Outbound,
  systemCaller,
} from '@recur/platform';
import { type Attempt, type Recorded, recordAll } from './attempts.js';
import { type Claim, type Claimed, claimDue, missDue } from './claims.js';
import type { Config } from './config.js';
import { verdictOf } from './domain/delivery.js';
import { openSecrets, type Sealed } from './endpoints.js';
import { type Desk, type Lane, Lanes } from './lanes.js';
import { sign, usualHeaders } from './signature.js';
import { Turns } from './turns.js';

/** Numbers in [0, 1), for the jitter of retries. */
export const RANDOM = Symbol('random');

/** Merchants whose claims and records run at once, and the rest in between; attempts that are recorded together. */
const limits = { claims: 4, records: 4, restMs: 10, batch: 256, quickMs: 1_000, retryMs: 500 } as const;

/** Where deliveries go, and what signs them. */
type Target = Pick<Claim, 'url' | 'sealed'>;

/**
 * Sends what is due and records what came of it. Claims, requests and records of all endpoints overlap; each claim and
 * each record is one merchant's, and takes what has come together since the last.
 */
@Injectable()
export class Deliveries {
  private readonly leaseMs: number;
  private readonly lanes = new Lanes(limits.batch);
  private readonly claims = new Turns<Desk>(limits.claims, limits.restMs, desk => this.claim(desk));
  private readonly records = new Turns<Desk>(limits.records, limits.restMs, desk => this.record(desk));
  private stopped = false;

  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RANDOM) private readonly random: () => number,
    @Inject(LOG) private readonly log: Log,
    @Inject(CONFIG) config: Config,
  ) {
    this.leaseMs = config.WEBHOOK_LEASE_SECONDS * 1000;
  }

  /**
   * Sends everything of one endpoint that is due now; resolves when that is recorded, or when others are at it. What
   * fails here is due again when its lease is over: this never rejects.
   */
  deliver(merchantId: number, endpointId: number): Promise<void> {
    if (this.stopped) return Promise.resolve();
    const lane = this.lanes.of(merchantId, endpointId);
    lane.desk.hungry.add(lane);
    this.claims.ask(lane.desk);
    return lane.idle;
  }

  /** Begins nothing more, and resolves when all that is under way is recorded. */
  async stop(): Promise<void> {
    this.stopped = true;
    const { all } = this.lanes;
    for (const lane of all) {
      lane.desk.hungry.delete(lane);
      this.lanes.closeIfIdle(lane);
    }
    await Promise.all(all.map(({ idle }) => idle));
  }

  /** A merchant's turn to claim: for all of its endpoints that may have something due, in one go. */
  private async claim(desk: Desk): Promise<void> {
    if (this.stopped) return;
    const rooms = this.lanes.rooms(desk);
    if (rooms.size === 0) return;
    for (const [lane, room] of rooms) {
      desk.hungry.delete(lane);
      this.lanes.take(lane, room);
    }
    const claims = await this.claimed(desk, rooms);
    for (const [lane, room] of rooms) {
      const claim = claims.get(lane.endpointId);
      this.lanes.take(lane, -room);
      if (claim) this.begin(lane, claim);
      if (claim?.open === false) await this.miss(lane);
      this.lanes.closeIfIdle(lane);
    }
    this.feedStarved();
  }

  private async claimed(desk: Desk, rooms: ReadonlyMap<Lane, number>): Promise<ReadonlyMap<number, Claim>> {
    const { merchantId } = desk;
    const wanted = [...rooms].map(([{ endpointId }, room]) => ({ endpointId, room }));
    const nowMs = this.clock.wall();
    try {
      const lease = { token: randomUUID(), untilMs: nowMs + this.leaseMs };
      return await claimDue(this.db, merchantId, wanted, nowMs, lease);
    } catch (error) {
      this.log.warn({ err: error, merchantId }, 'what is due could not be claimed');
      return new Map();
    }
  }

  private async miss({ desk: { merchantId }, endpointId }: Lane): Promise<void> {
    const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
    try {
      for (let more = true; more && !this.stopped; ) {
        await this.db.apply(caller, async tx => {
          more = await missDue(tx, endpointId, this.clock.wall());
        });
      }
    } catch (error) {
      this.log.warn({ err: error, merchantId, endpointId }, 'what is due to a closed endpoint could not be set aside');
    }
  }

  private begin(lane: Lane, { url, sealed, failing, room, due }: Claim): void {
    this.lanes.setFailing(lane, failing);
    for (const claimed of due) void this.send(lane, { url, sealed }, claimed);
    // all that was asked for is there, or as much as may be is leased, to us: there may be more
    if (!this.stopped && due.length >= room && lane.leased > 0) lane.desk.hungry.add(lane);
  }

  private async send(lane: Lane, { url, sealed }: Target, claimed: Claimed): Promise<void> {
    lane.leased++;
    this.lanes.take(lane, 1);
    try {
      const startedMs = this.clock.wall();
      const { delivery, body } = claimed;
      const signature = sign(this.secretsOf(lane, sealed), delivery.eventId, Math.floor(startedMs / 1000), body);
      const headers = { ...usualHeaders, ...signature };
      const result = await this.outbound.post(url, headers, body);
      lane.quick = verdictOf(result) === 'success' && result.durationMs < limits.quickMs;
      lane.desk.ended.push({ lane, attempt: { ...claimed, url, startedMs, endedMs: this.clock.wall(), result } });
      this.records.ask(lane.desk);
    } catch (error) {
      lane.leased--;
      this.log.error({ err: error, endpointId: lane.endpointId }, 'a delivery could not be sent');
    }
    this.lanes.take(lane, -1);
    this.goOn(lane);
  }

  /** Opened once for as long as claims bring the same ones. */
  private secretsOf(lane: Lane, sealed: Sealed): readonly string[] {
    const { sealedSecret, sealedFormer } = lane.secrets.sealed ?? {};
    if (sealed.sealedSecret !== sealedSecret || sealed.sealedFormer !== sealedFormer) {
      lane.secrets = { sealed, open: openSecrets(this.keyring, sealed) };
    }
    return lane.secrets.open;
  }

  private goOn(lane: Lane): void {
    if (lane.desk.hungry.has(lane)) this.claims.ask(lane.desk);
    else this.lanes.closeIfIdle(lane);
    this.feedStarved();
  }

  private feedStarved(): void {
    for (const desk of this.lanes.takeStarved()) this.claims.ask(desk);
  }

  /** A merchant's turn to record: what has ended since the last time, in one transaction. */
  private async record(desk: Desk): Promise<void> {
    const batch = desk.ended.splice(0, desk.batch);
    if (batch.length === 0) return;
    crashPoint('after-post');
    const recorded = await this.recorded(
      desk,
      batch.map(({ attempt }) => attempt),
    );
    desk.batch = recorded ? limits.batch : 1;
    const later = new Set(recorded ? recorded.later : this.tryAgain(batch.map(({ attempt }) => attempt)));
    const released = new Set(recorded?.released);
    for (const entry of batch) {
      if (later.has(entry.attempt)) {
        desk.ended.push(entry);
        continue;
      }
      entry.lane.leased--;
      if (released.has(entry.lane.endpointId) && !this.stopped) desk.hungry.add(entry.lane);
    }
    for (const lane of new Set(batch.map(entry => entry.lane))) this.goOn(lane);
    if (!recorded) await pause(limits.retryMs);
    if (desk.ended.length > 0) this.records.ask(desk);
  }

  /** What has not been recorded is worth another try for as long as nobody else may have taken it. */
  private tryAgain(attempts: readonly Attempt[]): Attempt[] {
    const nowMs = this.clock.wall();
    return this.stopped ? [] : attempts.filter(({ untilMs }) => untilMs > nowMs);
  }

  /** Undefined where it could not be done: it is tried again one by one, so that no attempt fails for another. */
  private async recorded(desk: Desk, attempts: readonly Attempt[]): Promise<Recorded | undefined> {
    const caller = systemCaller(desk.merchantId, randomUUID(), Number.POSITIVE_INFINITY);
    let recorded: Recorded | undefined;
    try {
      await this.db.apply(caller, async tx => {
        recorded = await recordAll(tx, attempts, this.clock.wall(), this.random);
      });
      return recorded;
    } catch (error) {
      this.log.warn({ err: error, merchantId: desk.merchantId }, 'attempts could not be recorded');
      return undefined;
    }
  }
}
