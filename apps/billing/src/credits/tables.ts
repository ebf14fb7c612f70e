import { document, flag, int, integer, money, oneOf, table, text } from '@recur/platform';
import { creditMoves } from '../pricing/credit.js';
import { type AccountRow, creditRechargeLifecycle, type Recharge, type Transaction } from './domain/account.js';
import type { AccountType, CreditConfig } from './domain/config.js';

const accountTypes: readonly AccountType[] = ['main', 'promo'];

export const creditConfigs = table<CreditConfig>('credit_configs', {
  key: ['merchantId', 'configId'],
  columns: {
    merchantId: integer(),
    configId: integer(),
    type: text<AccountType>(),
    currency: text(),
    name: text(),
    description: text(),
    logo: text(),
    logoUrl: text(),
    metaData: document<Record<string, unknown>>(),
    exchangeRate: money(),
    recurring: flag(),
    discountCodeExclusive: flag(),
    previewDefaultUsed: flag(),
    payoutEnable: flag(),
    rechargeEnable: flag(),
    createTime: integer(),
    version: int(),
  },
  checks: {
    credit_configs_type: oneOf('type', accountTypes),
    credit_configs_rate: `exchange_rate >= 1 and (type <> 'main' or exchange_rate = 100)`,
  },
  indices: { credit_configs_one: { on: ['merchantId', 'type', 'currency'], unique: true } },
});

export const creditAccounts = table<AccountRow>('credit_accounts', {
  key: ['merchantId', 'creditId'],
  columns: {
    merchantId: integer(),
    creditId: integer(),
    userId: integer(),
    type: text<AccountType>(),
    currency: text(),
    balance: money(),
    totalIncrement: money(),
    totalDecrement: money(),
    lastSequence: integer(),
    createTime: integer(),
    version: int(),
  },
  checks: {
    credit_accounts_type: oneOf('type', accountTypes),
    credit_accounts_balance: 'balance >= 0 and balance = total_increment + total_decrement',
  },
  indices: {
    credit_accounts_one: { on: ['merchantId', 'userId', 'type', 'currency'], unique: true },
    credit_accounts_newest: { on: ['merchantId', 'createTime', 'creditId'] },
    credit_accounts_currency: { on: ['merchantId', 'currency', 'type'] },
  },
});

/** Entries of all accounts. The app's role may neither update nor delete them. */
export const creditTransactions = table<Transaction>('credit_transactions', {
  key: ['merchantId', 'creditId', 'sequence'],
  columns: {
    merchantId: integer(),
    creditId: integer(),
    sequence: integer(),
    id: integer(),
    transactionId: text(),
    userId: integer(),
    accountType: text<AccountType>(),
    currency: text(),
    move: text<Transaction['move']>(),
    delta: money(),
    before: money(),
    after: money(),
    exchangeRate: money(),
    bizId: text(),
    invoiceId: text(),
    name: text(),
    description: text(),
    by: text(),
    memberId: integer(),
    idempotencyKey: text(),
    createTime: integer(),
  },
  checks: {
    credit_transactions_type: oneOf('account_type', accountTypes),
    credit_transactions_move: oneOf('move', Object.keys(creditMoves)),
    credit_transactions_delta: 'delta <> 0 and after = before + delta and before >= 0 and after >= 0',
  },
  indices: {
    credit_transactions_key: {
      on: ['merchantId', 'idempotencyKey'],
      unique: true,
      where: `idempotency_key <> ''`,
    },
    credit_transactions_invoice: { on: ['merchantId', 'invoiceId'], where: `invoice_id <> ''` },
    credit_transactions_newest: { on: ['merchantId', 'accountType', 'createTime', 'id'] },
    credit_transactions_user: { on: ['merchantId', 'userId', 'createTime', 'id'] },
    credit_transactions_currency: { on: ['merchantId', 'currency', 'createTime', 'id'] },
    credit_transactions_moves: { on: ['merchantId', 'move', 'createTime', 'id'] },
  },
});

export const creditRecharges = table<Recharge>('credit_recharges', {
  key: ['merchantId', 'rechargeId'],
  columns: {
    merchantId: integer(),
    rechargeId: text(),
    id: integer(),
    status: text<Recharge['status']>(),
    creditId: integer(),
    userId: integer(),
    currency: text(),
    amount: money(),
    gatewayId: integer(),
    invoiceId: text(),
    paymentId: text(),
    name: text(),
    description: text(),
    createTime: integer(),
    paidTime: integer(),
  },
  checks: { credit_recharges_status: oneOf('status', creditRechargeLifecycle.states) },
  indices: { credit_recharges_invoice: { on: ['merchantId', 'invoiceId'], unique: true } },
});
