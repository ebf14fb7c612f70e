import { hash, randomBytes } from 'node:crypto';
import { type Removal, removedAtOnce, type Tx } from '@recur/platform';
import { type ClientSession, clientSessions } from './tables.js';

const limits = { sessionBytes: 32, sessionSeconds: 36_000 } as const;

export const removals: readonly Removal[] = [
  {
    keptSeconds: 0,
    remove: `delete from client_sessions where session_hash in (select session_hash from client_sessions
      where remove_time < $1 order by remove_time limit ${removedAtOnce}) returning 1`,
  },
];

/** What a session is opened for; what is absent was not said. */
export type Purpose = Pick<ClientSession, 'userId'> &
  Partial<
    Pick<ClientSession, 'returnUrl' | 'cancelUrl' | 'productId' | 'planId' | 'subscriptionId' | 'vatCountryCode'>
  >;

/**
 * Opens a session of the hosted pages. What it returns is the only copy of the session: of it, a hash is kept.
 * `wallSeconds` is the machine's time.
 */
export function openSession(tx: Tx, wallSeconds: number, purpose: Purpose) {
  const clientSession = randomBytes(limits.sessionBytes).toString('base64url');
  const sessionHash = hash('sha256', clientSession, 'base64url');
  tx.save(clientSessions, {
    returnUrl: '',
    cancelUrl: '',
    productId: 0,
    planId: 0,
    subscriptionId: '',
    vatCountryCode: '',
    ...purpose,
    sessionHash,
    merchantId: tx.merchantId,
    expireTime: tx.now + limits.sessionSeconds,
    removeTime: wallSeconds + limits.sessionSeconds,
  });
  return { clientSession, sessionHash };
}
