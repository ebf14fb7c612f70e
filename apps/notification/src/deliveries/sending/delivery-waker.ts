import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  CONFIG,
  Db,
  LOG,
  type Log,
  Outbound,
  PeriodicTask,
  type Worker,
  workOldest,
} from '@recur/platform';
import { Queue, Worker as QueueWorker } from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import type { Config } from '../../config.js';
import { Dispatcher } from './dispatcher.js';
import { connectRedis } from './redis.js';

/** Endpoints of a merchant that have something due. */
interface WakeRequest {
  merchantId: number;
  endpointIds: readonly number[];
}

const limits = { concurrency: 32, sweepMs: 1_000, sweepEndpoints: 500 } as const;
const QUEUE = 'wakes';
const PREFIX = '{recur}';

const dueEndpoints = 'select merchant_id, endpoint_id from due_endpoints($1, $2, $3)';
/** When the first delivery of these endpoints was due. */
const firstDue = `select min(first.due_at_ms) as due_at_ms from unnest($1::bigint[]) wanted(endpoint_id)
  cross join lateral (select due_at_ms from due where endpoint_id = wanted.endpoint_id and not held
    order by due_at_ms, delivery_id limit 1) first`;

/**
 * Starts deliveries. The replica that took in an event delivers it at once. When it has no request slot free, it also
 * sends a BullMQ job, so that a replica with free slots helps. The work itself is in PostgreSQL: a job only names
 * endpoints. The sweep finds everything that is due, including retries and expired leases, so Redis may lose its data or
 * be absent.
 */
@Injectable()
export class DeliveryWaker implements Worker {
  private readonly connections: Redis[] = [];
  private connection: Redis | undefined;
  private queue: Queue<WakeRequest> | undefined;
  private worker: QueueWorker<WakeRequest> | undefined;
  private readonly sweeps = new PeriodicTask(
    limits.sweepMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'the sweep for due deliveries failed'),
  );

  constructor(
    private readonly db: Db,
    private readonly dispatcher: Dispatcher,
    private readonly outbound: Outbound,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.sweeps.start();
    if (this.config.REDIS_URL !== '') this.listen();
  }

  async stop(): Promise<void> {
    // forced: otherwise BullMQ waits for the end of a connection that is lost already; a lost job does no harm
    await Promise.allSettled([this.sweeps.stop(), this.worker?.close(true), this.dispatcher.stop()]);
    await this.queue?.close().catch(() => undefined);
    await this.outbound.close();
    for (const connection of this.connections) connection.disconnect();
  }

  /** Endpoints of a merchant have something due. Never fails: a wake that is lost is made up for by the next sweep. */
  wake(merchantId: number, endpointIds: Iterable<number>): void {
    if (!this.sweeps.running) return;
    const wake = { merchantId, endpointIds: [...endpointIds] };
    if (!this.onWake(wake)) this.share(wake);
  }

  /** False: this replica has no request slot free for the merchant. */
  private onWake({ merchantId, endpointIds }: WakeRequest): boolean {
    return this.dispatcher.deliverAll(merchantId, endpointIds);
  }

  private share(wake: WakeRequest): void {
    // a queue that was never connected would wait for its connection
    if (this.connection?.status !== 'ready') return;
    void this.queue?.add('due', wake).catch(() => undefined);
  }

  private listen(): void {
    // sharing a wake is not worth waiting for
    const connection = this.connect({ maxRetriesPerRequest: 1, enableOfflineQueue: false });
    let away = false;
    connection.on('error', error => {
      if (!away) this.log.warn({ err: error }, 'Redis is away; sweeps find what is due');
      away = true;
    });
    connection.on('ready', () => {
      away = false;
    });
    this.connection = connection;
    this.queue = new Queue(QUEUE, {
      connection,
      prefix: PREFIX,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.worker = new QueueWorker<WakeRequest>(QUEUE, async job => void this.onWake(job.data), {
      connection: this.connect({ maxRetriesPerRequest: null }),
      prefix: PREFIX,
      concurrency: limits.concurrency,
    });
    const logError = (error: Error) => this.log.debug({ err: error }, 'redis');
    this.queue.on('error', logError);
    this.worker.on('error', logError);
  }

  private async sweep(): Promise<void> {
    let last = 0;
    for (let found = limits.sweepEndpoints as number; found === limits.sweepEndpoints && !this.sweeps.stopped; ) {
      const rows = await this.db.infra(dueEndpoints, [this.clock.wall(), last, limits.sweepEndpoints]);
      const byMerchant = new Map<number, number[]>();
      for (const row of rows) {
        const merchantId = Number(row.merchant_id);
        byMerchant.set(merchantId, [...(byMerchant.get(merchantId) ?? []), Number(row.endpoint_id)]);
      }
      for (const [merchantId, endpointIds] of byMerchant) this.onWake({ merchantId, endpointIds });
      if (last === 0) await this.measure(rows.map(row => Number(row.endpoint_id)));
      last = Number(rows.at(-1)?.endpoint_id);
      found = rows.length;
    }
  }

  /** Sets the age of the oldest due delivery of these endpoints. Seen before they are claimed again, so 0 is rare under load. */
  private async measure(endpointIds: readonly number[]): Promise<void> {
    const [first] = endpointIds.length === 0 ? [] : await this.db.infra(firstDue, [endpointIds]);
    const waitedMs = first?.due_at_ms == null ? 0 : this.clock.wall() - Number(first.due_at_ms);
    workOldest.set({ kind: 'webhook.delivery' }, Math.max(0, waitedMs / 1_000));
  }

  private connect(options: RedisOptions): Redis {
    // while retries go on, closing a queue waits for Redis
    const retry = (times: number) => (this.sweeps.running ? Math.min(100 * 2 ** times, 2_000) : null);
    const all = { ...options, retryStrategy: retry, sentinelRetryStrategy: retry };
    const connection = connectRedis(this.config.REDIS_URL, all);
    connection.on('error', () => undefined);
    this.connections.push(connection);
    return connection;
  }
}
