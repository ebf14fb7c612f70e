import { machine, type StateOf } from '@recur/kernel';

/** An automation platform's access to a merchant's webhooks. The row of a connection that ends is removed. */
export const connectionLifecycle = machine({
  requested: { allow: 'allowed' },
  allowed: { connect: 'connected' },
  connected: { renew: 'connected' },
});
export type ConnectionState = StateOf<typeof connectionLifecycle>;

/** Lifetimes in seconds. A connection that was taken up is valid until it is ended. */
export const lifetimes = { request: 3_600, code: 300, accessToken: 3_600 } as const;

/** Secrets are stored as digests; '' when there is none yet. */
export interface Connection {
  merchantId: number;
  /** The platform's client_id. */
  connectionId: string;
  state: ConnectionState;
  /** Redirect URI: the only address that receives the code. */
  returnUrl: string;
  /** Digest of the authorize URL's state, which proves that the merchant handed the URL out. */
  stateHash: string;
  /** Digest of the code, a prefix of every refresh token; kept to detect reuse of either. */
  codeHash: string;
  /** PKCE code challenge: S256 of the platform's verifier (RFC 7636). */
  codeChallenge: string;
  accessHash: string;
  accessUntil: number;
  refreshHash: string;
  /** Digest of the refresh token that the last renewal consumed. */
  formerRefreshHash: string;
  /** Deadline for being allowed, then for being taken up; 0 afterwards. */
  expireTime: number;
  createTime: number;
  modifyTime: number;
}

/** False for a connection that was not taken up in time. */
export const stands = ({ state, expireTime }: Pick<Connection, 'state' | 'expireTime'>, now: number) =>
  state === 'connected' || now < expireTime;

/** The connection after its merchant allowed it: the platform receives a code. */
export function allowed(connection: Connection, codeHash: string, codeChallenge: string, now: number): Connection {
  const state = movedConnection(connection, 'allow');
  return { ...connection, state, codeHash, codeChallenge, expireTime: now + lifetimes.code, modifyTime: now };
}

/** The connection with new tokens, in exchange for its code or its refresh token. */
export function withTokens(
  connection: Connection,
  { accessHash, refreshHash }: { accessHash: string; refreshHash: string },
  now: number,
): Connection {
  return {
    ...connection,
    state: movedConnection(connection, connection.state === 'allowed' ? 'connect' : 'renew'),
    accessHash,
    accessUntil: now + lifetimes.accessToken,
    refreshHash,
    formerRefreshHash: connection.refreshHash,
    expireTime: 0,
    modifyTime: now,
  };
}

/** Throws on an illegal move, which is a bug: callers check the state under the row's lock. */
function movedConnection(
  { connectionId, state }: Connection,
  move: (typeof connectionLifecycle.moves)[number],
): ConnectionState {
  const next = connectionLifecycle.next(state, move);
  if (next === undefined) throw new Error(`connection ${connectionId} is ${state}: it cannot ${move}`);
  return next;
}
