import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import type { Config } from './config.js';

const limits = { everyMs: 3_600_000 } as const;

/**
 * Makes the partitions of the next weeks, and drops those of weeks of which nothing is kept any more. One of which a
 * delivery is still scheduled stays, with its events.
 */
@Injectable()
export class Retention implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.keep(),
    error => this.log.warn({ err: error }, 'partitions could not be kept'),
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

  /** Does what is due now, and answers what that was: `made <week>`, `dropped <week>`. */
  async keep(): Promise<string[]> {
    const rows = await this.db.infra('select keep_partitions($1, $2) as done', [
      this.clock.wall(),
      this.config.WEBHOOK_KEPT_DAYS,
    ]);
    return rows.map(({ done }) => String(done));
  }
}
