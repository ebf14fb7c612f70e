import { type Consumption, clockFollower, type Tx } from '@recur/platform';
import type { Wake } from './fan-out.js';
import { onlyIndexScans } from './index-scans.js';

/**
 * Brings retries of the merchant ($1) that are due after the millisecond $2 forward by $3 ms. Deliveries that a worker has
 * locked are being sent or recorded: their next attempt counts from now on. Returns the endpoints with something due.
 */
const bringForward = `with waiting as materialized (
    select d.at from (select endpoint_id from endpoints where merchant_id = $1 offset 0) e cross join lateral (
      select ctid as at from due where endpoint_id = e.endpoint_id and not held and due_at_ms > $2
      order by due_at_ms, delivery_id for update skip locked) d),
  moved as (update due set due_at_ms = due_at_ms - $3 where ctid = any(array(select at from waiting))
    returning endpoint_id, delivery_id, event_id, due_at_ms),
  shown as (update deliveries d set next_at_ms = moved.due_at_ms from moved
    where d.merchant_id = $1 and d.delivery_id = moved.delivery_id and d.event_id = moved.event_id)
  select distinct endpoint_id from moved where due_at_ms <= $2`;

/** Follows the merchants' clocks: deliveries are scheduled on the machine's, so a move brings their retries forward. */
export function retryClock(nowMs: () => number, wake: Wake): Consumption {
  const toWake = new Map<number, Set<number>>();
  return clockFollower('notification', {
    moved: async (tx, seconds) => {
      toWake.set(tx.merchantId, await bringRetriesForward(tx, nowMs(), seconds));
    },
    done: merchantId => {
      wake(merchantId, toWake.get(merchantId) ?? new Set());
      toWake.delete(merchantId);
    },
  });
}

async function bringRetriesForward(tx: Tx, nowMs: number, seconds: number): Promise<Set<number>> {
  const [, rows] = await Promise.all([
    onlyIndexScans(tx),
    tx.run(bringForward, [tx.merchantId, nowMs, seconds * 1000]),
  ]);
  return new Set(rows.map(row => Number(row.endpoint_id)));
}
