import { emptyOf, InvoiceMerchant, type MerchantState, type User } from '@recur/contracts';
import type { Peeks } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import { findUser } from '../../customers/users.js';

const emptyMerchant = emptyOf(InvoiceMerchant);

/** The parties of a document, as they are now. They are frozen on it when it is finished. */
export interface Parties {
  merchant: MerchantState;
  seller: InvoiceMerchant;
  buyer: User | null;
}

export async function partiesOf(reader: Peeks, userId: number): Promise<Parties> {
  const [merchant, user] = await Promise.all([ownMerchant(reader), findUser(reader, { userId })]);
  const shown = Object.entries(merchant).filter(([field]) => field in emptyMerchant);
  return { merchant, seller: { ...emptyMerchant, ...Object.fromEntries(shown) }, buyer: user?.data ?? null };
}

/** The buyer as it is now; undefined for a user without a copy. */
export const buyerNow = async (reader: Peeks, userId: number): Promise<User | undefined> =>
  (await findUser(reader, { userId }))?.data;
