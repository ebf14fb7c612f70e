import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Account, AccountRow, Recharge, Transaction } from './domain/account.js';
import { type AccountType, type CreditConfig, creditTerms, worthOf } from './domain/config.js';
import { creditAccounts, creditConfigs } from './tables.js';

const emptyAccount = contract.emptyOf(contract.CreditAccount);
const emptyTransaction = contract.emptyOf(contract.CreditTransaction);
const emptyRecharge = contract.emptyOf(contract.CreditRecharge);
const emptyConfig = contract.emptyOf(contract.CreditConfig);

const yesNo = (flag: boolean): number => contract.noYes[flag ? 'yes' : 'no'];

/** A number of the wire goes no further: the worth of many credits at a high rate may be larger, and so may totals. */
const safeNumber = (value: bigint): number => Math.min(Number(value), Number.MAX_SAFE_INTEGER);

const shownWorth = (type: AccountType, amount: bigint, rate: bigint, currency: string): number =>
  safeNumber(worthOf(type, amount, rate, contract.exponentOf(currency)));

/** A credit account as the API shows it. The user is passed only for answers: it changes independently. */
export function creditAccountView(account: Account, user: contract.User | null = null): contract.CreditAccount {
  const { creditId, userId, type, currency, balance, totalIncrement, totalDecrement, createTime, terms } = account;
  return {
    ...emptyAccount,
    id: creditId,
    userId,
    type: contract.creditAccountType[type],
    currency,
    createTime,
    amount: Number(balance),
    currencyAmount: shownWorth(type, balance, terms.exchangeRate, currency),
    exchangeRate: Number(terms.exchangeRate),
    payoutEnable: yesNo(terms.payoutEnable),
    rechargeEnable: yesNo(terms.rechargeEnable),
    totalIncrementAmount: Number(totalIncrement),
    totalDecrementAmount: Number(totalDecrement),
    user,
  };
}

export function creditTransactionView(transaction: Transaction): contract.CreditTransaction {
  const { accountType, currency, delta, exchangeRate, move, before, after } = transaction;
  const { merchantId, creditId, id, transactionId, userId, bizId, invoiceId, name, description, by, createTime } =
    transaction;
  const worth = shownWorth(accountType, delta < 0n ? -delta : delta, exchangeRate, currency);
  return {
    ...emptyTransaction,
    merchantId,
    creditId,
    id,
    transactionId,
    userId,
    bizId,
    invoiceId,
    name,
    description,
    by,
    createTime,
    currency,
    accountType: contract.creditAccountType[accountType],
    transactionType: contract.creditTransactionType[move],
    deltaAmount: Number(delta),
    deltaCurrencyAmount: delta < 0n ? -worth : worth,
    creditAmountBefore: Number(before),
    creditAmountAfter: Number(after),
    exchangeRate: Number(exchangeRate),
  };
}

/** Totals over the accounts that a config concerns. */
export interface Totals {
  increment: bigint;
  decrement: bigint;
}

/** Absent totals are left at 0: events carry none. */
export function creditConfigView(config: CreditConfig, totals?: Totals): contract.CreditConfig {
  const { merchantId, configId, type, currency, name, description, logo, logoUrl, metaData, createTime } = config;
  return {
    ...emptyConfig,
    merchantId,
    id: configId,
    currency,
    name,
    description,
    logo,
    logoUrl,
    metaData,
    createTime,
    type: contract.creditAccountType[type],
    exchangeRate: Number(config.exchangeRate),
    recurring: yesNo(config.recurring),
    discountCodeExclusive: yesNo(config.discountCodeExclusive),
    previewDefaultUsed: yesNo(config.previewDefaultUsed),
    payoutEnable: yesNo(config.payoutEnable),
    rechargeEnable: yesNo(config.rechargeEnable),
    totalIncrementAmount: safeNumber(totals?.increment ?? 0n),
    totalDecrementAmount: -safeNumber(-(totals?.decrement ?? 0n)),
  };
}

export function creditRechargeView(recharge: Recharge): contract.CreditRecharge {
  const { rechargeId, id, creditId, userId, currency, amount, gatewayId, invoiceId, paymentId } = recharge;
  const { name, description, createTime, paidTime, status } = recharge;
  return {
    ...emptyRecharge,
    rechargeId,
    id,
    creditId,
    userId,
    currency,
    gatewayId,
    invoiceId,
    paymentId,
    name,
    description,
    createTime,
    paidTime,
    accountType: contract.creditAccountType.main,
    rechargeStatus: contract.creditRechargeStatus[status],
    totalAmount: Number(amount),
    paymentAmount: String(amount),
  };
}

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
    return { ...row, terms: creditTerms(config) };
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
