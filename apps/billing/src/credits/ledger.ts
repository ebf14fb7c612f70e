import type { CreditAccount } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { creditAccount } from './aggregates.js';
import { type Account, type Posting, post, type Transaction } from './domain/account.js';
import type { AccountType } from './domain/config.js';
import { creditAccounts, creditTransactions } from './tables.js';

/** Identifies an account within its merchant. */
export interface AccountKey {
  userId: number;
  type: AccountType;
  currency: string;
}

/** Locks an account, if the user has one. A transaction that locks both types locks promo first. */
export const lockAccount = (tx: Tx, { userId, type, currency }: AccountKey): Promise<Account | undefined> =>
  tx.lockIfAny(creditAccount, { userId, type, currency });

/** Locks an account; adds it at its first use. */
export async function openAccount(tx: Tx, key: AccountKey): Promise<Account> {
  const found = await lockAccount(tx, key);
  if (found) return found;
  const { userId, type, currency } = key;
  // inserted at once, so that a second use within the transaction finds it, and a concurrent first use waits for it
  await tx.run(
    `insert into credit_accounts (merchant_id, credit_id, user_id, type, currency, balance, total_increment,
       total_decrement, last_sequence, create_time, version)
     values ($1, $2, $3, $4, $5, 0, 0, 0, 0, $6, 0) on conflict (merchant_id, user_id, type, currency) do nothing`,
    [tx.merchantId, await tx.nextId(creditAccounts), userId, type, currency, tx.now],
  );
  return tx.lock(creditAccount, { userId, type, currency }, 'credit_account_not_found');
}

/** An account after a posting, as stored and as shown, and the entry. */
export interface Posted {
  account: Account;
  view: CreditAccount;
  transaction: Transaction;
}

/** Books on a locked account. See `post` for what it throws. */
export async function postTo(tx: Tx, account: Account, posting: Posting): Promise<Posted> {
  const id = await tx.nextId(creditTransactions);
  const [next, transaction] = post(account, posting, { id, transactionId: tx.newId('ct_'), now: tx.now });
  tx.save(creditTransactions, transaction);
  const view = tx.step(creditAccount, next, 'credit.account.updated');
  return { account: next, view, transaction };
}
