import { emptyOf, InvoiceMerchant, MerchantMember, MerchantState } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { CommandReader, PeekReader } from '@recur/platform';
import { type MerchantCopy, merchants } from './tables.js';

const unknownMerchant = emptyOf(MerchantState);

/** Merchants and members as documents and lists show them, with nothing known. */
export const emptyMerchant = emptyOf(InvoiceMerchant);
export const emptyMember = emptyOf(MerchantMember);

/** The merchant itself, for a preview; a transaction asks identity for a missing copy, as `ownMerchant` does. */
export async function knownMerchant(reader: PeekReader | CommandReader): Promise<MerchantState> {
  if ('stale' in reader) return ownMerchant(reader);
  return (await reader.peek(merchants, {}))?.data ?? unknownMerchant;
}

/** The merchant as it was found first in a transaction. */
const merchantsFound = new WeakMap<CommandReader, Promise<MerchantCopy | undefined>>();

/**
 * The merchant itself. A missing copy, or one that is known to lag, is asked of identity: throws Stale, carrying Rejected
 * `permission_denied`.
 */
export async function ownMerchant(reader: CommandReader): Promise<MerchantState> {
  reader.fresh('merchants', reader.merchantId);
  const asked = merchantsFound.get(reader) ?? reader.peek(merchants, {});
  merchantsFound.set(reader, asked);
  const copy = await asked;
  if (!copy) throw reader.stale('merchants', reader.merchantId, new Rejected('permission_denied'));
  return copy.data;
}

/** Country of the merchant, as `knownMerchant` finds it; '' for a read without a copy of it. */
export const sellerCountry = async (reader: PeekReader | CommandReader): Promise<string> =>
  (await knownMerchant(reader)).countryCode;
