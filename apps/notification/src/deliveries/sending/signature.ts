import { createHmac } from 'node:crypto';
import { keyOf } from '../../endpoints/secrets.js';

/** Headers of every delivery, beside those of its signature. */
export const commonHeaders = { 'content-type': 'application/json', 'user-agent': 'recur-webhooks/1' } as const;

/** The headers that Standard Webhooks 1.0 asks for (https://www.standardwebhooks.com). */
export interface SignatureHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * Signs one attempt: HMAC-SHA256 over `id.timestamp.body`, one signature for each secret (during a rotation two), so
 * that a receiver which knows either accepts it. The body is signed as the exact bytes that are sent. `timestampSeconds`
 * is the time of the attempt: receivers refuse one that is off by more than five minutes.
 * Throws on a malformed secret or an id with a dot, which would make the signed content ambiguous: both are bugs.
 */
export function sign(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: Buffer | string,
): SignatureHeaders {
  if (secrets.length === 0) throw new Error('a webhook needs a secret to be signed with');
  if (id.includes('.')) throw new Error(`a webhook id must not hold a dot: ${id}`);
  if (!Number.isInteger(timestampSeconds)) throw new Error(`a webhook timestamp is in whole seconds`);
  const signatures = secrets.map(secret => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestampSeconds}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
