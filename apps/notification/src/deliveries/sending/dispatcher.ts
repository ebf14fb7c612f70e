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
  startSpan,
  systemCaller,
} from '@recur/platform';
import type { Config } from '../../config.js';
import { verdictOf } from '../domain/delivery.js';
import { type Attempt, type Recorded, recordAll } from './attempts.js';
import { type Claim, type Claimed, claimDue, missDue, start } from './claims.js';
import { KeyedThrottle } from './keyed-throttle.js';
import { type EndpointQueue, type MerchantQueue, Queues } from './queues.js';
import { commonHeaders, signWithKeys } from './signature.js';
import { SigningKeys } from './signing-keys.js';

/** Returns numbers in [0, 1), for the jitter of retries. */
export const RANDOM = Symbol('random');

/**
 * `claims`, `records`: merchants whose claims and records run at once. `batch`: attempts recorded together. `restartMs`:
 * a queue that never runs dry claims from its start again after this time.
 */
const limits = { claims: 4, records: 4, batch: 256, quickMs: 1_000, retryMs: 500, restartMs: 2_000 } as const;

/**
 * Sends what is due and records the results. Claims, requests and records of all endpoints overlap. Each claim and each
 * record covers one merchant, and everything that has come up since the previous one.
 */
@Injectable()
export class Dispatcher {
  private readonly leaseMs: number;
  private readonly queues = new Queues(limits.batch);
  private readonly keys: SigningKeys;
  private readonly claims: KeyedThrottle<MerchantQueue>;
  private readonly records: KeyedThrottle<MerchantQueue>;
  private stopped = false;

