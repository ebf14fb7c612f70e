import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, crashPoint, Db, Keyring, systemCaller, type Tx } from '@recur/platform';
import type { Config } from './config.js';
import { afterAttempt, type Delivery, verdictOf } from './domain/delivery.js';
import { afterVerdict, type Endpoint } from './domain/endpoint.js';
import { endpointView, openSecret } from './endpoints.js';
import { Outbound, type Result } from './outbound.js';
import { sign } from './signature.js';
import { type EndpointRow, endpoints } from './tables.js';

/** A batch is two waves of the outbound client's 15 seconds each, which its lease (see config) outlasts. */
const limits = { leasedPerEndpoint: 16, inFlightPerEndpoint: 8, answerKept: 2_000 } as const;

/** Takes due deliveries of one endpoint, oldest first; all workers together are at no more than a fixed number. */
const claim = `update due set lease_token = $3, lease_until_ms = $4 where delivery_id in (
    select delivery_id from due where endpoint_id = $1 and due_at_ms <= $2
      and (lease_until_ms is null or lease_until_ms < $2)
    order by due_at_ms limit greatest(0, ${limits.leasedPerEndpoint} -
      (select count(*) from due where endpoint_id = $1 and lease_until_ms >= $2)) for update skip locked)
  returning delivery_id`;

/** What a claimed delivery needs to be sent. */
const load = `select d.delivery_id, d.event_id, d.state, d.attempts, d.next_at_ms, e.body
  from deliveries d join events e on e.merchant_id = d.merchant_id and e.event_id = d.event_id
  where d.merchant_id = $1 and d.delivery_id = any($2)`;

/** Of these, what is still leased to us: a worker that was too slow records nothing. */
const fence = 'select delivery_id from due where delivery_id = any($1) and lease_token = $2 for update';

const record = `update deliveries d set state = r.state, attempts = r.attempts, next_at_ms = r.next_at_ms,
    last_outcome = r.last_outcome, last_answer = r.last_answer
  from json_to_recordset($2::json) r(delivery_id text, state text, attempts integer, next_at_ms bigint,
    last_outcome text, last_answer text)
  where d.merchant_id = $1 and d.delivery_id = r.delivery_id`;
const reschedule = `update due set due_at_ms = r.next_at_ms, lease_token = null, lease_until_ms = null
  from json_to_recordset($1::json) r(delivery_id text, next_at_ms bigint) where due.delivery_id = r.delivery_id`;
const pass = `update deliveries set state = 'missed', next_at_ms = null where merchant_id = $1 and delivery_id = any($2)`;
const settle = 'delete from due where delivery_id = any($1)';

interface Attempt {
  delivery: Delivery;
  result: Result;
  endedMs: number;
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
      const [endpoint, rows] = await this.db.read(caller, reader =>
        Promise.all([reader.find(endpoints, { endpointId }), reader.query(load, [merchantId, ids])]),
      );
      if (endpoint?.state !== 'enabled') {
        await this.db.apply(caller, tx => this.missAll(tx, ids));
        continue;
      }
      const attempts = await this.sendAll(
        endpoint,
        rows.map(row => ({
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
        })),
      );
      crashPoint('after-post');
      await this.db.apply(caller, tx => this.recordAll(tx, endpointId, token, attempts));
    }
  }

  private async sendAll(
    endpoint: EndpointRow,
    due: readonly { delivery: Delivery; body: string }[],
  ): Promise<Attempt[]> {
    const secret = openSecret(this.keyring, endpoint);
    const attempts: Attempt[] = [];
    const waiting = [...due];
    const hand = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { delivery, body } = next;
        const signature = sign([secret], delivery.eventId, Math.floor(this.clock.wall() / 1000), body);
        const headers = { 'content-type': 'application/json', 'user-agent': 'recur-webhooks/1', ...signature };
        const result = await this.outbound.post(endpoint.url, headers, body);
        attempts.push({ delivery, result, endedMs: this.clock.wall() });
      }
    };
    await Promise.all(Array.from({ length: limits.inFlightPerEndpoint }, hand));
    return attempts;
  }

  /** A disabled endpoint is not called: what was due to it can be replayed when it is enabled again. */
  private async missAll(tx: Tx, ids: readonly string[]): Promise<void> {
    await Promise.all([tx.run(pass, [tx.merchantId, ids]), tx.run(settle, [ids])]);
  }

  /** Records a batch of attempts: deliveries, schedule, and how the endpoint is doing. */
  private async recordAll(tx: Tx, endpointId: number, token: string, attempts: readonly Attempt[]): Promise<void> {
    const before = await tx.lockIfAny(endpoints, { endpointId });
    const ids = attempts.map(({ delivery }) => delivery.deliveryId);
    const ours = new Set((await tx.run(fence, [ids, token])).map(row => row.delivery_id));
    const results = attempts
      .filter(({ delivery }) => ours.has(delivery.deliveryId))
      .map(attempt => ({
        ...attempt,
        after: afterAttempt(attempt.delivery, attempt.result, attempt.endedMs, Math.random()),
      }));
    const rows = results.map(({ after, result }) => ({
      delivery_id: after.deliveryId,
      state: after.state,
      attempts: after.attempts,
      next_at_ms: after.nextAtMs,
      last_outcome: result.kind === 'answered' ? String(result.status) : `${result.reason}: ${result.detail}`,
      last_answer: result.kind === 'answered' ? result.body.slice(0, limits.answerKept) : '',
    }));
    const [again, done] = [rows.filter(row => row.next_at_ms !== null), rows.filter(row => row.next_at_ms === null)];
    await Promise.all([
      tx.run(record, [tx.merchantId, JSON.stringify(rows)]),
      tx.run(reschedule, [JSON.stringify(again)]),
      tx.run(settle, [done.map(row => row.delivery_id)]),
    ]);
    if (before) this.judge(tx, before, results);
  }

  /** The endpoint after these attempts; its merchant is told when it is failing, or disabled. */
  private judge(tx: Tx, before: EndpointRow, attempts: readonly Attempt[]): void {
    let endpoint = before as Endpoint;
    let notice: 'failing' | 'disabled' | undefined;
    for (const { result, endedMs } of attempts) {
      const judged = afterVerdict(endpoint, verdictOf(result), endedMs);
      endpoint = judged.endpoint;
      notice = judged.notice ?? notice;
    }
    if (JSON.stringify(endpoint) === JSON.stringify(before)) return;
    const after = { ...before, ...endpoint, modifyTime: notice ? tx.now : before.modifyTime } as EndpointRow;
    tx.save(endpoints, after);
    if (!notice) return;
    tx.emit(`webhook.endpoint.${notice}`, after, endpointView(after));
    tx.log(`WebhookEndpoint(${after.endpointId})`, notice === 'failing' ? 'Failing' : 'Disable');
  }
}
