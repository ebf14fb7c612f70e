import type { Db } from '../store/db.js';
import type { Event } from '../store/event.js';
import { plainArrays } from '../store/paths/paths.js';
import type { Row } from '../store/pool.js';
import { gateValues, raiseGates } from '../store/sql/dedupe.js';
import { upTo } from '../store/sql/size-limits.js';

const limits = { page: 500, pageBytes: 16_777_216, cleared: 1_000 } as const;

/**
 * The statements are run by `db.queryIndexOnly`: the table is empty most of the time, and long when a consumer has failed for a
 * while, so their plans must depend on no statistics.
 */

/** Parked events of consumer $1 after the version $2 and event $3. */
export const pageText = upTo(
  limits.pageBytes,
  `select envelope, version, event_id from dead_letter where consumer = $1 and (version, event_id) > ($2, $3)
     order by version, event_id limit ${limits.page}`,
  'octet_length(envelope)',
  'order by version, event_id',
);

/** Selects a row if consumer $1 has parked an event of an aggregate ($2 to $4) with a version below $5. */
export const earlierText = `select 1 from dead_letter where consumer = $1 and merchant_id = $2 and aggregate = $3
  and aggregate_id = $4 and version < $5 order by version limit 1`;

/** Removes up to `limits.cleared` events of consumer $1 that have an inbox row, looked up one by one. */
export const clearText = `delete from dead_letter where ctid = any(array(select d.at from
    (select ctid as at, event_id from dead_letter where consumer = $1 order by version, event_id) d cross join lateral
    (select from inbox where consumer = $1 and event_id = d.event_id offset 0) applied
    limit ${limits.cleared}))
  returning 1`;

/** A consumer's parked events, and the gates that it opens past events which no longer exist. */
export class DeadLetters {
  constructor(
    private readonly db: Db,
    private readonly consumer: string,
  ) {}

  /** Parks an event; later events of its aggregate are parked too until it has been applied. */
  async park(event: Event, reason: string, now: number): Promise<void> {
    const { id, merchantId, aggregate, aggregateId, version } = event;
    await this.db.infra(
      `insert into dead_letter (consumer, event_id, merchant_id, aggregate, aggregate_id, version, envelope, reason, parked_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`,
      [this.consumer, id, merchantId, aggregate, aggregateId, version, JSON.stringify(event), reason, now],
    );
  }

  /** True if an earlier event of the same aggregate is parked. */
  async holdUp({ merchantId, aggregate, aggregateId, version }: Event): Promise<boolean> {
    const rows = await this.db.queryIndexOnly(earlierText, [
      this.consumer,
      merchantId,
      aggregate,
      aggregateId,
      version,
    ]);
    return rows.length > 0;
  }

  /** All parked events, each aggregate's in order. */
  async *all(): AsyncGenerator<Event> {
    for (let last: Row | undefined = { version: 0, event_id: '' }; last; ) {
      const rows = await this.db.queryIndexOnly(pageText, [this.consumer, last.version, last.event_id]);
      for (const { envelope } of rows) yield JSON.parse(String(envelope)) as Event;
      last = rows.at(-1);
    }
  }

  /** Removes parked events that have been applied since; returns their number. */
  async clear(): Promise<number> {
    for (let total = 0; ; ) {
      const { length } = await this.db.queryIndexOnly(clearText, [this.consumer]);
      total += length;
      if (length < limits.cleared) return total;
    }
  }

  /** Moves the gate to just before `event`, past events that were never seen: their owner no longer keeps them. */
  async openGate({ merchantId, aggregate, aggregateId, version }: Event): Promise<void> {
    const gate = { aggregate, aggregateId, version: version - 1 };
    await this.db.infra(raiseGates, gateValues(this.consumer, merchantId, [gate], plainArrays));
  }
}
