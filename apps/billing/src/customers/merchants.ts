import { emptyOf, MerchantState } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks } from '@recur/platform';
import { merchants } from './tables.js';

const unknown = emptyOf(MerchantState);

/** The merchant itself, for a preview; a transaction asks identity for a missing copy, as `ownMerchant` does. */
export async function knownMerchant(reader: Peeking | Peeks): Promise<MerchantState> {
  if ('stale' in reader) return ownMerchant(reader);
  return (await reader.peek(merchants, {}))?.data ?? unknown;
}

/** The merchant itself. A missing copy is asked of identity: throws Stale, carrying Rejected `permission_denied`. */
export async function ownMerchant(reader: Peeks): Promise<MerchantState> {
  const copy = await reader.peek(merchants, {});
  if (!copy) throw reader.stale('merchants', reader.merchantId, new Rejected('permission_denied'));
  return copy.data;
}

/** Country of the merchant, for reads that ask nobody; '' without a copy of it. */
export const sellerCountry = async (reader: Peeking): Promise<string> =>
  (await reader.peek(merchants, {}))?.data.countryCode ?? '';
