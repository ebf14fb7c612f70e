import { createHash, timingSafeEqual } from 'node:crypto';
import { type AutomationConnection, connectionStatus } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import type { Connection } from './domain/connection.js';
import type { Endpoints } from './endpoints.js';
import { connections, endpoints } from './tables.js';

const removeOne = `with gone as (delete from connections where merchant_id = $1 and connection_id = $2)
  delete from connection_lookups where connection_id = $2`;

/** Ends a connection, which is locked: its tokens hold no longer, and its endpoints are deleted. */
export async function endConnection(tx: Tx, { connectionId }: Connection, of: Endpoints): Promise<void> {
  for (const { endpointId } of await tx.all(endpoints, { connectionId, deletedTime: 0 }, 'order by endpoint_id')) {
    const endpoint = await tx.lockIfAny(endpoints, { endpointId, deletedTime: 0 });
    if (endpoint) await of.end(tx, endpoint);
  }
  await tx.run(removeOne, [tx.merchantId, connectionId]);
  tx.log(`AutomationConnection(${connectionId})`, 'Disconnect');
}

/** The connection's row, locked; undefined where there is none. */
export const lockConnection = (tx: Tx, connectionId: string) => tx.lockIfAny(connections, { connectionId });

/** What is kept of a secret of 256 random bits. */
export const digest = (secret: string) => createHash('sha256').update(secret).digest('base64url');

/** Whether a secret is the one of which the digest is kept. */
export function fits(secret: string, kept: string): boolean {
  const given = Buffer.from(digest(secret));
  const known = Buffer.from(kept);
  return given.length === known.length && timingSafeEqual(given, known);
}

export function connectionView(connection: Connection): AutomationConnection {
  const { connectionId, state, returnUrl, createTime, expireTime } = connection;
  return { connectionId, status: connectionStatus[state], returnUrl, createTime, expireTime };
}
