import type pg from 'pg';
import { violatedIndex } from '../errors.js';
import type { Event } from '../event.js';
import { prepared } from '../pool.js';
import type { Session } from '../session.js';
import type { Arrays } from './arrays.js';

/** An event that came too early: the events from version `from` up to its own are missing. */
export interface OutOfOrder {
  event: Event;
  from: number;
}

const receive = `insert into inbox (consumer, event_id, received_at)
  select $1, id, $3 from unnest($2::text[]) id`;
const receiveUnseen = `${receive} on conflict do nothing`;
const receivedNow = `select event_id from inbox
  where consumer = $1 and event_id = any($2) and xmin = pg_current_xact_id()::xid`;
export const reachedText = `select g.aggregate, g.aggregate_id, g.version
  from unnest($3::text[], $4::text[]) r(aggregate, aggregate_id) cross join lateral (
    select * from gate where consumer = $1 and merchant_id = $2 and aggregate = r.aggregate
      and aggregate_id = r.aggregate_id offset 0) g`;
const forget = 'delete from inbox where consumer = $1 and event_id = any($2)';

/** The version of an aggregate up to which a consumer has applied events. */
export interface Gate {
  aggregate: string;
  aggregateId: string;
  version: number;
}

const openGates = `insert into gate (consumer, merchant_id, aggregate, aggregate_id, version)
  select $1, $2, r.aggregate, r.aggregate_id, r.version
  from unnest($3::text[], $4::text[], $5::bigint[]) r(aggregate, aggregate_id, version)`;
export const raiseGates = `${openGates}
  on conflict (consumer, merchant_id, aggregate, aggregate_id) do update set version = excluded.version
  where gate.version < excluded.version`;

/** The values of `raiseGates`. */
export const gateValues = (
  consumer: string,
  merchantId: number,
  gates: readonly Gate[],
  { texts, wholes }: Arrays,
): unknown[] => [
  consumer,
  merchantId,
  texts(gates.map(({ aggregate }) => aggregate)),
  texts(gates.map(({ aggregateId }) => aggregateId)),
  wholes(gates.map(({ version }) => version)),
];

/** A batch of one merchant's events for one consumer, in order. */
export interface Intake {
  consumer: string;
  order: 'every' | 'latest' | 'alone';
  events: readonly Event[];
  /** Unix seconds. */
  now: number;
  arrays: Arrays;
}

/**
 * Adds one merchant's events to the inbox, in the session's transaction, and sorts them: `fresh` are to be applied, in
 * order; `early` wait for something that is missing; seen and older ones are dropped. `raise` goes with the commit.
 *
 * Nearly always all events are new, and inserting them as `unseen` costs half of checking each. If one is not new, this
 * throws (see `isSeen`), and the transaction has to be run again without `unseen`.
 */
export async function ingest(
  session: Session,
  { consumer, order, events, now, arrays }: Intake,
  unseen: boolean,
): Promise<{ fresh: Event[]; early: OutOfOrder[]; raise: pg.QueryConfig[] }> {
  const ids = new Set(events.map(({ id }) => id));
  // the first event of an aggregate has no gate yet; if there is one, inserting it fails, and the event is not unseen
  const following = order === 'alone' ? [] : events.filter(({ version }) => !unseen || version > 1);
  const gated = [...new Map(following.map(event => [gateKey(event), event])).values()];
  const reachedValues = [
    consumer,
    session.merchantId,
    gated.map(({ aggregate }) => aggregate),
    gated.map(({ aggregateId }) => aggregateId),
  ];
  const [, reached] = await Promise.all([
    session.query(unseen ? receive : receiveUnseen, [consumer, [...ids], now]),
    gated.length === 0 ? [] : session.query(reachedText, reachedValues),
  ]);
  const left = unseen ? ids : new Set(await newOf(session, consumer, ids));
  const versions = new Map(reached.map(row => [`${row.aggregate} ${row.aggregate_id}`, Number(row.version)]));
  const begun = new Set(versions.keys());
  const fresh: Event[] = [];
  const early: OutOfOrder[] = [];
  const raised = new Map<string, Gate>();
  for (const event of events) {
    if (!left.delete(event.id)) continue;
    const { aggregate, aggregateId } = event;
    const key = gateKey(event);
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
  const [first, further] = [[] as Gate[], [] as Gate[]];
  for (const [key, gate] of raised) (unseen && !begun.has(key) ? first : further).push(gate);
  const raise = [
    { text: openGates, of: first },
    { text: raiseGates, of: further },
  ].filter(({ of }) => of.length > 0);
  return {
    fresh,
    early,
    raise: raise.map(({ text, of }) => prepared(text, gateValues(consumer, session.merchantId, of, arrays))),
  };
}

const gateKey = ({ aggregate, aggregateId }: Pick<Gate, 'aggregate' | 'aggregateId'>) => `${aggregate} ${aggregateId}`;

/** An event inserted as new had been taken before, or is being taken elsewhere. */
export const isSeen = (error: unknown) => ['inbox_pkey', 'gate_pkey'].includes(violatedIndex(error) ?? '');

/** The events that this transaction has added to the inbox. */
async function newOf(session: Session, consumer: string, ids: ReadonlySet<string>): Promise<string[]> {
  const rows = await session.query(receivedNow, [consumer, [...ids]]);
  return rows.map(row => String(row.event_id));
}
