import { z } from 'zod';
import { creditAccountType, creditRechargeStatus, creditTransactionType } from '../../codes.js';
import { amount, anyObject, code, integer, meanings, type Shape, text, time } from '../../field.js';
import { MerchantMember } from '../../identity/members.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';

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

const creditRecharge = z.object({
  id: integer,
  rechargeId: text,
  rechargeStatus: code(creditRechargeStatus),
  accountType: code(creditAccountType),
  creditId: integer,
  userId: integer,
  currency: text,
  totalAmount: amount,
  totalRefundAmount: amount,
  paymentAmount: z.string().describe('totalAmount as text'),
  gatewayId: integer,
  invoiceId: text,
  paymentId: text,
  name: text,
  description: text,
  createTime: time,
  paidTime: time,
});
export interface CreditRecharge extends z.output<typeof creditRecharge> {}
export const CreditRecharge: Shape<CreditRecharge> = creditRecharge.meta({ id: 'CreditRecharge' });

const creditPayout = z.object({
  creditAmount: integer,
  currencyAmount: amount,
  exchangeRate: integer,
});
export interface CreditPayout extends z.output<typeof creditPayout> {}
export const CreditPayout: Shape<CreditPayout> = creditPayout.meta({ id: 'CreditPayout' });

const creditTransactionDetail = creditTransaction.extend({
  adminMember: MerchantMember.nullable().describe('The member who made the change; only id and e-mail are known'),
  creditAccount: CreditAccount.nullable(),
  user: User.nullable(),
});
export interface CreditTransactionDetail extends z.output<typeof creditTransactionDetail> {}
export const CreditTransactionDetail: Shape<CreditTransactionDetail> = creditTransactionDetail.meta({
  id: 'CreditTransactionDetail',
});

const base = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'promo-credit.write' } as const;
const reading = { ...base, effect: 'read', methods: ['GET', 'POST'], permission: 'promo-credit.read' } as const;

export const creditDetail = operation({
  ...reading,
  name: 'credit.detail',
  methods: ['POST'],
  path: '/merchant/credit/detail',
  summary: 'A credit account and its transactions, newest first: the last 1000',
  input: z.object({ id: input.integer }),
  output: z.object({ creditAccount: CreditAccount, creditTransactions: z.array(CreditTransaction) }),
  errors: ['credit_account_not_found'],
});

export const listCreditConfigs = operation({
  ...reading,
  name: 'credit.config_list',
  path: '/merchant/credit/config_list',
  summary: 'Credit configs in the order in which they were made; filtered by currency and types',
  input: z.object({ currency: input.optionalCurrency, types: input.q.ints().default([]) }),
  output: z.object({ creditConfigs: z.array(CreditConfig) }),
  errors: [],
});

const configured = {
  currency: input.Currency,
  type: input.code(creditAccountType),
  description: input.prose,
  name: input.line,
  logo: input.optionalUrl,
  logoUrl: input.optionalUrl,
  metaData: input.metadata,
  exchangeRate: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe('Value of a credit in hundredths of a major unit; 100 for main accounts, whose amounts are money'),
  discountCodeExclusive: input.yesNo.describe('1: promo credit is never taken beside a discount code'),
  payoutEnable: input.yesNo.describe('1: invoices may be paid from accounts'),
  previewDefaultUsed: input.yesNo.describe('1: previews apply promo credit unless told otherwise'),
  rechargeEnable: input.yesNo.describe('1: accounts may be recharged'),
  recurring: input.yesNo.describe('1: cycle invoices take promo credit unasked'),
};

export const newCreditConfig = operation({
  ...base,
  name: 'credit.new_config',
  path: '/merchant/credit/new_config',
  summary: 'Add the config of the credit accounts of one type and currency',
  input: z.object({
    ...configured,
    description: configured.description.default(''),
    name: configured.name.default(''),
    logo: configured.logo.default(''),
    logoUrl: configured.logoUrl.default(''),
    metaData: configured.metaData.default({}),
    exchangeRate: configured.exchangeRate.default(100),
    discountCodeExclusive: configured.discountCodeExclusive.default(0),
    payoutEnable: configured.payoutEnable.default(1),
    previewDefaultUsed: configured.previewDefaultUsed.default(0),
    rechargeEnable: configured.rechargeEnable.default(1),
    recurring: configured.recurring.default(0),
  }),
  output: z.object({ creditConfig: CreditConfig }),
  errors: ['credit_config_exists'],
});

export const editCreditConfig = operation({
  ...base,
  name: 'credit.edit_config',
  path: '/merchant/credit/edit_config',
  summary: 'Change the config of a type and currency; only the fields sent change',
  input: z.object(configured).partial().required({ currency: true, type: true }),
  output: z.object({ creditConfig: CreditConfig }),
  errors: ['credit_config_not_found'],
});

const listed = { ...input.sorting('createTime'), ...input.createdWithin, ...input.paging };
const ofUser = { userId: input.q.int().default(0), email: input.line.default('') };

export const listCreditAccounts = operation({
  ...reading,
  name: 'credit.credit_account_list',
  path: '/merchant/credit/credit_account_list',
  summary: 'Credit accounts that match every filter, newest first',
  input: input.paged(z.object({ ...ofUser, ...listed })),
  output: z.object({ creditAccounts: z.array(CreditAccount), total: input.total }),
  errors: [],
});

export const listCreditTransactions = operation({
  ...reading,
  name: 'credit.credit_transaction_list',
  path: '/merchant/credit/credit_transaction_list',
  summary: 'Transactions on credit accounts of a type that match every filter, newest first',
  input: input.paged(
    z.object({
      ...ofUser,
      accountType: input.q.code(creditAccountType),
      currency: input.optionalCurrency,
      transactionTypes: input.q.ints().default([]).describe(meanings(creditTransactionType)),
      ...listed,
    }),
  ),
  output: z.object({ creditTransactions: z.array(CreditTransactionDetail), total: input.total }),
  errors: [],
});

const promoChange = z.object({
  userId: input.integer,
  currency: input.Currency,
  amount: z.int().min(1).max(input.largestAmount).describe('Credits'),
  name: input.line.default(''),
  description: input.prose.default(''),
  idempotencyKey: input.externalId
    .default('')
    .describe('Unique per merchant: a repeat of the change is answered as the first was, and changes nothing'),
});
const promoChanged = z.object({ UserPromoCreditAccount: CreditAccount, creditTransaction: CreditTransaction });

export const incrementPromoCredit = operation({
  ...base,
  name: 'credit.promo_credit_increment',
  path: '/merchant/credit/promo_credit_increment',
  summary: "Add credits to a user's promo account, which comes into being at its first use",
  input: promoChange,
  output: promoChanged,
  errors: ['user_not_found'],
});

export const decrementPromoCredit = operation({
  ...base,
  name: 'credit.promo_credit_decrement',
  path: '/merchant/credit/promo_credit_decrement',
  summary: "Take credits from a user's promo account, at most its balance",
  input: promoChange,
  output: promoChanged,
  errors: ['user_not_found', 'credit_insufficient'],
});
