import { type Db, type Row, systemCaller, type Tx } from '@recur/platform';
import { oneByOneAfter } from '../../endpoints/domain/endpoint.js';
import { lockEndpointIfAny } from '../../endpoints/rows.js';
import type { Sealed } from '../../endpoints/secrets.js';
import { onlyIndexScans } from '../index-scans.js';
import { missIdle } from '../miss.js';

/** `front`: rows in which the lease of a failing endpoint's single attempt is looked for; leased rows come first. */
const limits = { front: 64, missedAtOnce: 1_000 } as const;

/** The right to send deliveries, until unix milliseconds. */
export interface Lease {
  token: string;
  untilMs: number;
}

/** A position in an endpoint's deliveries, in the order in which they are due. */
export interface Cursor {
  dueAtMs: number;
  deliveryId: string;
}

/** Position before all deliveries of an endpoint. */
export const start: Cursor = { dueAtMs: -1, deliveryId: '' };

/** An event as it is sent, shared by all of its deliveries in a claim. */
export interface Payload {
  eventId: string;
  type: string;
  body: Buffer;
  traceparent: string;
}

/** A delivery to be sent now. */
export interface Claimed extends Lease {
  merchantId: number;
  deliveryId: string;
  endpointId: number;
  /** Object of the event, if later events of the object wait for this delivery. */
  subject: string | null;
  payload: Payload;
}

/** Result of a claim for one endpoint. */
export interface Claim {
  url: string;
  sealed: Sealed;
  /** False for a disabled or deleted endpoint, for which nothing is claimed. */
  open: boolean;
  /** Failed so often that only one attempt at a time is made. */
  failing: boolean;
  /** Deliveries that could be claimed, had so many been due. */
  room: number;
  due: Claimed[];
  /** Position after the last one; undefined when nothing was due. */
  last: Cursor | undefined;
}

/** Request for at most `room` deliveries of an endpoint, after a position. */
export interface Wanted {
  endpointId: number;
  room: number;
  after: Cursor;
}

/**
 * Serialises claims for failing endpoints over all replicas, so that the lease of their single attempt is seen. The locks
 * are taken in the order of ids.
 */
const lockFailing = `select pg_advisory_xact_lock(hashtextextended('claim ' || endpoint_id, 0)) from (
    select endpoint_id from endpoints
    where merchant_id = $1 and endpoint_id = any($2) and failures >= ${oneByOneAfter} order by endpoint_id offset 0) failing`;

/**
 * The lease need not survive a crash of the database server: a delivery that is sent twice then has one webhook-id.
 */
const withoutFlush = `select set_config('synchronous_commit', 'off', true)`;

/**
 * Leases what is due of several endpoints of a merchant, oldest first. Rows that other replicas are claiming are skipped.
 * Each endpoint is one step along the index `due_waiting` from its position; the rows found are then updated by their ctid.
 * Returns a row per endpoint, one per delivery, and one per event with the body.
 */
export const claimStatement = `with wanted as materialized (
    select e.endpoint_id, e.url, e.sealed_secret, case when e.former_until > $9 then e.sealed_former end as sealed_former,
      e.failing, e.state = 'enabled' and e.deleted_time = 0 as open, w.due_at_ms, w.delivery_id,
      case when not e.failing then w.room when exists (select from (
        select lease_until_ms from due where endpoint_id = e.endpoint_id and not held
        order by due_at_ms, delivery_id limit ${limits.front}) front where lease_until_ms >= $6) then 0 else 1 end as room
    from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) w(endpoint_id, room, due_at_ms, delivery_id)
    cross join lateral (select *, failures >= ${oneByOneAfter} as failing from endpoints
      where merchant_id = $1 and endpoint_id = w.endpoint_id offset 0) e),
  picked as materialized (
    select found.* from wanted cross join lateral (
      select ctid, endpoint_id, due_at_ms, delivery_id from due where endpoint_id = wanted.endpoint_id and not held
        and (due_at_ms, delivery_id) > (wanted.due_at_ms, wanted.delivery_id) and due_at_ms <= $6
        and (lease_until_ms is null or lease_until_ms < $6)
      order by due_at_ms, delivery_id limit wanted.room for update skip locked) found
    where wanted.open),
  claimed as (
    update due set lease_token = $7, lease_until_ms = $8 where ctid = any(array(select ctid from picked))
    returning endpoint_id, delivery_id, subject, coalesce(event_id, (
      select event_id from deliveries where merchant_id = $1 and delivery_id = due.delivery_id limit 1)) as event_id),
  last as (select distinct on (endpoint_id) endpoint_id, due_at_ms, delivery_id from picked
    order by endpoint_id, due_at_ms desc, delivery_id desc)
  select 'endpoint' as kind, wanted.endpoint_id, url, sealed_secret, sealed_former, failing, open, room, last.due_at_ms,
    last.delivery_id, null as event_id, null as subject, null as type, null as body, null as traceparent
    from wanted left join last using (endpoint_id)
  union all
  select 'event', null, null, null, null, null, null, null, null, null, e.event_id, null, e.type, e.body, e.traceparent
    from (select distinct event_id from claimed) ids cross join lateral (
      select event_id, type, body, traceparent from events where merchant_id = $1 and event_id = ids.event_id offset 0) e
  union all
  select 'delivery', endpoint_id, null, null, null, null, null, null, null, delivery_id, event_id, subject, null, null, null
    from claimed`;

