import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import type { Db } from '../store/db.js';
import { PeriodicTask } from './periodic-task.js';

const day = 86_400;
const limits = { everyMs: 60_000, rows: 1_000 } as const;

/** How many rows one statement removes. The planner is to know the number, so it stands in the statement. */
export const removedAtOnce = limits.rows;

/** How long something is kept, and how what is older is removed. */
export interface Removal {
  keptSeconds: number;
  /** Removes `removedAtOnce` rows, or all there are, from before the second $1, and returns one row for each. */
  remove: string;
}

/**
 * Rows that every service removes, in this order: an answer before the events that it names, and an event before the
 * inbox rows that recognise it when it is published again.
 */
const rules: readonly Removal[] = [
  {
    // answers that hold a secret
    keptSeconds: day,
    remove: `delete from idempotency where (merchant_id, key) in (select merchant_id, key from idempotency
      where form = 'sealed' and created_at < $1 order by created_at limit ${limits.rows}) returning 1`,
  },
  {
    keptSeconds: 30 * day,
    remove: `delete from idempotency where (merchant_id, key) in (select merchant_id, key from idempotency
      where created_at < $1 order by created_at limit ${limits.rows}) returning 1`,
  },
  {
    keptSeconds: 31 * day,
    remove: `delete from outbox where seq in (select seq from
      (select seq, created_at from outbox order by seq limit ${limits.rows}) oldest
      where created_at < $1 and seq < coalesce((select min(first) from unpublished), ${Number.MAX_SAFE_INTEGER})) returning 1`,
  },
  {
    keptSeconds: 32 * day,
    remove: `delete from inbox where (consumer, event_id) in (select consumer, event_id from inbox
      where received_at < $1 order by received_at limit ${limits.rows}) returning 1`,
  },
];

/** Removes what nobody needs any more: each minute all that is too old, in small statements. */
export class Janitor {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'old rows could not be removed'),
  );

  constructor(
    private readonly db: Db,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly own: readonly Removal[] = [],
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  async sweep(): Promise<void> {
    const now = Math.floor(this.clock.wall() / 1000);
    for (const { keptSeconds, remove } of [...rules, ...this.own]) {
      let removed: number;
      do removed = (await this.db.infra(remove, [now - keptSeconds])).length;
      while (removed === limits.rows && !this.rounds.stopped);
    }
  }
}
