import type { Reader, Tx } from '@recur/platform';
import { type Connection, stands } from './domain/connection.js';
import { connections } from './tables.js';

/** Connections of the merchant that have not expired, newest first. */
export async function standingConnections(reader: Reader): Promise<Connection[]> {
  const all = await reader.all(connections, {}, 'order by create_time desc, connection_id desc');
  return all.filter(connection => stands(connection, reader.now));
}

/** Locks a connection's row; undefined when there is none. */
export const lockConnection = (tx: Tx, connectionId: string): Promise<Connection | undefined> =>
  tx.lockIfAny(connections, { connectionId });
