import { Inject, Injectable } from '@nestjs/common';
import { Bus, LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import { Callers } from './callers.js';

const limits = { beatMs: 1_000 } as const;

/** Says once a second how far `callers.changed` has come, so that a gateway knows when it has missed something. */
@Injectable()
export class Heartbeat implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.beatMs,
    () => this.beat(),
    error => this.log.warn({ err: error }, 'no heartbeat: how far callers have come cannot be read'),
  );

  constructor(
    private readonly callers: Callers,
    private readonly bus: Bus,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** While the database is away there is no beat: gateways are to notice. */
  private async beat(): Promise<void> {
    this.bus.signal('beat.identity.callers', JSON.stringify({ version: await this.callers.version() }));
  }
}
