import { Inject, Injectable } from '@nestjs/common';
import { Bus, LOG, type Log, type Worker } from '@recur/platform';
import { Callers } from './callers.js';

const limits = { beatMs: 1_000 } as const;

/** Says once a second how far `callers.changed` has come, so that a gateway knows when it has missed something. */
@Injectable()
export class Heartbeat implements Worker {
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;

  constructor(
    private readonly callers: Callers,
    private readonly bus: Bus,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.next();
    this.timer = setInterval(() => this.next(), limits.beatMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  /** A beat that takes long is waited for, not overtaken. */
  private next(): void {
    this.beating ??= this.beat().finally(() => {
      this.beating = undefined;
    });
  }

  /** While the database is away there is no beat: gateways are to notice. */
  private async beat(): Promise<void> {
    try {
      this.bus.signal('beat.identity.callers', JSON.stringify({ version: await this.callers.version() }));
    } catch (error) {
      this.log.warn({ err: error }, 'no heartbeat: how far callers have come cannot be read');
    }
  }
}
