import { z } from 'zod';
import { creditAccountType, creditTransactionType } from '../codes.js';
import { amount, code, integer, type Shape, text, time } from '../field.js';
import { User } from './user.js';

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
