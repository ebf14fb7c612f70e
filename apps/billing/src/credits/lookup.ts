import type { Reader } from '@recur/platform';
import type { Account, AccountRow } from './domain/account.js';
import { type AccountType, type CreditTerms, termsOf } from './domain/config.js';
import { creditConfigs } from './tables.js';

/** Accounts with the terms of their configs, of which a merchant has few. */
export async function withTerms(reader: Reader, rows: readonly AccountRow[]): Promise<Account[]> {
  const configs = await reader.all(creditConfigs, {});
  return rows.map(row => {
    const config = configs.find(({ type, currency }) => type === row.type && currency === row.currency);
    return { ...row, terms: termsOf(config) };
  });
}

/** The terms of accounts of a type and currency: those of the config, or the defaults. */
export const creditTermsOf = async (reader: Reader, type: AccountType, currency: string): Promise<CreditTerms> =>
  termsOf(await reader.find(creditConfigs, { type, currency }));
