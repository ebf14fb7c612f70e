import { Injectable } from '@nestjs/common';
import { type Caller, Db } from '@recur/platform';
import { eventTimes } from '../domain/placing.js';

/**
 * The monthly partitions of events. Each replica asks once for a day; the database then makes its month and the
 * one after it, so that the next one is there before it begins.
 */
@Injectable()
export class Partitions {
  /** Days since 1970 for which it has asked. */
  private readonly known = new Set<number>();

  constructor(private readonly db: Db) {}

  /** Makes sure that these events have a partition; those at a time that is refused need none. */
  async ensureFor(caller: Caller, events: readonly { eventTime: number }[]): Promise<void> {
    const now = await this.db.read(caller, async reader => ({ now: reader.now }));
    const times = new Set(events.map(({ eventTime }) => (eventTime === 0 ? now.now : eventTime)));
    for (const time of times) {
      const isTaken = time >= now.now - eventTimes.lateSeconds && time <= now.now + eventTimes.aheadSeconds;
      if (isTaken) await this.ensure(time);
    }
  }

  private async ensure(second: number): Promise<void> {
    const day = Math.floor(second / 86_400);
    if (this.known.has(day)) return;
    await this.db.infra('select usage_events_ensure($1)', [second]);
    this.known.add(day);
  }
}
