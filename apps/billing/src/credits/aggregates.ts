import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Account, AccountRow } from './domain/account.js';
import { type CreditConfig, termsOf } from './domain/config.js';
import { creditAccounts, creditConfigs } from './tables.js';
import { creditAccountView, creditConfigView } from './views.js';

type Updated = 'credit.account.updated';
type Configured = 'credit.config.created' | 'credit.config.updated';

export const creditAccount: AggregateOf<Updated, AccountRow, Account, contract.CreditAccount> = aggregate({
  name: 'creditAccount',
  title: 'CreditAccount',
  events: contract.events,
  table: creditAccounts,
  key: 'creditId',
  load: async (loader, row: AccountRow): Promise<Account> => {
    const config = await loader.find(creditConfigs, { type: row.type, currency: row.currency });
    return { ...row, terms: termsOf(config) };
  },
  ids: ({ userId }) => ({ userId }),
  view: account => creditAccountView(account),
});

export const creditConfig: AggregateOf<Configured, CreditConfig, CreditConfig, contract.CreditConfig> = aggregate({
  name: 'creditConfig',
  title: 'CreditConfig',
  events: contract.events,
  table: creditConfigs,
  key: 'configId',
  target: ({ configId, type, currency }) => `${configId}-${type}-${currency}`,
  view: config => creditConfigView(config),
});
