import type { Reader } from '@recur/platform';
import { neededIds } from './domain/id-list.js';

/*
 * Plans that refer to a product or a metric. Products and metrics need them before a deletion, while the wing of plans
 * depends on both: the two questions stand outside it, so that no wing imports the one that imports it.
 */

/** Ids of the active plans that use a metric, at most as many as a message needs. */
export function activePlansUsing(reader: Reader, metricId: number): Promise<number[]> {
  return ids(
    reader,
    `select distinct plans.id from plan_metrics used
       join plans on plans.merchant_id = used.merchant_id and plans.id = used.plan_id
     where used.merchant_id = $1 and used.metric_id = $2 and plans.status = 'active'
     order by plans.id limit $3`,
    metricId,
  );
}

/**
 * Ids of a product's plans that are on sale or may come back, at most as many as a message needs. Exact while the
 * product is locked: a plan is created or moved under that lock.
 */
export function plansOfProduct(reader: Reader, productId: number): Promise<number[]> {
  return ids(
    reader,
    `select id from plans where merchant_id = $1 and product_id = $2 and deleted_time = 0 and status <> 'hardArchived'
       order by create_time, id limit $3`,
    productId,
  );
}

async function ids(reader: Reader, sql: string, of: number): Promise<number[]> {
  const rows = await reader.query(sql, [reader.merchantId, of, neededIds]);
  return rows.map(({ id }) => Number(id));
}
