import { Inject, Injectable } from '@nestjs/common';
import { Bus, LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import { CallerSnapshots } from './snapshots.js';

const everyMs = 1_000;

/** Signals the version of `callers.changed` once a second, so that a gateway notices an event that it missed. */
@Injectable()
export class Heartbeat implements Worker {
  private readonly task = new PeriodicTask(
    everyMs,
    () => this.beat(),
    error => this.log.warn({ err: error }, 'no heartbeat: could not read the version of callers'),
  );

  constructor(
    private readonly snapshots: CallerSnapshots,
    private readonly bus: Bus,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Fails while the database is away, deliberately: gateways are to notice the silence. */
  private async beat(): Promise<void> {
    this.bus.signal('beat.identity.callers', JSON.stringify({ version: await this.snapshots.version() }));
  }
}
