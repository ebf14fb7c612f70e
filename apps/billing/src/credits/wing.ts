import type { Wing } from '@recur/platform';
import { CreditAccounts } from './accounts.js';
import { CreditConfigs } from './configs.js';
import { PromoChanges } from './promo-changes.js';
import { creditAccounts, creditConfigs, creditRecharges, creditTransactions } from './tables.js';
import { creditAccount, creditConfig } from './views.js';

/** Credit accounts and their ledgers. */
export const creditsWing: Wing = {
  tables: [creditConfigs, creditAccounts, creditTransactions, creditRecharges],
  aggregates: { creditAccount, creditConfig },
  controllers: [CreditAccounts, CreditConfigs, PromoChanges],
};
