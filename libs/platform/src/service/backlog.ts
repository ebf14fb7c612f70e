import type pg from 'pg';
import type { Consumer } from '../events/consumer.js';
import type { Log } from '../runtime/log.js';
import { eventsParked, eventsPending, poolConnections } from '../runtime/telemetry.js';
import type { Db } from '../store/db.js';
import { PeriodicTask } from '../work/periodic-task.js';

const limits = { everyMs: 10_000 } as const;

const parkedEventsText = 'select consumer, count(*) as parked from dead_letter group by consumer';

/** Measures what waits: events of each consumer, parked ones, and requests for a connection. Sets metrics, nothing else. */
export class Backlog {
  private readonly rounds: PeriodicTask;

  constructor(
    private readonly db: Pick<Db, 'infra'>,
    private readonly pool: pg.Pool,
    private readonly consumers: readonly Pick<Consumer, 'what' | 'pending'>[],
    log: Log,
  ) {
    const failed = (error: unknown) => log.debug({ err: error }, 'the backlog could not be measured');
    this.rounds = new PeriodicTask(limits.everyMs, () => this.measure(), failed);
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** Resolves when every gauge is set; rejects when a store was away, with the gauges of the others set. */
  async measure(): Promise<void> {
    const { totalCount, idleCount, waitingCount } = this.pool;
    poolConnections.set({ state: 'used' }, totalCount - idleCount);
    poolConnections.set({ state: 'waiting' }, waitingCount);
    const pending = this.consumers.map(async consumer => {
      eventsPending.set({ consumer: consumer.what.name }, await consumer.pending());
    });
    const done = await Promise.allSettled([this.countParked(), ...pending]);
    const failure = done.find(result => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  private async countParked(): Promise<void> {
    const rows = await this.db.infra(parkedEventsText);
    const parked = new Map(rows.map(row => [row.consumer, Number(row.parked)]));
    for (const { what } of this.consumers) eventsParked.set({ consumer: what.name }, parked.get(what.name) ?? 0);
  }
}
