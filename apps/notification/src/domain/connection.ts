import { machine, type StateOf } from '@recur/kernel';

/** An automation platform's way to a merchant's webhooks. One that is ended is removed, and unknown from then on. */
export const connectionLifecycle = machine({
  requested: { allow: 'allowed' },
  allowed: { connect: 'connected' },
  connected: { renew: 'connected' },
});
export type ConnectionState = StateOf<typeof connectionLifecycle>;

/** How long each may last, in seconds. A connection that was taken up stands until it is ended. */
export const lifetimes = { request: 3_600, code: 300, accessToken: 3_600 } as const;

/** Of secrets there are digests only; '' where there is none yet. */
export interface Connection {
  merchantId: number;
  /** The platform's client_id. */
  connectionId: string;
  state: ConnectionState;
  /** The only address to which the code is sent. */
  returnUrl: string;
  /** Of the state in the authorize URL: who has it was given it by the merchant. */
  stateHash: string;
  /** Of the code, with which each refresh token begins; it stays, so that a second use of either is recognised. */
  codeHash: string;
  /** S256 of the platform's verifier (RFC 7636). */
  codeChallenge: string;
  accessHash: string;
  accessUntil: number;
  refreshHash: string;
  /** Of the refresh token that the last renewal has used up. */
  formerRefreshHash: string;
  /** Until then it is to be allowed, and then taken up; 0 once it was. */
  expireTime: number;
  createTime: number;
  modifyTime: number;
}

/** Whether it still counts: one that was not taken up in time does not. */
export const stands = ({ state, expireTime }: Pick<Connection, 'state' | 'expireTime'>, now: number) =>
  state === 'connected' || now < expireTime;

/** The connection when its merchant has allowed it: the platform has a code to show. */
export function allowed(connection: Connection, codeHash: string, codeChallenge: string, now: number): Connection {
  const state = moved(connection, 'allow');
  return { ...connection, state, codeHash, codeChallenge, expireTime: now + lifetimes.code, modifyTime: now };
}

/** The connection with new tokens: the first, for its code, or others, for its refresh token. */
export function withTokens(
  connection: Connection,
  { accessHash, refreshHash }: { accessHash: string; refreshHash: string },
  now: number,
): Connection {
  return {
    ...connection,
    state: moved(connection, connection.state === 'allowed' ? 'connect' : 'renew'),
    accessHash,
    accessUntil: now + lifetimes.accessToken,
    refreshHash,
    formerRefreshHash: connection.refreshHash,
    expireTime: 0,
    modifyTime: now,
  };
}

/** An illegal move here is a bug of the caller, who has looked at the state under its lock. */
function moved({ connectionId, state }: Connection, move: (typeof connectionLifecycle.moves)[number]): ConnectionState {
  const next = connectionLifecycle.next(state, move);
  if (next === undefined) throw new Error(`connection ${connectionId} is ${state}: it cannot ${move}`);
  return next;
}
