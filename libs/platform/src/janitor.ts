import type { Clock } from './clock.js';
import type { Db } from './db.js';
import type { Log } from './log.js';

const day = 86_400;
const limits = { everyMs: 60_000, rows: 1_000 } as const;

/**
 * How long things are kept, in seconds, and how a bounded number of what is older is removed ($1: the second before
 * which it goes). The inbox outlives the outbox, so that events which are published again are still recognised.
 */
const rules = [
  {
    keptSeconds: 30 * day,
    remove: `delete from outbox where seq in (select seq from
      (select seq, created_at from outbox order by seq limit ${limits.rows}) oldest
      where created_at < $1 and not exists (select 1 from unpublished where unpublished.seq = oldest.seq))`,
  },
  {
    keptSeconds: 30 * day,
    remove: `delete from idempotency where (merchant_id, key) in (select merchant_id, key from idempotency
      where created_at < $1 order by created_at limit ${limits.rows})`,
  },
  {
    // answers that hold a secret
    keptSeconds: day,
    remove: `delete from idempotency where (merchant_id, key) in (select merchant_id, key from idempotency
      where form = 'sealed' and created_at < $1 order by created_at limit ${limits.rows})`,
  },
  {
    keptSeconds: 31 * day,
    remove: `delete from inbox where (consumer, event_id) in (select consumer, event_id from inbox
      where received_at < $1 order by received_at limit ${limits.rows})`,
  },
];

/** Removes what nobody needs any more, a little each minute. */
export class Janitor {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly db: Db,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      this.sweeping = this.sweep().catch(error => this.log.warn({ err: error }, 'old rows could not be removed'));
    }, limits.everyMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.sweeping;
  }

  async sweep(): Promise<void> {
    const now = Math.floor(this.clock.wall() / 1000);
    for (const { keptSeconds, remove } of rules) await this.db.infra(remove, [now - keptSeconds]);
  }
}
