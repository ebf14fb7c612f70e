import { emptyOf, InvoiceMerchant, type MerchantState, type User } from '@recur/contracts';
import type { Peeks } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import { findUser } from '../../customers/users.js';
import { countryName } from '../../tax/countries.js';
import type { InvoiceRow } from '../tables.js';

const emptyMerchant = emptyOf(InvoiceMerchant);

/** The parties of a document, as they are now. They are frozen on it when it is finished. */
export interface Parties {
  merchant: MerchantState;
  seller: InvoiceMerchant;
  buyer: User | null;
}

/** The parties of a document. A VAT number and a country that were given with the order are the buyer's. */
export async function partiesOf(
  reader: Peeks,
  { userId, billed }: Pick<InvoiceRow, 'userId' | 'billed'>,
): Promise<Parties> {
  const [merchant, user] = await Promise.all([ownMerchant(reader), findUser(reader, { userId })]);
  const shown = Object.entries(merchant).filter(([field]) => field in emptyMerchant);
  return { merchant, seller: { ...emptyMerchant, ...Object.fromEntries(shown) }, buyer: buyerOf(user?.data, billed) };
}

function buyerOf(user: User | undefined, billed: InvoiceRow['billed']): User | null {
  if (!user) return null;
  const { vatNumber = '', countryCode = '' } = billed ?? {};
  return {
    ...user,
    ...(vatNumber !== '' && { vATNumber: vatNumber }),
    ...(countryCode !== '' &&
      countryCode !== user.countryCode && { countryCode, countryName: countryName(countryCode) }),
  };
}

/** The buyer as it is now; undefined for a user without a copy. */
export const buyerNow = async (reader: Peeks, userId: number): Promise<User | undefined> =>
  (await findUser(reader, { userId }))?.data;
