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
 * Signs one attempt: HMAC-SHA256 over `id.timestamp.body`, one signature per secret (two during a rotation), so that a
 * receiver that knows either accepts it. The body is signed as the exact bytes that are sent. `timestampSeconds` is the
 * time of the attempt: receivers refuse one that is off by more than five minutes.
 * Throws on a malformed secret or an id with a dot, which would make the signed content ambiguous: both are bugs.
 */
export function sign(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: Buffer | string,
): SignatureHeaders {
  return signWithKeys(secrets.map(keyOf), id, timestampSeconds, body);
}

/** The same with the secrets' key bytes. */
export function signWithKeys(
  keys: readonly Buffer[],
  id: string,
  timestampSeconds: number,
  body: Buffer | string,
): SignatureHeaders {
  if (keys.length === 0) throw new Error('a webhook needs a secret to be signed with');
  if (id.includes('.')) throw new Error(`a webhook id must not contain a dot: ${id}`);
  if (!Number.isInteger(timestampSeconds)) throw new Error('a webhook timestamp is in whole seconds');
  const head = `${id}.${timestampSeconds}.`;
  const signatures = keys.map(key => `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