/** Claims what is due at `nowMs` of a merchant's endpoints, under one lease. Returns a claim per endpoint id. */
export async function claimDue(
  db: Db,
  merchantId: number,
  wanted: readonly Wanted[],
  nowMs: number,
  lease: Lease,
): Promise<Map<number, Claim>> {
  const ids = wanted.map(({ endpointId }) => endpointId);
  const asked = [
    ids,
    wanted.map(({ room }) => room),
    wanted.map(({ after }) => after.dueAtMs),
    wanted.map(({ after }) => after.deliveryId),
  ];
  let rows: Row[] = [];
  await db.apply(systemCaller(merchantId, lease.token, Number.POSITIVE_INFINITY), async tx => {
    const values = [merchantId, ...asked, nowMs, lease.token, lease.untilMs, tx.now];
    [, , , rows] = await Promise.all([
      onlyIndexScans(tx),
      tx.run(withoutFlush, []),
      tx.run(lockFailing, [merchantId, ids]),
      tx.run(claimStatement, values),
    ]);
  });
  return claimsOf(merchantId, lease, rows);
}

function claimsOf(merchantId: number, lease: Lease, rows: readonly Row[]): Map<number, Claim> {
  const claims = new Map<number, Claim>();
  const payloads = new Map<string, Payload>();
  for (const row of rows) {
    if (row.kind === 'endpoint') claims.set(Number(row.endpoint_id), claimOf(merchantId, row));
    else if (row.kind === 'event') payloads.set(String(row.event_id), payloadOf(row));
    else {
      const endpointId = Number(row.endpoint_id);
      const payload = payloads.get(String(row.event_id));
      if (!payload) throw new Error(`the event of delivery ${row.delivery_id} is missing`);
      const subject = row.subject as string | null;
      const ids = { merchantId, endpointId, deliveryId: String(row.delivery_id) };
      claims.get(endpointId)?.due.push({ ...lease, ...ids, subject, payload });
    }
  }
  return claims;
}

function claimOf(merchantId: number, row: Row): Claim {
  const endpointId = Number(row.endpoint_id);
  return {
    url: String(row.url),
    sealed: {
      merchantId,
      endpointId,
      sealedSecret: String(row.sealed_secret),
      sealedFormer: row.sealed_former as string | null,
    },
    open: row.open === true,
    failing: row.failing === true,
    room: Number(row.room),
    due: [],
    last:
      row.delivery_id === null ? undefined : { dueAtMs: Number(row.due_at_ms), deliveryId: String(row.delivery_id) },
  };
}

const payloadOf = (row: Row): Payload => ({
  eventId: String(row.event_id),
  type: String(row.type),
  body: Buffer.from(String(row.body)),
  traceparent: String(row.traceparent),
});

/**
 * Marks some scheduled deliveries of a disabled or deleted endpoint as missed, except what another worker has leased.
 * Returns true when there may be more. They are sent when the endpoint is enabled again.
 */
export async function missDue(tx: Tx, endpointId: number, nowMs: number): Promise<boolean> {
  const endpoint = await lockEndpointIfAny(tx, endpointId);
  if (endpoint?.state === 'enabled') return false;
  return (await missIdle(tx, endpointId, nowMs, limits.missedAtOnce)) >= limits.missedAtOnce;
}
