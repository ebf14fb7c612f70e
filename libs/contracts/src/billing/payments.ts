import { z } from 'zod';
import { gasPayers, paymentStatus } from '../codes.js';
import { anyObject, code, Empty, integer, meanings, type Shape, text } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Gateway } from './gateways.js';
import { Invoice } from './invoice-shape.js';
import { Payment } from './payment-shape.js';

const paymentWithInvoice = z.object({
  gateway: Gateway.nullable(),
  invoice: Invoice.nullable(),
  payment: Payment,
  user: User.nullable(),
});
/** A payment with what it belongs to. Not in payment-shape.ts: an invoice holds a payment too. */
export interface PaymentDetail extends z.output<typeof paymentWithInvoice> {}
export const PaymentDetail: Shape<PaymentDetail> = paymentWithInvoice.meta({ id: 'PaymentDetail' });

/** What is sold once: so many units at a price, or one unit for an amount. */
const paymentItem = input.rule(
  z.object({
    amount: input.integer.describe(
      'Compared with what the item comes to, tax included; 0 says nothing. Without unitAmountExcludingTax it is one unit',
    ),
    amountExcludingTax: input.integer.optional().describe('Compared with what it comes to; 0 says nothing'),
    currency: input.optionalCurrency,
    description: input.prose.default(''),
    name: input.line.default(''),
    quantity: z.int().min(1).max(1_000_000).default(1),
    tax: input.integer.optional().describe('Compared with what it comes to; 0 says nothing'),
    taxPercentage: input.percent.default(0).describe('The same for all items'),
    unitAmountExcludingTax: input.unitAmount.optional(),
  }),
  'must be within ±10^12 in an item without unitAmountExcludingTax',
  ({ amount, unitAmountExcludingTax }) =>
    unitAmountExcludingTax !== undefined || Math.abs(amount) <= input.largestAmount,
  ['amount'],
);

const paymentInput = z.object({
  invoiceId: input.line.default('').describe('An open invoice that has no payment: it is what is to be paid'),
  userId: input.integer.default(0).describe('Beside invoiceId it is compared with the user of the invoice'),
  externalUserId: input.externalId.default('').describe('Where there is no userId'),
  email: input.line.default('').describe('Where there is neither userId nor externalUserId'),
  gatewayId: input.integer,
  items: input.list(paymentItem, 500).default([]),
  planId: input.integer.default(0),
  quantity: z.int().min(1).max(1_000_000).default(1).describe('Of the plan'),
  totalAmount: z
    .int()
    .min(0)
    .default(0)
    .describe('What is to be paid; beside items, planId or invoiceId it is compared with what these come to'),
  currency: input.optionalCurrency,
  name: input.indexedName.default('').describe('Of the invoice, and of the line that totalAmount alone makes'),
  description: input.prose.default('').describe('Of the line that planId or totalAmount makes'),
  externalPaymentId: input.externalId.default('').describe('Unique among the payments of the merchant'),
  countryCode: input.externalId.toUpperCase().default(''),
  gatewayPaymentType: input.line.default(''),
  gasPayer: z.enum(['', ...gasPayers]).default(''),
  metadata: input.metadata.default({}),
  paymentUIMode: input.line.default(''),
  redirectUrl: input.optionalUrl.default('').describe('Where the user goes on when it is paid'),
  cancelUrl: input.optionalUrl.default('').describe('Where the user goes when it is not'),
  paymentType: input.line.default('').describe('Accepted; nothing depends on it'),
  sendInvoice: input.flag.default(false).describe('Accepted; no e-mails are sent yet'),
});

/** What only holds between fields; the field that is named is the one to mend. */
const betweenFields: [field: string, sentence: string, holds: (payment: z.output<typeof paymentInput>) => boolean][] = [
  [
    'totalAmount',
    'must be at most 10^12 where it is alone',
    it => sourcesOf(it) > 0 || it.totalAmount <= input.largestAmount,
  ],
  ['currency', 'is required with totalAmount alone', it => sourcesOf(it) > 0 || it.currency !== ''],
  [
    'userId',
    'is required, or externalUserId, or email, where no invoiceId is given',
    it => [it.invoiceId, it.userId, it.externalUserId, it.email].some(Boolean),
  ],
];

const sourcesOf = ({ invoiceId, items, planId }: z.output<typeof paymentInput>) =>
  [invoiceId, items.length, planId].filter(Boolean).length;

export const newPayment = operation({
  service: 'billing',
  name: 'payment.new',
  methods: ['POST'],
  path: '/merchant/payment/new',
  summary: 'Open a payment: of an open invoice that has none, or of a new one-time purchase with its invoice',
  effect: 'write',
  permission: 'transaction.write',
  input: input.rule(
    betweenFields.reduce(
      (schema, [field, error, holds]) => schema.refine(holds, { error, path: [field] }),
      paymentInput,
    ),
    'must say what is paid: by invoiceId, by items or by planId, or else by totalAmount',
    it => sourcesOf(it) === 1 || (sourcesOf(it) === 0 && it.totalAmount !== 0),
  ),
  output: z.object({
    action: anyObject,
    externalPaymentId: text,
    invoiceId: text,
    link: text,
    paymentId: text,
    status: code(paymentStatus),
  }),
  errors: [
    'user_not_found',
    'user_inactive',
    'gateway_not_found',
    'gateway_archived',
    'plan_not_found',
    'plan_not_active',
    'invoice_not_found',
    'invoice_not_open',
    'payment_exists',
  ],
});

export const cancelPayment = operation({
  service: 'billing',
  name: 'payment.cancel',
  methods: ['POST'],
  path: '/merchant/payment/cancel',
  summary: 'Cancel an open payment and the open invoice it is for',
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({ paymentId: input.filled }),
  output: Empty,
  errors: ['payment_not_found', 'payment_not_open'],
});

export const paymentDetail = operation({
  service: 'billing',
  name: 'payment.detail',
  methods: ['GET'],
  path: '/merchant/payment/detail',
  summary: 'A payment with its invoice, gateway and user',
  effect: 'read',
  permission: 'transaction.read',
  input: z.object({ paymentId: input.filled }),
  output: z.object({ paymentDetail: PaymentDetail }),
  errors: ['payment_not_found'],
});

export const listPayments = operation({
  service: 'billing',
  name: 'payment.list',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/list',
  summary: 'The payments that fit every filter given, newest first, each as payment/detail shows it',
  effect: 'read',
  permission: 'transaction.read',
  input: input.paged(
    z.object({
      gatewayId: input.q.int().optional(),
      userId: input.q.int().optional(),
      email: input.line.optional().describe('The e-mail address of the user, whatever its case'),
      status: input.q.int().optional().describe(meanings(paymentStatus)),
      currency: input.line.toUpperCase().optional(),
      countryCode: input.line.toUpperCase().optional(),
      ...input.sorting('createTime'),
      ...input.paging,
    }),
  ),
  output: z.object({
    paymentDetails: z.array(PaymentDetail),
    total: integer.describe('How many fit, counted up to 10000: no page lies beyond'),
  }),
  errors: [],
});
