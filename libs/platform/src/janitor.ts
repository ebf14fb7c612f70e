import type { Clock } from './clock.js';
import type { Db } from './db.js';
import type { Log } from './log.js';

const day = 86_400;
const limits = { everyMs: 60_000, rows: 1_000 } as const;

/**
 * How long things are kept, in seconds, and how a bounded number of what is older is removed ($1: the second before
 * which it goes). An answer goes before the events that it names, and an event before the inbox rows that recognise it
 * when it is published again.
 */
const rules = [
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
      where created_at < $1 and not exists (select 1 from unpublished where unpublished.seq = oldest.seq)) returning 1`,
  },
  {
    keptSeconds: 32 * day,
    remove: `delete from inbox where (consumer, event_id) in (select consumer, event_id from inbox
      where received_at < $1 order by received_at limit ${limits.rows}) returning 1`,
  },
];

/** Removes what nobody needs any more: each minute all that is too old, in small statements. */
export class Janitor {
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly db: Db,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      this.sweeping = this.sweeping
        .then(() => this.sweep())
        .catch(error => this.log.warn({ err: error }, 'old rows could not be removed'));
    }, limits.everyMs);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.sweeping;
  }

  async sweep(): Promise<void> {
    const now = Math.floor(this.clock.wall() / 1000);
    for (const { keptSeconds, remove } of rules) {
      let removed: number;
      do removed = (await this.db.infra(remove, [now - keptSeconds])).length;
      while (removed === limits.rows && !this.stopped);
    }
  }
}
