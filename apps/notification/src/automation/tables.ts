import { integer, oneOf, table, text } from '@recur/platform';
import { type Connection, connectionLifecycle } from './domain/connection.js';

export const connections = table<Connection>('connections', {
  key: ['merchantId', 'connectionId'],
  columns: {
    merchantId: integer(),
    connectionId: text(),
    state: text(),
    returnUrl: text(),
    stateHash: text(),
    codeHash: text(),
    codeChallenge: text(),
    accessHash: text(),
    accessUntil: integer(),
    refreshHash: text(),
    formerRefreshHash: text(),
    expireTime: integer(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { connections_state: oneOf('state', connectionLifecycle.states) },
});

/** Maps a connection's id to its merchant, before the merchant is known. */
export const connectionLookups = table<{ connectionId: string; merchantId: number }>('connection_lookups', {
  infrastructure: true,
  key: ['connectionId'],
  columns: { connectionId: text(), merchantId: integer() },
});
