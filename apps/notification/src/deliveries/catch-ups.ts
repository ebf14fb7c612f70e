import type { Tx } from '@recur/platform';

/** Work that schedules what an endpoint missed; its key is the endpoint's id. See catch-up.ts. */
export const catchUpKind = 'webhook.catch_up';

const begin = 'insert into catch_ups (endpoint_id, merchant_id) values ($1, $2) on conflict do nothing';

/** Marks an endpoint, which is locked, as behind, and schedules its catch-up. `now`: unix seconds on the machine's clock. */
export async function beginCatchUp(tx: Tx, endpointId: number, now: number): Promise<void> {
  await tx.run(begin, [endpointId, tx.merchantId]);
  tx.schedule(catchUpKind, String(endpointId), now);
}
