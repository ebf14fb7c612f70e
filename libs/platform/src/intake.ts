import { textArray, wholeArray } from './arrays.js';
import type { Event } from './events.js';
import type { Session } from './session.js';

/** An event that came too early: events from version `from` on are missing before it. */
export interface Early {
  event: Event;
  from: number;
}

const received = `with new as (insert into inbox (consumer, event_id, received_at)
    select $1, id, $3 from unnest($2::text[]) id on conflict do nothing returning 1)
  select count(*)::integer as n from new`;
const receivedNow = `select event_id from inbox
  where consumer = $1 and event_id = any($2) and xmin = pg_current_xact_id()::xid`;
const gates = `select aggregate, aggregate_id, version from gate
  where consumer = $1 and merchant_id = $2 and aggregate_id = any($3)`;
const forget = 'delete from inbox where consumer = $1 and event_id = any($2)';

/** How far a consumer has come with an object. */
export interface Gate {
  aggregate: string;
  aggregateId: string;
  version: number;
}

export const raiseGates = `insert into gate (consumer, merchant_id, aggregate, aggregate_id, version)
  select $1, $2, r.aggregate, r.aggregate_id, r.version
  from unnest($3::text[], $4::text[], $5::bigint[]) r(aggregate, aggregate_id, version)
  on conflict (consumer, merchant_id, aggregate, aggregate_id) do update set version = excluded.version
  where gate.version < excluded.version`;

/** The values of `raiseGates`. */
export const gateValues = (consumer: string, merchantId: number, gates: readonly Gate[]): unknown[] => [
  consumer,
  merchantId,
  textArray(gates.map(({ aggregate }) => aggregate)),
  textArray(gates.map(({ aggregateId }) => aggregateId)),
  wholeArray(gates.map(({ version }) => version)),
];

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
): Promise<{ fresh: Event[]; early: Early[]; raised: Gate[] }> {
  const ids = new Set(events.map(({ id }) => id));
  const [[taken], reached] = await Promise.all([
    session.query(received, [consumer, [...ids], now]),
    order === 'alone'
      ? []
      : session.query(gates, [consumer, session.merchantId, [...new Set(events.map(e => e.aggregateId))]]),
  ]);
  // which ones is not worth being told of each, for nearly always it is all
  const unseen = taken?.n === ids.size ? ids : new Set(await newOf(session, consumer, ids));
  const versions = new Map(reached.map(row => [`${row.aggregate} ${row.aggregate_id}`, Number(row.version)]));
  const fresh: Event[] = [];
  const early: Early[] = [];
  const raised = new Map<string, Gate>();
  for (const event of events) {
    if (!unseen.delete(event.id)) continue;
    const { aggregate, aggregateId } = event;
    const key = `${aggregate} ${aggregateId}`;
    const version = versions.get(key) ?? 0;
    if (order !== 'alone' && event.version <= version) continue;
    if (order === 'every' && event.version > version + 1) {
      early.push({ event, from: version + 1 });
      continue;
    }
    fresh.push(event);
    versions.set(key, event.version);
    if (order !== 'alone') raised.set(key, { aggregate, aggregateId, version: event.version });
  }
  if (early.length > 0) await session.query(forget, [consumer, early.map(({ event }) => event.id)]);
  return { fresh, early, raised: [...raised.values()] };
}

/** Those of the events that this transaction has taken in. */
async function newOf(session: Session, consumer: string, ids: ReadonlySet<string>): Promise<string[]> {
  const rows = await session.query(receivedNow, [consumer, [...ids]]);
  return rows.map(row => String(row.event_id));
}
