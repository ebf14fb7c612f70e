import { z } from 'zod';
import { flag, text } from '../../field.js';
import { InvoiceMerchant } from '../../identity/merchants.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Gateway } from '../gateways.js';
import { Invoice } from '../invoices/shape.js';
import { Payment } from '../payment-shape.js';
import { CreditAccount, CreditRecharge } from './credits.js';

// Kept apart from credits.ts: an invoice holds credit accounts, and a recharge an invoice.

export const newCreditRecharge = operation({
  service: 'billing',
  name: 'credit.new_credit_recharge',
  methods: ['POST'],
  path: '/merchant/credit/new_credit_recharge',
  summary: "Sell main credit: an open invoice whose payment adds its amount to the user's main account",
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({
    creditAccountId: input.integer.default(0).describe('A main account; or userId and currency name it'),
    userId: input.integer.default(0),
    currency: input.optionalCurrency,
    rechargeAmount: z.int().min(1).max(input.largestAmount).describe('Minor units'),
    gatewayId: input.integer,
    name: input.indexedName.default(''),
    description: input.prose.default(''),
    returnUrl: input.optionalUrl.default('').describe('Where the user is sent after paying'),
    cancelUrl: input.optionalUrl.default('').describe('Where the user is sent after cancelling'),
  }),
  output: z.object({
    creditAccount: CreditAccount,
    creditRecharge: CreditRecharge,
    gateway: Gateway,
    invoice: Invoice,
    link: text,
    merchant: InvoiceMerchant.nullable(),
    paid: flag,
    payment: Payment,
    user: User.nullable(),
  }),
  errors: [
    'credit_account_not_found',
    'credit_recharge_disabled',
    'user_not_found',
    'user_inactive',
    'gateway_not_found',
    'gateway_archived',
    'amount_below_minimum',
  ],
});
