import { type AutomationConnection, connectionStatus } from '@recur/contracts';
import type { Connection } from './domain/connection.js';

/** The public view of a connection. It holds no secret and no digest. */
export function connectionView(connection: Connection): AutomationConnection {
  const { connectionId, state, returnUrl, createTime, expireTime } = connection;
  return { connectionId, status: connectionStatus[state], returnUrl, createTime, expireTime };
}
