import type { Tx } from '@recur/platform';
import { endEndpoint } from '../endpoints/registry.js';
import { endpointsOfConnection, lockEndpointIfAny } from '../endpoints/rows.js';
import type { Connection } from './domain/connection.js';

const removeConnection = `with removed as (delete from connections where merchant_id = $1 and connection_id = $2)
  delete from connection_lookups where connection_id = $2`;

/** Ends a connection, which is locked: its tokens are revoked and its endpoints deleted. */
export async function endConnection(tx: Tx, { connectionId }: Connection): Promise<void> {
  for (const { endpointId } of await endpointsOfConnection(tx, connectionId, 'asc')) {
    const endpoint = await lockEndpointIfAny(tx, endpointId);
    if (endpoint) await endEndpoint(tx, endpoint);
  }
  await tx.run(removeConnection, [tx.merchantId, connectionId]);
  tx.log(`AutomationConnection(${connectionId})`, 'Disconnect');
}
