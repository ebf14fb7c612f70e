import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, LOG, type Log, Outbound, PeriodicTask, type Worker } from '@recur/platform';
import { Queue, Worker as QueueWorker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Config } from '../../config.js';
import { CatchUp } from '../catch-up.js';
import { Dispatcher } from './dispatcher.js';

interface Wake {
  merchantId: number;
  endpointId: number;
}

const limits = { concurrency: 32, sweepMs: 1_000, sweepEndpoints: 500 } as const;
const QUEUE = 'deliveries';
const PREFIX = '{recur}';

/** Endpoints after the second $2 that have something due: the index is read endpoint by endpoint, not row by row. */
const waiting = `with recursive lanes as (
    (select merchant_id, endpoint_id from due where not held and endpoint_id > $2 order by endpoint_id limit 1)
    union all
    select next.merchant_id, next.endpoint_id from lanes cross join lateral (
      select merchant_id, endpoint_id from due where not held and endpoint_id > lanes.endpoint_id
      order by endpoint_id limit 1) next)
  select merchant_id, endpoint_id from lanes where exists (
    select 1 from due where endpoint_id = lanes.endpoint_id and not held and due_at_ms <= $1
      and (lease_until_ms is null or lease_until_ms < $1))
  limit ${limits.sweepEndpoints}`;

/**
 * Gets due deliveries going. A job on BullMQ only says that an endpoint has something due: what, and whose turn it is,
 * stands in PostgreSQL. So a lost Redis loses nothing, and none is needed: the sweeper, which also brings retries and
 * expired leases back, finds everything that is due.
 */
@Injectable()
export class DeliveryWaker implements Worker {
  private readonly connections: Redis[] = [];
  private readonly waking = new Map<number, Wake>();
  private wire: Redis | undefined;
  private queue: Queue<Wake> | undefined;
  private worker: QueueWorker<Wake> | undefined;
  private readonly rounds = new PeriodicTask(
    limits.sweepMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'the sweep for due deliveries failed'),
  );

  constructor(
    private readonly db: Db,
    private readonly dispatcher: Dispatcher,
    private readonly catchUp: CatchUp,
    private readonly outbound: Outbound,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.rounds.start();
    if (this.config.REDIS_URL !== '') this.listen();
  }

  async stop(): Promise<void> {
    // by force: else BullMQ waits for the end of a connection that is lost already; a bell that was not heard is no loss
    await Promise.allSettled([this.rounds.stop(), this.worker?.close(true), this.dispatcher.stop()]);
    await this.queue?.close().catch(() => undefined);
    await this.outbound.close();
    for (const connection of this.connections) connection.disconnect();
  }

  /** An endpoint has something due. Never fails: what is not heard now is found by the next sweep. */
  wake(merchantId: number, endpointIds: Iterable<number>): void {
    if (!this.rounds.running) return;
    if (this.waking.size === 0) setImmediate(() => void this.sendAll());
    for (const endpointId of endpointIds) this.waking.set(endpointId, { merchantId, endpointId });
  }

  /** What was rung for in one turn of the event loop goes together; where it cannot be sent, it is heard here. */
  private async sendAll(): Promise<void> {
    const wakes = [...this.waking.values()];
    this.waking.clear();
    // a queue that has never been connected would wait until it is
    const queue = this.wire?.status === 'ready' ? this.queue : undefined;
    const sent = await queue?.addBulk(wakes.map(data => ({ name: 'due', data }))).catch(() => undefined);
    if (sent) return;
    for (const wake of wakes) this.onWake(wake);
  }

  /** Whoever hears it sets to work, and hears the next: a slow endpoint holds up no bell. */
  private onWake({ merchantId, endpointId }: Wake): void {
    void this.dispatcher.deliver(merchantId, endpointId);
  }

  private listen(): void {
    // a bell that cannot be rung now is not worth waiting for
    const connection = this.connect({ maxRetriesPerRequest: 1, enableOfflineQueue: false });
    let away = false;
    connection.on('error', error => {
      if (!away) this.log.warn({ err: error }, 'Redis is away; sweeps find what is due');
      away = true;
    });
    connection.on('ready', () => {
      away = false;
    });
    this.wire = connection;
    this.queue = new Queue(QUEUE, {
      connection,
      prefix: PREFIX,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.worker = new QueueWorker<Wake>(QUEUE, async job => this.onWake(job.data), {
      connection: this.connect({ maxRetriesPerRequest: null }),
      prefix: PREFIX,
      concurrency: limits.concurrency,
    });
    const complain = (error: Error) => this.log.debug({ err: error }, 'redis');
    this.queue.on('error', complain);
    this.worker.on('error', complain);
  }

  private async sweep(): Promise<void> {
    await this.catchUp.round();
    let last = 0;
    for (let found = limits.sweepEndpoints as number; found === limits.sweepEndpoints && !this.rounds.stopped; ) {
      const rows = await this.db.infra(waiting, [this.clock.wall(), last]);
      for (const row of rows) this.onWake({ merchantId: Number(row.merchant_id), endpointId: Number(row.endpoint_id) });
      last = Number(rows.at(-1)?.endpoint_id);
      found = rows.length;
    }
  }

  private connect(options: object): Redis {
    const connection = new Redis(this.config.REDIS_URL, {
      ...options,
      // while there is a next try, what closes a queue waits for Redis
      retryStrategy: times => (this.rounds.running ? Math.min(100 * 2 ** times, 2_000) : null),
    });
    connection.on('error', () => undefined);
    this.connections.push(connection);
    return connection;
  }
}
