import { Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { covers, grantIn, rolesOf } from '../members/grants.js';
import type { Member } from '../members/tables.js';
import type { Provider } from './provider-keys.js';
import { type AuthProviderRow, authProviders } from './tables.js';

/**
 * True if a provider may identify a member. A person who set a provider's key could sign tokens for any member, so a provider
 * identifies only members that may do no more than that person could.
 */
export async function mayIdentify(reader: Reader, { granted }: Provider, member: Member): Promise<boolean> {
  return covers(granted, grantIn(await rolesOf(reader, [member]), member));
}

/** True if two states of a provider verify tokens with different keys, or of different issuers. */
export const isOtherKey = (one: AuthProviderRow, other: AuthProviderRow): boolean =>
  one.issuer !== other.issuer ||
  one.keySource !== other.keySource ||
  one.jwksUrl !== other.jwksUrl ||
  one.publicKey !== other.publicKey ||
  one.sealedSecret !== other.sealedSecret;

/** Unlinks all identities of these issuers: another key, or none, verifies their tokens from now on. */
export async function unlinkIssuers(tx: Tx, issuers: readonly string[]): Promise<void> {
  await tx.run(
    'update oauth_accounts set cleared_time = $3 where merchant_id = $1 and issuer = any($2) and cleared_time = 0',
    [tx.merchantId, issuers, tx.now],
  );
}

/** Locks the provider of a new link. Refuses one that changed since it verified the token. */
export async function lockUnchanged(tx: Tx, { id, version, isDeployments }: Provider): Promise<void> {
  if (isDeployments) return;
  const row = await tx.lockIfAny(authProviders, { id, deletedTime: 0 });
  if (row?.version !== version) throw new Rejected('credential_invalid');
}
