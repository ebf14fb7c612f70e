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
import type { Config } from '../../config.js';
import { openSecrets, type Sealed } from '../../endpoints/secrets.js';
import { verdictOf } from '../domain/delivery.js';
import { type Attempt, type Recorded, recordAll } from './attempts.js';
import { type Claim, type Claimed, claimDue, missDue } from './claims.js';
import { KeyedThrottle } from './keyed-throttle.js';
import { type EndpointQueue, type MerchantQueue, Queues } from './queues.js';
import { commonHeaders, sign } from './signature.js';

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
export class Dispatcher {
  private readonly leaseMs: number;
  private readonly queues = new Queues(limits.batch);
  private readonly claims = new KeyedThrottle<MerchantQueue>(limits.claims, limits.restMs, merchant =>
    this.claim(merchant),
  );
  private readonly records = new KeyedThrottle<MerchantQueue>(limits.records, limits.restMs, merchant =>
    this.record(merchant),
  );
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
    const queue = this.queues.of(merchantId, endpointId);
    queue.merchant.pending.add(queue);
    this.claims.request(queue.merchant);
    return queue.idle;
  }

  /** Begins nothing more, and resolves when all that is under way is recorded. */
  async stop(): Promise<void> {
    this.stopped = true;
    const { all } = this.queues;
    for (const queue of all) {
      queue.merchant.pending.delete(queue);
      this.queues.closeIfIdle(queue);
    }
    await Promise.all(all.map(({ idle }) => idle));
  }

  /** A merchant's turn to claim: for all of its endpoints that may have something due, in one go. */
  private async claim(merchant: MerchantQueue): Promise<void> {
    if (this.stopped) return;
    const rooms = this.queues.rooms(merchant);
    if (rooms.size === 0) return;
    for (const [queue, room] of rooms) {
      merchant.pending.delete(queue);
      this.queues.take(queue, room);
    }
    const claims = await this.claimed(merchant, rooms);
    for (const [queue, room] of rooms) {
      const claim = claims.get(queue.endpointId);
      this.queues.take(queue, -room);
      if (claim) this.begin(queue, claim);
      if (claim?.open === false) await this.miss(queue);
      this.queues.closeIfIdle(queue);
    }
    this.feedBlocked();
  }

  private async claimed(
    merchant: MerchantQueue,
    rooms: ReadonlyMap<EndpointQueue, number>,
  ): Promise<ReadonlyMap<number, Claim>> {
    const { merchantId } = merchant;
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

  private async miss({ merchant: { merchantId }, endpointId }: EndpointQueue): Promise<void> {
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

  private begin(queue: EndpointQueue, { url, sealed, failing, room, due }: Claim): void {
    this.queues.setFailing(queue, failing);
    for (const claimed of due) void this.send(queue, { url, sealed }, claimed);
    // all that was asked for is there, or as much as may be is leased, to us: there may be more
    if (!this.stopped && due.length >= room && queue.leased > 0) queue.merchant.pending.add(queue);
  }

  private async send(queue: EndpointQueue, { url, sealed }: Target, claimed: Claimed): Promise<void> {
    queue.leased++;
    this.queues.take(queue, 1);
    try {
      const startedMs = this.clock.wall();
      const { delivery, body } = claimed;
      const signature = sign(this.secretsOf(queue, sealed), delivery.eventId, Math.floor(startedMs / 1000), body);
      const headers = { ...commonHeaders, ...signature };
      const result = await this.outbound.post(url, headers, body);
      queue.quick = verdictOf(result) === 'success' && result.durationMs < limits.quickMs;
      queue.merchant.ended.push({ queue, attempt: { ...claimed, url, startedMs, endedMs: this.clock.wall(), result } });
      this.records.request(queue.merchant);
    } catch (error) {
      queue.leased--;
      this.log.error({ err: error, endpointId: queue.endpointId }, 'a delivery could not be sent');
    }
    this.queues.take(queue, -1);
    this.goOn(queue);
  }

  /** Opened once for as long as claims bring the same ones. */
  private secretsOf(queue: EndpointQueue, sealed: Sealed): readonly string[] {
    const { sealedSecret, sealedFormer } = queue.secrets.sealed ?? {};
    if (sealed.sealedSecret !== sealedSecret || sealed.sealedFormer !== sealedFormer) {
      queue.secrets = { sealed, open: openSecrets(this.keyring, sealed) };
    }
    return queue.secrets.open;
  }

  private goOn(queue: EndpointQueue): void {
    if (queue.merchant.pending.has(queue)) this.claims.request(queue.merchant);
    else this.queues.closeIfIdle(queue);
    this.feedBlocked();
  }

  private feedBlocked(): void {
    for (const merchant of this.queues.takeBlocked()) this.claims.request(merchant);
  }

  /** A merchant's turn to record: what has ended since the last time, in one transaction. */
  private async record(merchant: MerchantQueue): Promise<void> {
    const batch = merchant.ended.splice(0, merchant.batch);
    if (batch.length === 0) return;
    crashPoint('after-post');
    const recorded = await this.recorded(
      merchant,
      batch.map(({ attempt }) => attempt),
    );
    merchant.batch = recorded ? limits.batch : 1;
    const later = new Set(recorded ? recorded.later : this.tryAgain(batch.map(({ attempt }) => attempt)));
    const released = new Set(recorded?.released);
    for (const entry of batch) {
      if (later.has(entry.attempt)) {
        merchant.ended.push(entry);
        continue;
      }
      entry.queue.leased--;
      if (released.has(entry.queue.endpointId) && !this.stopped) merchant.pending.add(entry.queue);
    }
    for (const queue of new Set(batch.map(entry => entry.queue))) this.goOn(queue);
    if (!recorded) await pause(limits.retryMs);
    if (merchant.ended.length > 0) this.records.request(merchant);
  }

  /** What has not been recorded is worth another try for as long as nobody else may have taken it. */
  private tryAgain(attempts: readonly Attempt[]): Attempt[] {
    const nowMs = this.clock.wall();
    return this.stopped ? [] : attempts.filter(({ untilMs }) => untilMs > nowMs);
  }

  /** Undefined where it could not be done: it is tried again one by one, so that no attempt fails for another. */
  private async recorded(merchant: MerchantQueue, attempts: readonly Attempt[]): Promise<Recorded | undefined> {
    const caller = systemCaller(merchant.merchantId, randomUUID(), Number.POSITIVE_INFINITY);
    let recorded: Recorded | undefined;
    try {
      await this.db.apply(caller, async tx => {
        recorded = await recordAll(tx, attempts, this.clock.wall(), this.random);
      });
      return recorded;
    } catch (error) {
      this.log.warn({ err: error, merchantId: merchant.merchantId }, 'attempts could not be recorded');
      return undefined;
    }
  }
}
