import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Caller,
  CLOCK,
  type Clock,
  CONFIG,
  crashPoint,
  Db,
  Keyring,
  type Reader,
  type Row,
  systemCaller,
  type Tx,
} from '@recur/platform';
import { type Attempt, recordAll } from './attempts.js';
import type { Config } from './config.js';
import type { Delivery } from './domain/delivery.js';
import { living, missing, openSecrets } from './endpoints.js';
import { Outbound } from './outbound.js';
import { sign, usualHeaders } from './signature.js';
import { endpoints } from './tables.js';

/** Numbers in [0, 1), for the jitter of retries. */
export const RANDOM = Symbol('random');

/** A batch is two waves of the outbound client's 15 seconds each, which its lease (see config) outlasts. */
const limits = { leasedPerEndpoint: 16, inFlightPerEndpoint: 8, targetTrustedMs: 500 } as const;

/** Takes due deliveries of one endpoint, oldest first; all workers together are at no more than a fixed number. */
const claim = `update due set lease_token = $3, lease_until_ms = $4 where delivery_id in (
    select delivery_id from due where endpoint_id = $1 and due_at_ms <= $2
      and (lease_until_ms is null or lease_until_ms < $2)
    order by due_at_ms limit greatest(0, ${limits.leasedPerEndpoint} -
      (select count(*) from due where endpoint_id = $1 and lease_until_ms >= $2)) for update skip locked)
  returning delivery_id`;

/** What a claimed delivery needs to be sent. */
const load = `select d.delivery_id, d.event_id, d.state, d.attempts, d.next_at_ms, e.type, e.body
  from deliveries d join events e on e.merchant_id = d.merchant_id and e.event_id = d.event_id
  where d.merchant_id = $1 and d.delivery_id = any($2)`;

const missClaimed = missing('delivery_id = any($2) and lease_token = $3');

/** Where deliveries go, and what signs them. */
interface Target {
  url: string;
  secrets: readonly string[];
}

interface Due {
  delivery: Delivery;
  type: string;
  body: string;
}

/** Sends what is due and records what came of it. */
@Injectable()
export class Deliveries {
  private readonly leaseMs: number;

  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RANDOM) private readonly random: () => number,
    @Inject(CONFIG) config: Config,
  ) {
    this.leaseMs = config.WEBHOOK_LEASE_SECONDS * 1000;
  }

  /** Sends everything of one endpoint that is due now. */
  async deliver(merchantId: number, endpointId: number): Promise<void> {
    for (;;) {
      const token = randomUUID();
      const nowMs = this.clock.wall();
      const claimed = await this.db.infra(claim, [endpointId, nowMs, token, nowMs + this.leaseMs]);
      if (claimed.length === 0) return;
      const caller = systemCaller(merchantId, token, Number.POSITIVE_INFINITY);
      const ids = claimed.map(row => String(row.delivery_id));
      const [target, rows] = await this.db.read(caller, reader =>
        Promise.all([this.targetOf(reader, endpointId), reader.query(load, [merchantId, ids])]),
      );
      if (!target) {
        await this.db.apply(caller, tx => this.missAll(tx, endpointId, token, ids));
        continue;
      }
      const due = rows.map(row => dueOf(row, merchantId, endpointId));
      const attempts = await this.sendAll(caller, endpointId, target, due);
      crashPoint('after-post');
      await this.db.apply(caller, tx => recordAll(tx, endpointId, token, attempts, this.random));
    }
  }

  /** Undefined where the endpoint is disabled or deleted. */
  private async targetOf(reader: Reader, endpointId: number): Promise<Target | undefined> {
    const endpoint = await reader.find(endpoints, living(endpointId));
    if (endpoint?.state !== 'enabled') return undefined;
    return { url: endpoint.url, secrets: openSecrets(this.keyring, endpoint, reader.now) };
  }

  /** What was due to it while it was disabled can be replayed when it is enabled again. */
  private async missAll(tx: Tx, endpointId: number, token: string, ids: readonly string[]): Promise<void> {
    // whoever changes deliveries of an endpoint holds its row first
    await tx.lockIfAny(endpoints, { endpointId });
    await tx.run(missClaimed, [tx.merchantId, ids, token]);
  }

  /**
   * Sends a batch, a few at once. An endpoint that is slow may be changed or deleted meanwhile, so it is looked at
   * again; what is not sent for that reason is found when its lease is over.
   */
  private async sendAll(caller: Caller, endpointId: number, first: Target, due: readonly Due[]): Promise<Attempt[]> {
    const attempts: Attempt[] = [];
    const waiting = [...due];
    let target = Promise.resolve<Target | undefined>(first);
    let readMs = this.clock.wall();
    const hand = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        if (this.clock.wall() - readMs > limits.targetTrustedMs) {
          readMs = this.clock.wall();
          target = this.db.read(caller, reader => this.targetOf(reader, endpointId));
        }
        const to = await target;
        if (!to) return;
        attempts.push(await this.send(to, next));
      }
    };
    await Promise.all(Array.from({ length: limits.inFlightPerEndpoint }, hand));
    return attempts;
  }

  private async send({ url, secrets }: Target, { delivery, type, body }: Due): Promise<Attempt> {
    const startedMs = this.clock.wall();
    const signature = sign(secrets, delivery.eventId, Math.floor(startedMs / 1000), body);
    const headers = { ...usualHeaders, ...signature };
    const result = await this.outbound.post(url, headers, body);
    return { delivery, type, url, startedMs, endedMs: this.clock.wall(), result };
  }
}

function dueOf(row: Row, merchantId: number, endpointId: number): Due {
  return {
    type: String(row.type),
    body: String(row.body),
    delivery: {
      merchantId,
      endpointId,
      deliveryId: String(row.delivery_id),
      eventId: String(row.event_id),
      state: row.state as Delivery['state'],
      attempts: Number(row.attempts),
      nextAtMs: Number(row.next_at_ms),
    },
  };
}
