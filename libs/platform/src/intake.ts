import type { Event } from './events.js';
import type { Session } from './session.js';

/** An event that came too early: events from version `from` on are missing before it. */
export interface Early {
  event: Event;
  from: number;
}

const received = `insert into inbox (consumer, event_id, received_at)
  select $1, id, $3 from unnest($2::text[]) id on conflict do nothing returning event_id`;
const gates = `select aggregate, aggregate_id, version from gate
  where consumer = $1 and merchant_id = $2 and aggregate_id = any($3)`;
const forget = 'delete from inbox where consumer = $1 and event_id = any($2)';
export const raiseGates = `insert into gate (consumer, merchant_id, aggregate, aggregate_id, version)
  select $1, $2, r.aggregate, r.aggregate_id, r.version from json_to_recordset($3::json)
    r(aggregate text, aggregate_id text, version integer)
  on conflict (consumer, merchant_id, aggregate, aggregate_id) do update set version = excluded.version
  where gate.version < excluded.version`;

/**
 * Takes one merchant's events into the inbox, within an open transaction, and sorts them: `fresh` are to be applied,
 * in order; `early` came before something that is missing. Seen and older ones are dropped.
 */
export async function takeIn(
  session: Session,
  consumer: string,
  order: 'every' | 'latest' | 'alone',
  events: readonly Event[],
  now: number,
): Promise<{ fresh: Event[]; early: Early[]; raised: string }> {
  const [rows, reached] = await Promise.all([
    session.query(received, [consumer, events.map(({ id }) => id), now]),
    order === 'alone'
      ? []
      : session.query(gates, [consumer, session.merchantId, [...new Set(events.map(e => e.aggregateId))]]),
  ]);
  const unseen = new Set(rows.map(row => row.event_id));
  const versions = new Map(reached.map(row => [`${row.aggregate} ${row.aggregate_id}`, Number(row.version)]));
  const fresh: Event[] = [];
  const early: Early[] = [];
  const raised = new Map<string, object>();
  for (const event of events) {
    if (!unseen.delete(event.id)) continue;
    const key = `${event.aggregate} ${event.aggregateId}`;
    const version = versions.get(key) ?? 0;
    if (order !== 'alone' && event.version <= version) continue;
    if (order === 'every' && event.version > version + 1) {
      early.push({ event, from: version + 1 });
      continue;
    }
    fresh.push(event);
    versions.set(key, event.version);
    raised.set(key, { aggregate: event.aggregate, aggregate_id: event.aggregateId, version: event.version });
  }
  if (early.length > 0) await session.query(forget, [consumer, early.map(({ event }) => event.id)]);
  return { fresh, early, raised: order === 'alone' ? '' : JSON.stringify([...raised.values()]) };
}
