import { type CreditAccount, creditTransactionType, exponentOf } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import { type CreditMove, promoOn } from '../pricing/credit.js';
import { settle } from '../pricing/settle.js';
import { type Account, type AccountRow, type Posting, post, type Transaction } from './domain/account.js';
import { type AccountType, type CreditTerms, creditTerms } from './domain/config.js';
import { creditAccounts, creditConfigs, creditTransactions } from './tables.js';
import { creditAccount } from './views.js';

// Verbs for other wings. They write no log entry: the command that calls them does. A transaction that uses both
// accounts of a user takes promo credit first.

type Owner = Pick<AccountKey, 'userId' | 'currency'>;
interface OfInvoice extends Owner {
  invoiceId: string;
}

/** Promo credit taken: its value in minor units, the credits that it costs, and the rate in hundredths. */
export interface PromoApplied {
  money: bigint;
  credits: bigint;
  rate: bigint;
}

/**
 * Takes promo credit for `base` minor units, at most `cap` credits. Undefined, and nothing is changed, where nothing can
 * be taken: no account, no whole minor unit, or a config that allows no payout.
 */
export async function spendPromo(
  tx: Tx,
  { userId, currency, base, cap, invoiceId }: OfInvoice & { base: bigint; cap?: bigint },
): Promise<PromoApplied | undefined> {
  if (base <= 0n) return undefined;
  const account = await lockAccount(tx, { userId, type: 'promo', currency });
  if (!account?.terms.payoutEnable) return undefined;
  const taken = promoFrom(account, base, cap);
  if (taken) await postTo(tx, account, { move: 'payout', delta: -taken.credits, invoiceId, bizId: invoiceId });
  return taken;
}

function promoFrom({ balance, currency, terms }: Account, base: bigint, cap?: bigint): PromoApplied | undefined {
  const { exchangeRate: rate } = terms;
  const limits = { balance, exchangeRate: rate, decimals: exponentOf(currency), ...(cap !== undefined && { cap }) };
  const { amount: money, credits } = promoOn(base, limits);
  return credits === 0n ? undefined : { money, credits, rate };
}

/** Returns promo credits, at the rate at which the invoice took them; the current one where it took none. */
export async function returnPromo(
  tx: Tx,
  { userId, currency, credits, invoiceId }: OfInvoice & { credits: bigint },
): Promise<void> {
  if (credits === 0n) return;
  const account = await openAccount(tx, { userId, type: 'promo', currency });
  const where = { creditId: account.creditId, invoiceId, move: 'payout' } as const;
  // by the index on invoices, whose condition it repeats
  const [spent] = await tx.all(creditTransactions, where, `and invoice_id <> '' order by id desc limit 1`);
  const exchangeRate = spent?.exchangeRate ?? account.terms.exchangeRate;
  await postTo(tx, account, { move: 'refund', delta: credits, exchangeRate, invoiceId, bizId: invoiceId });
}

/**
 * Takes main credit for `due` minor units and returns how much: the balance, at most `due`, less where the rest would
 * fall below `minimum`. 0 without an account, or where its config allows no payout.
 */
export async function spendMain(
  tx: Tx,
  { userId, currency, due, minimum, invoiceId }: OfInvoice & { due: bigint; minimum: bigint },
): Promise<bigint> {
  if (due <= 0n) return 0n;
  const account = await lockAccount(tx, { userId, type: 'main', currency });
  if (!account?.terms.payoutEnable) return 0n;
  const { creditSpent } = settle(due, account.balance, minimum);
  if (creditSpent === 0n) return 0n;
  await postTo(tx, account, { move: 'payout', delta: -creditSpent, invoiceId, bizId: invoiceId });
  return creditSpent;
}

/** Returns main credit that an invoice took. */
export const returnMain = (tx: Tx, { amount, ...of }: OfInvoice & { amount: bigint }): Promise<void> =>
  addMain(tx, { ...of, amount, type: creditTransactionType.refund });

/** Adds to the main account: `type` is a code of CreditTransaction.transactionType, `amount` is not negative. */
export async function addMain(
  tx: Tx,
  {
    userId,
    currency,
    amount,
    type,
    invoiceId,
    bizId = invoiceId,
    name = '',
    description = '',
  }: OfInvoice & { amount: bigint; type: number; bizId?: string; name?: string; description?: string },
): Promise<void> {
  if (amount === 0n) return;
  const account = await openAccount(tx, { userId, type: 'main', currency });
  await postTo(tx, account, { move: moveOf(type), delta: amount, invoiceId, bizId, name, description });
}

function moveOf(type: number): CreditMove {
  const moves = Object.keys(creditTransactionType) as CreditMove[];
  const move = moves.find(name => creditTransactionType[name] === type);
  if (move === undefined) throw new RangeError(`no transaction type ${type}`);
  return move;
}

/** A balance as an invoice may spend from it, with the terms of its config; nothing is locked. */
export async function balanceOf(
  reader: Reader,
  { userId, type, currency }: AccountKey,
): Promise<{ balance: bigint; terms: CreditTerms }> {
  const [account, terms] = await Promise.all([
    reader.find(creditAccounts, { userId, type, currency }),
    creditTermsOf(reader, type, currency),
  ]);
  return { balance: terms.payoutEnable ? (account?.balance ?? 0n) : 0n, terms };
}

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
  const { view } = tx.step(creditAccount, next, 'credit.account.updated');
  return { account: next, view, transaction };
}

/** Accounts with the terms of their configs, of which a merchant has few. */
export async function withTerms(reader: Reader, rows: readonly AccountRow[]): Promise<Account[]> {
  const configs = await reader.all(creditConfigs, {});
  return rows.map(row => {
    const config = configs.find(({ type, currency }) => type === row.type && currency === row.currency);
    return { ...row, terms: creditTerms(config) };
  });
}

/** The terms of accounts of a type and currency: those of the config, or the defaults. */
export const creditTermsOf = async (reader: Reader, type: AccountType, currency: string): Promise<CreditTerms> =>
  creditTerms(await reader.find(creditConfigs, { type, currency }));
