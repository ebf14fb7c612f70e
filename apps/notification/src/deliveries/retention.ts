import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import type { Config } from '../config.js';

const everyMs = 3_600_000;

/**
 * Creates the weekly partitions ahead of time and drops those past the retention period. A week in which a delivery is
 * still scheduled is kept.
 */
@Injectable()
export class Retention implements Worker {
  private readonly rounds = new PeriodicTask(
    everyMs,
    () => this.keep(),
    error => this.log.warn({ err: error }, 'partitions could not be created or dropped'),
  );

  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** Runs once; returns what was done as `made <week>` and `dropped <week>`. */
  async keep(): Promise<string[]> {
    const rows = await this.db.infra('select keep_partitions($1, $2) as done', [
      this.clock.wall(),
      this.config.WEBHOOK_KEPT_DAYS,
    ]);
    return rows.map(({ done }) => String(done));
  }
}
