import type { Keyring } from '@recur/platform';
import type { EndpointRow } from './tables.js';

const prefix = 'whsec_';
const secretBytes = 32;

/** A new signing secret, `whsec_<base64>`. `randomBytes` is node:crypto's, or a test's. */
export function newSecret(randomBytes: (size: number) => Buffer): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

/** The key bytes of a secret. Throws on a malformed one; the message does not contain the secret. */
export function keyOf(secret: string): Buffer {
  const key = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.alloc(0);
  if (key.length !== secretBytes) throw new Error('a webhook secret is malformed');
  return key;
}

type EndpointIds = Pick<EndpointRow, 'merchantId' | 'endpointId'>;
/** Additional data of the two sealed columns: a ciphertext is only valid in its own row and column. */
const currentContext = ({ merchantId, endpointId }: EndpointIds) =>
  `endpoints.sealed_secret ${merchantId} ${endpointId}`;
const formerContext = ({ merchantId, endpointId }: EndpointIds) =>
  `endpoints.sealed_former ${merchantId} ${endpointId}`;

/** Encrypted signing secrets of an endpoint; `sealedFormer` is null unless the previous secret is still valid. */
export type Sealed = EndpointIds & Pick<EndpointRow, 'sealedSecret' | 'sealedFormer'>;

export const sealSecret = (keyring: Keyring, secret: string, ids: EndpointIds) =>
  keyring.seal(secret, currentContext(ids));
export const sealFormer = (keyring: Keyring, secret: string, ids: EndpointIds) =>
  keyring.seal(secret, formerContext(ids));

export function openSecret(
  keyring: Keyring,
  { sealedSecret, ...ids }: EndpointIds & Pick<EndpointRow, 'sealedSecret'>,
): string {
  return keyring.open(sealedSecret, currentContext(ids));
}

/** The secrets that sign a delivery, the current one first. */
export function openSecrets(keyring: Keyring, sealed: Sealed): string[] {
  const { sealedFormer } = sealed;
  const former = sealedFormer === null ? [] : [keyring.open(sealedFormer, formerContext(sealed))];
  return [openSecret(keyring, sealed), ...former];
}
