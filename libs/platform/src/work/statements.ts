import { leased } from '../store/due/work-changes.js';

/**
 * The statements of work that falls due; run by `db.queryIndexOnly`, so that each is planned for indexes alone. An item is
 * ready when its `coalesce(lease_until, due_at)` has passed: it is due and was never claimed, or its lease or pause ended.
 */

const ready = 'coalesce(lease_until, due_at)';

/** The window of a look: the first ready items of a kind, and more merchants if there are more items. */
export const windows = { items: 500, merchants: 200 } as const;

/**
 * For each kind ($1): the merchants of the first items that are ready on the machine's clock ($2), with the number of
 * these items and the time of the first.
 */
export const readyText = `select k.kind, d.merchant_id, count(*) as items, min(d.at) as first
  from unnest($1::text[]) k(kind) cross join lateral
    (select merchant_id, ${ready} as at from due_work
      where kind = k.kind and parked_at is null and ${ready} <= $2::bigint
      order by ${ready} limit ${windows.items}) d
  group by k.kind, d.merchant_id`;

/**
 * Merchants of a kind ($1) after merchant $3 that have something ready ($2). Each merchant costs one or two steps in an
 * index, however many items it has. The last one looked at is returned even if it has nothing ready.
 */
export const othersText = `with recursive m(merchant_id, n) as (
    select (select merchant_id from due_work where kind = $1 and parked_at is null and merchant_id > $3::bigint
      order by merchant_id, ${ready} limit 1), 1
    union all
    select (select merchant_id from due_work where kind = $1 and parked_at is null and merchant_id > m.merchant_id
      order by merchant_id, ${ready} limit 1), n + 1 from m where merchant_id is not null and n < ${windows.merchants})
  select m.merchant_id, d.at as first from m left join lateral
    (select ${ready} as at from due_work where kind = $1 and merchant_id = m.merchant_id and parked_at is null
      and ${ready} <= $2::bigint order by ${ready}, due_at, key limit 1) d on true
  where m.merchant_id is not null`;

/** Merchants whose clock is ahead, and that have an item of a kind ($1) ready by it; $2 is the machine's time. */
export const aheadText = `select k.kind, c.merchant_id, d.at - c.offset_seconds as first
  from unnest($1::text[]) k(kind) cross join lateral
    (select merchant_id, offset_seconds from clocks where merchant_id > 0 order by merchant_id) c cross join lateral
    (select ${ready} as at from due_work where kind = k.kind and merchant_id = c.merchant_id and parked_at is null
      and ${ready} <= $2::bigint + c.offset_seconds and (lease_until is null or lease_until <= $2::bigint)
      order by ${ready}, due_at, key limit 1) d`;

/**
 * Leases items of one kind ($1) and merchant ($2) to lease $5 until $6, in order of due_at: up to $7 that were never
 * claimed before, or one that was, which is done alone. $3 is the machine's time, $4 the time on the clock of the kind.
 */
export const claimText = `with found as materialized (
    select ctid as at, lease_until from due_work
      where kind = $1 and merchant_id = $2::bigint and parked_at is null and ${ready} <= $4::bigint
        and (lease_until is null or lease_until <= $3::bigint)
      order by ${ready}, due_at, key limit $7 for update skip locked),
  head as materialized (select at, lease_until from found limit 1),
  chosen as (
    select at from found where lease_until is null and (select lease_until is null from head)
    union all select at from head where lease_until is not null)
  update due_work set lease = $5, lease_until = $6::bigint, attempts = attempts + 1
    where ctid = any (array(select at from chosen))
    returning key, due_at, attempts, reason, (select lease_until is not null from head) as alone`;

/**
 * Gives leased items back: they can be claimed again, one by one, from $5 on. $6 is added to their attempts, $7 is the
 * reason, $8 the time at which they are parked, or null. Returns those that were still leased.
 */
export const releaseText = `with ${leased}
  update due_work set lease = null, lease_until = $5::bigint, attempts = attempts + $6::int, reason = $7,
    parked_at = $8::bigint where ctid = any (array(select at from leased)) returning key`;

/** The number of parked items of each kind ($1), up to 1000. */
export const parkedText = `select k.kind, d.items from unnest($1::text[]) k(kind) cross join lateral
  (select count(*) as items from (select from due_work where kind = k.kind and parked_at > 0 and parked_at is not null
    order by parked_at limit 1000) p) d`;

/** Makes parked items of a kind ($1) claimable again, from $2 on; those that were parked first come first. */
export const resumeText = `with parked as materialized (
    select ctid as at from due_work where kind = $1 and parked_at > 0 and parked_at is not null
      order by parked_at limit 1000 for update skip locked)
  update due_work set parked_at = null, lease_until = $2::bigint, attempts = 0
    where ctid = any (array(select at from parked)) returning 1`;

/**
 * The work of merchant $2, of any of the kinds $1, that is not done: the time of the first item that was never claimed, null
 * if there is none, and whether an item is leased or waits for another attempt. At one moment: an item that a worker leases
 * meanwhile is the one or the other.
 */
export const aheadOfText = `select min(d.due_at) as at, count(u) > 0 as under_way from unnest($1::text[]) k(kind)
  left join lateral (select due_at from due_work where kind = k.kind and merchant_id = $2::bigint and parked_at is null
    and lease_until is null order by ${ready}, due_at, key limit 1) d on true
  left join lateral (select lease_until as u from due_work where kind = k.kind and merchant_id = $2::bigint
    and parked_at is null and lease_until is not null order by lease_until limit 1) l(u) on true`;
