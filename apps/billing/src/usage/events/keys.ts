import { Injectable } from '@nestjs/common';
import { DAY_SECONDS } from '@recur/kernel';
import { type Caller, Db, hydrate, type Reader, type Tx } from '@recur/platform';
import { eventTimes } from '../domain/counter.js';
import { type EventKey, eventKeys, type UsageEvent, uniques, usageEvents } from '../tables.js';

const listed = (of: { columns: readonly { column: string }[] }) =>
  of.columns.map(({ column }) => `found.${column}`).join(', ');

const knownText = `select ${listed(eventKeys)}
  from unnest($2::bigint[], $3::bigint[], $4::text[]) r(user_id, metric_id, external_event_id)
  cross join lateral (select * from usage_event_keys k where k.merchant_id = $1 and k.user_id = r.user_id
    and k.metric_id = r.metric_id and k.external_event_id = r.external_event_id offset 0) found`;

const storedText = `select ${listed(usageEvents)} from unnest($2::bigint[], $3::bigint[]) r(id, event_time)
  cross join lateral (select * from usage_events e where e.merchant_id = $1 and e.id = r.id
    and e.event_time = r.event_time offset 0) found`;

const uniquesText = `select ${listed(uniques)}
  from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[]) r(subscription_id, metric_id, start_at, unique_id)
  join usage_uniques found on found.merchant_id = $1 and found.subscription_id = r.subscription_id
    and found.metric_id = r.metric_id and found.start_at = r.start_at and found.unique_id = r.unique_id`;

/** Identifies an event to its merchant. */
export interface EventName {
  userId: number;
  metricId: number;
  externalEventId: string;
}

export const nameKey = ({ userId, metricId, externalEventId }: EventName) => `${userId} ${metricId} ${externalEventId}`;

/** The names that are taken, by `nameKey`. */
export async function knownKeys(tx: Tx, names: readonly EventName[]): Promise<Map<string, EventKey>> {
  const rows = await tx.query(knownText, [
    tx.merchantId,
    names.map(({ userId }) => userId),
    names.map(({ metricId }) => metricId),
    names.map(({ externalEventId }) => externalEventId),
  ]);
  return new Map(rows.map(row => hydrate(eventKeys, row)).map(key => [nameKey(key), key]));
}

/** The events of these keys, by id. */
export async function storedEvents(tx: Tx, keys: readonly EventKey[]): Promise<Map<number, UsageEvent>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.query(storedText, [
    tx.merchantId,
    keys.map(({ eventId }) => eventId),
    keys.map(({ eventTime }) => eventTime),
  ]);
  return new Map(rows.map(row => hydrate(usageEvents, row)).map(event => [event.id, event]));
}

/** A unique id within a counter. */
export interface UniqueName {
  subscriptionId: string;
  metricId: number;
  startAt: number;
  uniqueId: string;
}

export const uniqueKey = ({ subscriptionId, metricId, startAt, uniqueId }: UniqueName) =>
  `${subscriptionId} ${metricId} ${startAt} ${uniqueId}`;

/** How many events have each of these unique ids, by `uniqueKey`; the counters are locked. */
export async function uniqueCounts(reader: Reader, names: readonly UniqueName[]): Promise<Map<string, bigint>> {
  if (names.length === 0) return new Map();
  const rows = await reader.query(uniquesText, [
    reader.merchantId,
    names.map(({ subscriptionId }) => subscriptionId),
    names.map(({ metricId }) => metricId),
    names.map(({ startAt }) => startAt),
    names.map(({ uniqueId }) => uniqueId),
  ]);
  return new Map(rows.map(row => hydrate(uniques, row)).map(unique => [uniqueKey(unique), unique.events]));
}

/** A violation of the key of any partition means that another command has recorded the event: run again and find it. */
export function onKeyConflict(tx: Tx): void {
  for (let part = 0; part < 16; part++) tx.onConflict(`usage_event_keys_${part}_pkey`, 'again');
}

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
    const day = Math.floor(second / DAY_SECONDS);
    if (this.known.has(day)) return;
    await this.db.infra('select usage_events_ensure($1)', [second]);
    this.known.add(day);
  }
}