  constructor(
    private readonly db: Db,
    keyring: Keyring,
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RANDOM) private readonly random: () => number,
    @Inject(LOG) private readonly log: Log,
    @Inject(CONFIG) config: Config,
  ) {
    const nowMs = () => clock.wall();
    this.claims = new KeyedThrottle(limits.claims, nowMs, merchant => this.claim(merchant));
    this.records = new KeyedThrottle(limits.records, nowMs, merchant => this.record(merchant));
    this.keys = new SigningKeys(keyring);
    this.leaseMs = config.WEBHOOK_LEASE_SECONDS * 1000;
  }

  /**
   * Sends everything that is due to one endpoint; resolves when it is recorded, or when other workers have leased it. Never
   * rejects: what fails here is due again when its lease expires.
   */
  deliver(merchantId: number, endpointId: number): Promise<void> {
    if (this.stopped) return Promise.resolve();
    const queue = this.queues.of(merchantId, endpointId);
    queue.merchant.pending.add(queue);
    this.claims.request(queue.merchant);
    return queue.idle;
  }

  /** Starts sending to several endpoints of a merchant. False: no request slot is free at the moment. */
  deliverAll(merchantId: number, endpointIds: Iterable<number>): boolean {
    if (this.stopped) return true;
    let merchant: MerchantQueue | undefined;
    for (const endpointId of endpointIds) {
      const queue = this.queues.of(merchantId, endpointId);
      merchant = queue.merchant;
      merchant.pending.add(queue);
    }
    if (!merchant) return true;
    const free = this.queues.free(merchant) > 0;
    this.claims.request(merchant);
    return free;
  }

  /** Starts nothing more; resolves when everything in progress is recorded. */
  async stop(): Promise<void> {
    this.stopped = true;
    const { all } = this.queues;
    for (const queue of all) {
      queue.merchant.pending.delete(queue);
      this.queues.closeIfIdle(queue);
    }
    await Promise.all(all.map(({ idle }) => idle));
  }

  /** Claims for all endpoints of a merchant that may have something due; returns the number of deliveries. */
  private async claim(merchant: MerchantQueue): Promise<number> {
    if (this.stopped) return 0;
    const slots = this.queues.allocate(merchant);
    if (slots.size === 0) return 0;
    for (const [queue, room] of slots) {
      merchant.pending.delete(queue);
      this.queues.take(queue, room);
    }
    let count = 0;
    const claims = await this.claimed(merchant, slots);
    for (const [queue, room] of slots) {
      const claim = claims.get(queue.endpointId);
      this.queues.take(queue, -room);
      count += claim?.due.length ?? 0;
      if (claim) this.begin(queue, claim);
      if (claim?.open === false) void this.miss(queue);
      this.queues.closeIfIdle(queue);
    }
    if ([...slots.keys()].some(queue => this.queues.isWorthClaiming(queue))) this.claims.request(merchant);
    this.resumeBlocked();
    return count;
  }

  private async claimed(
    { merchantId }: MerchantQueue,
    slots: ReadonlyMap<EndpointQueue, number>,
  ): Promise<ReadonlyMap<number, Claim>> {
    const nowMs = this.clock.wall();
    const wanted = [...slots].map(([queue, room]) => {
      if (nowMs - queue.startedAtMs >= limits.restartMs) queue.after = start;
      if (queue.after === start) queue.startedAtMs = nowMs;
      return { endpointId: queue.endpointId, room, after: queue.after };
    });
    try {
      const lease = { token: randomUUID(), untilMs: nowMs + this.leaseMs };
      return await claimDue(this.db, merchantId, wanted, nowMs, lease);
    } catch (error) {
      this.log.warn({ err: error, merchantId }, 'due deliveries could not be claimed');
      return new Map();
    }
  }

  /** Misses all that waits for a closed endpoint. It takes a request slot, and keeps no other endpoint waiting. */
  private async miss(queue: EndpointQueue): Promise<void> {
    if (queue.missing) return;
    const { merchant, endpointId } = queue;
    const { merchantId } = merchant;
    queue.missing = true;
    this.queues.take(queue, 1);
    const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
    try {
      for (let more = true; more && !this.stopped; ) {
        await this.db.apply(caller, async tx => {
          more = await missDue(tx, endpointId, this.clock.wall());
        });
      }
    } catch (error) {
      this.log.warn({ err: error, merchantId, endpointId }, 'deliveries to a closed endpoint could not be missed');
    }
    queue.missing = false;
    this.queues.take(queue, -1);
    this.resume(queue);
  }

  private begin(queue: EndpointQueue, claim: Claim): void {
    const { failing, room, due, last } = claim;
    queue.granted = due.length;
    this.queues.setFailing(queue, failing);
    for (const claimed of due) void this.send(queue, claim, claimed);
    // a full claim may have left more behind; only a claim from the start shows that nothing is left
    const full = due.length >= room && queue.leased > 0;
    const fromStart = queue.after === start;
    queue.after = full && last ? last : start;
    if ((full || !fromStart) && !this.stopped) queue.merchant.pending.add(queue);
  }

  private async send(queue: EndpointQueue, { url, sealed }: Claim, claimed: Claimed): Promise<void> {
    queue.leased++;
    this.queues.take(queue, 1);
    try {
      const startedMs = this.clock.wall();
      const { eventId, type, body, traceparent } = claimed.payload;
      const span = traceparent === '' ? undefined : startSpan(`deliver ${type}`, 'client', traceparent);
      const signature = signWithKeys(this.keys.of(sealed), eventId, Math.floor(startedMs / 1000), body);
      const result = await this.outbound.post(url, { ...commonHeaders, ...signature }, body);
      span?.set({ 'recur.outcome': verdictOf(result), 'recur.delivery': claimed.deliveryId });
      span?.end();
      queue.quick = verdictOf(result) === 'success' && result.durationMs < limits.quickMs;
      queue.merchant.ended.push({ queue, attempt: { ...claimed, url, startedMs, endedMs: this.clock.wall(), result } });
      this.records.request(queue.merchant);
    } catch (error) {
      queue.leased--;
      this.log.error({ err: error, endpointId: queue.endpointId }, 'a delivery could not be sent');
    }
    this.queues.take(queue, -1);
    this.resume(queue);
  }

  private resume(queue: EndpointQueue): void {
    if (this.queues.isWorthClaiming(queue)) this.claims.request(queue.merchant);
    this.queues.closeIfIdle(queue);
    this.resumeBlocked();
  }

  private resumeBlocked(): void {
    for (const merchant of this.queues.takeBlocked()) this.claims.request(merchant);
  }

  /** Records the attempts of a merchant that have finished since the previous time, in one transaction; returns their number. */
  private async record(merchant: MerchantQueue): Promise<number> {
    const batch = merchant.ended.splice(0, merchant.batch);
    if (batch.length === 0) return 0;
    crashPoint('after-post');
    const attempts = batch.map(({ attempt }) => attempt);
    const recorded = await this.recorded(merchant, attempts);
    merchant.batch = recorded ? limits.batch : 1;
    const later = new Set(recorded ? recorded.later : this.worthRetrying(attempts));
    const released = new Set(recorded?.released);
    for (const entry of batch) {
      if (later.has(entry.attempt)) {
        merchant.ended.push(entry);
        continue;
      }
      entry.queue.leased--;
      if (released.has(entry.queue.endpointId) && !this.stopped) merchant.pending.add(entry.queue);
    }
    if (released.size > 0) this.claims.request(merchant);
    for (const queue of new Set(batch.map(entry => entry.queue))) this.resume(queue);
    if (!recorded) await pause(limits.retryMs);
    if (merchant.ended.length > 0) this.records.request(merchant);
    return batch.length;
  }

  /** Attempts that were not recorded and whose leases are still valid. */
  private worthRetrying(attempts: readonly Attempt[]): Attempt[] {
    const nowMs = this.clock.wall();
    return this.stopped ? [] : attempts.filter(({ untilMs }) => untilMs > nowMs);
  }

  /** Undefined on failure: the attempts are then recorded one by one, so that none fails because of another. */
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
