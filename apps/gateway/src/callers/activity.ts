import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { reportActivity } from '@recur/contracts';
import { ask, Bus, CLOCK, type Clock, LOG, type Log, patient, systemCaller } from '@recur/platform';

const limits = { everyMs: 60_000, askMs: patient(3_000), sessionsAtOnce: 5_000 } as const;

/** Records when sessions were last used here, and reports it to identity once a minute; identity ends idle ones. */
@Injectable()
export class Activity implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Unix seconds of the last use since the last report. */
  private used = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Records a request of this session. */
  seen(sid: string): void {
    this.used.set(sid, Math.floor(this.clock.wall() / 1000));
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.report(), limits.everyMs).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.report();
  }

  /** Reports to identity; sessions that it did not take are reported again next time. */
  async report(): Promise<void> {
    const due = [...this.used].map(([sid, at]) => ({ sid, at }));
    this.used = new Map();
    for (let from = 0; from < due.length; from += limits.sessionsAtOnce) {
      const sessions = due.slice(from, from + limits.sessionsAtOnce);
      const caller = systemCaller(0, 'activity', this.clock.wall() + limits.askMs);
      try {
        await ask(this.bus, reportActivity, { sessions }, caller);
      } catch (error) {
        this.log.debug({ err: error }, 'activity is told later');
        for (const { sid, at } of due.slice(from)) this.used.set(sid, Math.max(at, this.used.get(sid) ?? 0));
        return;
      }
    }
  }
}
