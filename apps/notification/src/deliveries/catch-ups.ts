import type { Tx } from '@recur/platform';

const begin = 'insert into catch_ups (endpoint_id, merchant_id) values ($1, $2) on conflict do nothing';

/** Marks an endpoint, which is locked, as behind: the worker in catch-up.ts schedules what it missed. */
export async function beginCatchUp(tx: Tx, endpointId: number): Promise<void> {
  await tx.run(begin, [endpointId, tx.merchantId]);
}
