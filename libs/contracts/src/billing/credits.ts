import { z } from 'zod';
import { creditAccountType, creditTransactionType } from '../codes.js';
import { amount, anyObject, code, integer, type Shape, text, time } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const rate = z.int().describe('Value of a credit in hundredths of a major unit: 100 is one major unit');
const balance = z.int().describe('Minor units in a main account, credits in a promo account');
const switched = z.int().describe('0 no · 1 yes');

const creditAccount = z.object({
  id: integer,
  createTime: time,
  type: code(creditAccountType),
  userId: integer,
  payoutEnable: switched.describe('1: invoices may be paid from the account'),
  rechargeEnable: switched.describe('1: the account may be recharged'),
  amount: balance,
  currencyAmount: amount,
  exchangeRate: rate,
  totalDecrementAmount: z.int().describe('Sum of the negative changes: a negative number'),
  totalIncrementAmount: z.int().describe('Sum of the positive changes'),
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

const creditConfig = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  type: code(creditAccountType),
  currency: text,
  name: text,
  description: text,
  logo: text,
  logoUrl: text,
  metaData: anyObject,
  exchangeRate: rate,
  discountCodeExclusive: switched.describe('1: promo credit is never taken beside a discount code'),
  payoutEnable: switched.describe('1: invoices may be paid from accounts'),
  previewDefaultUsed: switched.describe('1: previews apply promo credit unless told otherwise'),
  rechargeEnable: switched.describe('1: accounts may be recharged'),
  recurring: switched.describe('1: cycle invoices take promo credit unasked'),
  totalDecrementAmount: z.int().describe('Of all accounts of this type and currency: a negative number'),
  totalIncrementAmount: z.int().describe('Of all accounts of this type and currency'),
});
export interface CreditConfig extends z.output<typeof creditConfig> {}
export const CreditConfig: Shape<CreditConfig> = creditConfig.meta({ id: 'CreditConfig' });

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
