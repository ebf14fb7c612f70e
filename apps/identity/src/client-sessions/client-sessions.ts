import { hash, randomBytes } from 'node:crypto';
import { type Removal, removedAtOnce, type Tx } from '@recur/platform';
import { type ClientSession, clientSessions } from './tables.js';

const sessionBytes = 32;
const sessionSeconds = 36_000;

/** Deletes expired sessions in batches. */
export const removals: readonly Removal[] = [
  {
    keptSeconds: 0,
    remove: `delete from client_sessions where session_hash in (select session_hash from client_sessions
      where remove_time < $1 order by remove_time limit ${removedAtOnce}) returning 1`,
  },
];

/** The purpose of a session: the user and, optionally, what the pages are to show. */
export type Purpose = Pick<ClientSession, 'userId'> &
  Partial<
    Pick<ClientSession, 'returnUrl' | 'cancelUrl' | 'productId' | 'planId' | 'subscriptionId' | 'vatCountryCode'>
  >;

/**
 * Opens a session of the hosted pages and returns the only copy of its secret: the database holds a hash.
 * `wallSeconds` is the machine's time.
 */
export function openSession(tx: Tx, wallSeconds: number, purpose: Purpose) {
  const clientSession = randomBytes(sessionBytes).toString('base64url');
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
    expireTime: wallSeconds + sessionSeconds,
    exchangeTime: 0,
    removeTime: wallSeconds + sessionSeconds,
  });
  return { clientSession, sessionHash };
}
