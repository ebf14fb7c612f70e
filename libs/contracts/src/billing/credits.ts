import { z } from 'zod';
import { creditAccountType, creditTransactionType } from '../codes.js';
import { amount, code, integer, type Shape, text, time } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const creditAccount = z.object({
  id: integer,
  createTime: time,
  type: code(creditAccountType),
  userId: integer,
  payoutEnable: integer,
  rechargeEnable: integer,
  amount: integer,
  currencyAmount: amount,
  exchangeRate: integer,
  totalDecrementAmount: integer,
  totalIncrementAmount: integer,
  currency: text,
  user: User.nullable(),
});
export interface CreditAccount extends z.output<typeof creditAccount> {}
export const CreditAccount: Shape<CreditAccount> = creditAccount.meta({ id: 'CreditAccount' });

const creditTransaction = z.object({
  accountType: code(creditAccountType),
  creditId: integer,
  id: integer,
  merchantId: integer,
  transactionType: code(creditTransactionType),
  userId: integer,
  createTime: time,
  creditAmountAfter: integer,
  creditAmountBefore: integer,
  deltaAmount: integer,
  deltaCurrencyAmount: amount,
  exchangeRate: integer,
  bizId: text,
  by: text,
  currency: text,
  description: text,
  invoiceId: text,
  name: text,
  transactionId: text,
});
export interface CreditTransaction extends z.output<typeof creditTransaction> {}
export const CreditTransaction: Shape<CreditTransaction> = creditTransaction.meta({
  id: 'CreditTransaction',
});

const creditPayout = z.object({
  creditAmount: integer,
  currencyAmount: amount,
  exchangeRate: integer,
});
export interface CreditPayout extends z.output<typeof creditPayout> {}
export const CreditPayout: Shape<CreditPayout> = creditPayout.meta({ id: 'CreditPayout' });

export const creditDetail = operation({
  service: 'billing',
  name: 'credit.detail',
  methods: ['POST'],
  path: '/merchant/credit/detail',
  summary: 'A credit account and its transactions, newest first',
  effect: 'read',
  permission: 'promo-credit.read',
  input: z.object({ id: input.integer }),
  output: z.object({ creditAccount: CreditAccount, creditTransactions: z.array(CreditTransaction) }),
  errors: ['credit_account_not_found'],
});
