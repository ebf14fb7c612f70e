import { emptyOf, MerchantState } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks } from '@recur/platform';
import { type MerchantCopy, merchants } from './tables.js';

const unknown = emptyOf(MerchantState);

/** The merchant itself, for a preview; a transaction asks identity for a missing copy, as `ownMerchant` does. */
export async function knownMerchant(reader: Peeking | Peeks): Promise<MerchantState> {
  if ('stale' in reader) return ownMerchant(reader);
  return (await reader.peek(merchants, {}))?.data ?? unknown;
}

/** The merchant as it was found first in a transaction. */
const found = new WeakMap<Peeks, Promise<MerchantCopy | undefined>>();

/**
 * The merchant itself. A missing copy, or one that is known to lag, is asked of identity: throws Stale, carrying Rejected
 * `permission_denied`.
 */
export async function ownMerchant(reader: Peeks): Promise<MerchantState> {
  reader.fresh('merchants', reader.merchantId);
  const asked = found.get(reader) ?? reader.peek(merchants, {});
  found.set(reader, asked);
  const copy = await asked;
  if (!copy) throw reader.stale('merchants', reader.merchantId, new Rejected('permission_denied'));
  return copy.data;
}

/** Country of the merchant, as `knownMerchant` finds it; '' for a read without a copy of it. */
export const sellerCountry = async (reader: Peeking | Peeks): Promise<string> =>
  (await knownMerchant(reader)).countryCode;
