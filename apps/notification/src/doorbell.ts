import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, LOG, type Log, Outbound, type Worker } from '@recur/platform';
import { Queue, Worker as QueueWorker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Config } from './config.js';
import { Deliveries } from './deliveries.js';

interface Bell {
  merchantId: number;
  endpointId: number;
}

const limits = { endpointsAtOnce: 32, sweepMs: 1_000, sweepEndpoints: 500 } as const;
const QUEUE = 'deliveries';
const PREFIX = '{recur}';

const waiting = `select distinct merchant_id, endpoint_id from due
  where due_at_ms <= $1 and (lease_until_ms is null or lease_until_ms < $1) limit ${limits.sweepEndpoints}`;

/**
 * Gets due deliveries going. A job on BullMQ only says that an endpoint has something due: what, and whose turn it is,
 * stands in PostgreSQL. So a lost Redis loses nothing: the sweeper, which also brings retries and expired leases back,
 * finds everything that is due, and delivers itself where it cannot ring.
 */
@Injectable()
export class Doorbell implements Worker {
  private readonly connections: Redis[] = [];
  private readonly underway = new Set<Promise<void>>();
  private queue: Queue<Bell> | undefined;
  private worker: QueueWorker<Bell> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly db: Db,
    private readonly deliveries: Deliveries,
    private readonly outbound: Outbound,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.queue = new Queue(QUEUE, {
      // a bell that cannot be rung now is not worth waiting for
      connection: this.connect({ maxRetriesPerRequest: 1, enableOfflineQueue: false }),
      prefix: PREFIX,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.worker = new QueueWorker<Bell>(QUEUE, job => this.deliver(job.data), {
      connection: this.connect({ maxRetriesPerRequest: null }),
      prefix: PREFIX,
      concurrency: limits.endpointsAtOnce,
    });
    const complain = (error: Error) => this.log.debug({ err: error }, 'redis');
    this.queue.on('error', complain);
    this.worker.on('error', complain);
    this.sweep();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await Promise.allSettled([this.worker?.close(), ...this.underway]);
    await this.queue?.close().catch(() => undefined);
    await this.outbound.close();
    for (const connection of this.connections) connection.disconnect();
  }

  /** An endpoint has something due. Never fails: what is not heard now is found by the next sweep. */
  ring(merchantId: number, endpointId: number): void {
    this.queue?.add('due', { merchantId, endpointId }).catch(() => this.deliverHere({ merchantId, endpointId }));
  }

  private sweep(): void {
    const next = () => {
      if (!this.stopped) this.timer = setTimeout(() => this.sweep(), limits.sweepMs);
    };
    this.db
      .infra(waiting, [this.clock.wall()])
      .then(rows => {
        for (const row of rows) this.ring(Number(row.merchant_id), Number(row.endpoint_id));
      })
      .catch(error => this.log.warn({ err: error }, 'the sweep for due deliveries failed'))
      .finally(next);
  }

  private deliverHere(bell: Bell): void {
    if (this.stopped || this.underway.size >= limits.endpointsAtOnce) return;
    const work: Promise<void> = this.deliver(bell).finally(() => this.underway.delete(work));
    this.underway.add(work);
  }

  /** What fails here is due again when its lease expires. */
  private async deliver({ merchantId, endpointId }: Bell): Promise<void> {
    try {
      await this.deliveries.deliver(merchantId, endpointId);
    } catch (error) {
      this.log.error({ err: error, merchantId, endpointId }, 'deliveries could not be made');
    }
  }

  private connect(options: object): Redis {
    const connection = new Redis(this.config.REDIS_URL, {
      ...options,
      retryStrategy: times => Math.min(100 * 2 ** times, 2_000),
    });
    connection.on('error', () => undefined);
    this.connections.push(connection);
    return connection;
  }
}
