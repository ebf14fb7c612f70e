import type { MerchantState } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks } from '@recur/platform';
import { merchants } from './tables.js';

/** The merchant itself. A missing copy is asked of identity: throws Stale, carrying Rejected `permission_denied`. */
export async function ownMerchant(reader: Peeks): Promise<MerchantState> {
  const copy = await reader.peek(merchants, {});
  if (!copy) throw reader.stale('merchants', reader.merchantId, new Rejected('permission_denied'));
  return copy.data;
}

/** Country of the merchant, for reads that ask nobody; '' without a copy of it. */
export const sellerCountry = async (reader: Peeking): Promise<string> =>
  (await reader.peek(merchants, {}))?.data.countryCode ?? '';
