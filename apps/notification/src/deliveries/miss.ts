import type { Tx } from '@recur/platform';
import { onlyIndexScans } from './index-scans.js';

/** Deliveries that one transaction marks as missed. The rest of a larger backlog is missed by workers when it is due. */
const mostMissed = 20_000;

/**
 * SQL that marks scheduled deliveries of the merchant ($1) as missed, chosen by a condition on `due`. Returns their
 * `count`.
 */
const missing = (condition: string) => `with dropped as (delete from due where ${condition} returning delivery_id),
    missed as (update deliveries set state = 'missed', next_at_ms = null
      where merchant_id = $1 and delivery_id = any(array(select delivery_id from dropped)))
    select count(*) from dropped`;

/** Held deliveries go first: none is left waiting for one that is gone. */
const scheduled = missing(`delivery_id = any(array(
  (select delivery_id from due where endpoint_id = $2 and subject is not null and held limit ${mostMissed})
  union all (select delivery_id from due where endpoint_id = $2 and not held order by due_at_ms, delivery_id
    limit ${mostMissed})
  limit ${mostMissed}))`);

/** The same for deliveries that are not leased at a millisecond ($3), at most $4. */
const idle = missing(`delivery_id = any(array(
  (select delivery_id from due where endpoint_id = $2 and subject is not null and held limit $4)
  union all (select delivery_id from due where endpoint_id = $2 and not held
    and (lease_until_ms is null or lease_until_ms < $3) limit $4)
  limit $4))`);

/** Marks what is scheduled for an endpoint, which is locked, as missed, whether it is leased or not. */
export async function missScheduled(tx: Tx, endpointId: number): Promise<void> {
  await Promise.all([onlyIndexScans(tx), tx.run(scheduled, [tx.merchantId, endpointId])]);
}

/**
 * Marks what is scheduled for an endpoint, which is locked, as missed, except what a worker has leased. Returns the number
 * of deliveries marked, at most `most`.
 */
export async function missIdle(tx: Tx, endpointId: number, nowMs: number, most = mostMissed): Promise<number> {
  const values = [tx.merchantId, endpointId, nowMs, most];
  const [, [row]] = await Promise.all([onlyIndexScans(tx), tx.run(idle, values)]);
  return Number(row?.count ?? 0);
}
