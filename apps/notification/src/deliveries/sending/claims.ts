import { type Db, type Row, systemCaller, type Tx } from '@recur/platform';
import { oneByOneAfter } from '../../endpoints/domain/endpoint.js';
import { lockEndpointIfAny } from '../../endpoints/rows.js';
import type { Sealed } from '../../endpoints/secrets.js';
import type { Delivery } from '../domain/delivery.js';
import { missIdle } from '../miss.js';

/** Deliveries of one endpoint that are claimed and not recorded yet, over all workers. */
export const maxLeased = 16;
const limits = { looked: 64, missedAtOnce: 1_000 } as const;

/** The right to send deliveries, until unix milliseconds. */
export interface Lease {
  token: string;
  untilMs: number;
}

/** A delivery to be sent now. */
export interface Claimed extends Lease {
  delivery: Delivery;
  /** The object that the event is of, where others wait for this delivery. */
  subject: string | null;
  type: string;
  body: string;
}

/** What a claim brought for one endpoint. */
export interface Claim {
  url: string;
  sealed: Sealed;
  /** False where it is disabled or deleted: nothing is claimed for it. */
  open: boolean;
  /** It has failed so often that it is tried by one attempt at a time. */
  failing: boolean;
  /** How many could have been claimed, if so many had been due. */
  room: number;
  due: Claimed[];
}

/** What is asked for: at most `room` deliveries of an endpoint. */
export interface Wanted {
  endpointId: number;
  room: number;
}

/** Claims for one endpoint happen one after the other, so that what is leased is counted right. */
const alone = `select pg_advisory_xact_lock(hashtextextended('claim ' || id, 0)) from unnest($1::bigint[]) id`;

/**
 * Leases what is due of several endpoints of a merchant, oldest first, and loads it: first a row for each endpoint, then
 * one for each delivery. What is leased stands first in its endpoint's order: it came due before what is waiting. Rows
 * are looked up one by one by their keys, whatever the planner thought of the tables when it made its plan.
 */
const claim = `with lanes as materialized (
    select e.endpoint_id, e.url, e.sealed_secret, case when e.former_until > $7 then e.sealed_former end as sealed_former,
      e.failures >= ${oneByOneAfter} as failing,
      e.state = 'enabled' and e.deleted_time = 0 as open, greatest(0, least(w.room,
        case when e.failures >= ${oneByOneAfter} then 1 else ${maxLeased} end - (select count(*) from
          (select lease_until_ms from due where endpoint_id = e.endpoint_id and not held
           order by due_at_ms limit ${limits.looked}) front where lease_until_ms >= $4))) as room
    from unnest($2::bigint[], $3::bigint[]) w(endpoint_id, room)
    join endpoints e on e.merchant_id = $1 and e.endpoint_id = w.endpoint_id),
  picked as materialized (
    select found.delivery_id from lanes cross join lateral (
      select delivery_id from due where endpoint_id = lanes.endpoint_id and not held and due_at_ms <= $4
        and (lease_until_ms is null or lease_until_ms < $4)
      order by due_at_ms limit lanes.room for update skip locked) found
    where lanes.open),
  claimed as (
    update due set lease_token = $5, lease_until_ms = $6
    where delivery_id = any(array(select delivery_id from picked)) returning delivery_id, endpoint_id, subject)
  select endpoint_id, url, sealed_secret, sealed_former, failing, open, room, null as delivery_id, null as subject,
    null as event_id, null as state, null as attempts, null as next_at_ms, null as type, null as body from lanes
  union all
  select claimed.endpoint_id, null, null, null, null, null, null, claimed.delivery_id, claimed.subject, d.event_id, d.state,
    d.attempts, d.next_at_ms, e.type, e.body
  from claimed cross join lateral (select * from deliveries
    where merchant_id = $1 and delivery_id = claimed.delivery_id offset 0) d
  cross join lateral (select * from events where merchant_id = $1 and event_id = d.event_id offset 0) e`;

/** Claims what is due at `nowMs` of a merchant's endpoints, under one lease; by endpoint id. */
export async function claimDue(
  db: Db,
  merchantId: number,
  wanted: readonly Wanted[],
  nowMs: number,
  lease: Lease,
): Promise<Map<number, Claim>> {
  const inOrder = [...wanted].sort((a, b) => a.endpointId - b.endpointId);
  const ids = inOrder.map(({ endpointId }) => endpointId);
  const values = [merchantId, ids, inOrder.map(({ room }) => room), nowMs, lease.token, lease.untilMs];
  const claims = new Map<number, Claim>();
  await db.apply(systemCaller(merchantId, lease.token, Number.POSITIVE_INFINITY), async tx => {
    const [, rows] = await Promise.all([tx.run(alone, [ids]), tx.run(claim, [...values, tx.now])]);
    for (const row of rows) add(claims, merchantId, lease, row);
  });
  return claims;
}

function add(claims: Map<number, Claim>, merchantId: number, lease: Lease, row: Row): void {
  const endpointId = Number(row.endpoint_id);
  if (row.delivery_id === null) {
    const { url, sealed_secret, sealed_former, open, failing, room } = row;
    claims.set(endpointId, {
      url: String(url),
      sealed: {
        merchantId,
        endpointId,
        sealedSecret: String(sealed_secret),
        sealedFormer: sealed_former as string | null,
      },
      open: open === true,
      failing: failing === true,
      room: Number(room),
      due: [],
    });
    return;
  }
  claims.get(endpointId)?.due.push({
    ...lease,
    subject: row.subject as string | null,
    type: String(row.type),
    body: String(row.body),
    delivery: {
      merchantId,
      endpointId,
      deliveryId: String(row.delivery_id),
      eventId: String(row.event_id),
      state: row.state as Delivery['state'],
      attempts: Number(row.attempts),
      nextAtMs: Number(row.next_at_ms),
    },
  });
}

/**
 * A disabled or deleted endpoint misses some of what is scheduled for it, but not what another worker is at. Returns
 * whether there may be more. It is sent what it missed when it is enabled again.
 */
export async function missDue(tx: Tx, endpointId: number, nowMs: number): Promise<boolean> {
  const endpoint = await lockEndpointIfAny(tx, endpointId);
  if (endpoint?.state === 'enabled') return false;
  return (await missIdle(tx, endpointId, nowMs, limits.missedAtOnce)) >= limits.missedAtOnce;
}
