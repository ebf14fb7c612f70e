import { z } from 'zod';
import { gasPayers, paymentStatus } from '../codes.js';
import { anyObject, code, Empty, integer, meanings, type Shape, text } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Gateway } from './gateways.js';
import { Invoice } from './invoices/shape.js';
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

/** An item of a one-time purchase: a number of units at a price, or one unit for an amount. */
const paymentItem = input.rule(
  z
    .object({
      amount: input.integer.describe(
        "Checked against the item's total including tax, unless 0. Without unitAmountExcludingTax it is the price of one unit",
      ),
      amountExcludingTax: input.integer.optional().describe('Checked against the computed value, unless 0'),
      currency: input.optionalCurrency,
      description: input.prose.default(''),
      name: input.line.default(''),
      quantity: z.int().min(1).max(1_000_000).default(1),
      tax: input.integer.optional().describe('Checked against the computed value, unless 0'),
      taxPercentage: input.percent
        .optional()
        .describe(
          'Must be the same for all items. Without it, items with unitAmountExcludingTax are taxed by the rules of tax, others are not',
        ),
      unitAmountExcludingTax: input.unitAmount.optional(),
    })
    .meta({ 'x-shape': 'PaymentItemInput' }),
  'must be within ±10^12 if the item has no unitAmountExcludingTax',
  ({ amount, unitAmountExcludingTax }) =>
    unitAmountExcludingTax !== undefined || Math.abs(amount) <= input.largestAmount,
  ['amount'],
);

const paymentInput = z.object({
  invoiceId: input.line.default('').describe('The open invoice to pay, which must have no payment yet'),
  userId: input.integer.default(0).describe('With invoiceId, checked against the user of the invoice'),
  externalUserId: input.externalId.default('').describe('Used if there is no userId'),
  email: input.line.default('').describe('Used if there is neither userId nor externalUserId'),
  gatewayId: input.integer.default(0).describe('0: that of the invoice, where invoiceId is given'),
  items: input.list(paymentItem, 500).default([]),
  planId: input.integer.default(0).describe('The plan to sell; tax is added to its price by the rules of tax'),
  quantity: z.int().min(1).max(1_000_000).default(1).describe('Quantity of the plan'),
  totalAmount: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'The amount to pay, given alone with no tax added; with items, planId or invoiceId, checked against the computed total',
    ),
  currency: input.optionalCurrency,
  name: input.indexedName.default('').describe('Name of the invoice, and of its line if only totalAmount is given'),
  description: input.prose.default('').describe('Description of the line created for planId or totalAmount'),
  externalPaymentId: input.externalId.default('').describe('Unique among the payments of the merchant'),
  countryCode: input.externalId.toUpperCase().default(''),
  gatewayPaymentType: input.line.default(''),
  gasPayer: z
    .enum(['', ...gasPayers])
    .default('')
    .describe('Kept with the payment; no effect'),
  metadata: input.metadata.default({}),
  paymentUIMode: input.line.default('').describe('Kept with the payment; no effect'),
  redirectUrl: input.optionalUrl.default('').describe('Where the user is sent after paying'),
  cancelUrl: input.optionalUrl.default('').describe('Where the user is sent after cancelling'),
  paymentType: input.line
    .default('')
    .describe('manual_capture: a gateway that charges cards only authorises the amount, until payment/capture'),
  sendInvoice: input.flag
    .default(false)
    .describe('Accepted but has no effect: whether invoices are sent is a setting of the merchant'),
});

/** Rules between fields; the error is reported at the named field. */
const betweenFields: [field: string, sentence: string, holds: (payment: z.output<typeof paymentInput>) => boolean][] = [
  ['gatewayId', 'is required if invoiceId is not given', it => it.gatewayId !== 0 || it.invoiceId !== ''],
  [
    'totalAmount',
    'must be at most 10^12 if it is given alone',
    it => sourcesOf(it) > 0 || it.totalAmount <= input.largestAmount,
  ],
  ['currency', 'is required if only totalAmount is given', it => sourcesOf(it) > 0 || it.currency !== ''],
  [
    'userId',
    'is required if none of invoiceId, externalUserId and email is given',
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
  summary: 'Open a payment for an open invoice without one, or for a one-time purchase with a new invoice',
  effect: 'write',
  permission: 'transaction.write',
  input: input.rule(
    betweenFields.reduce(
      (schema, [field, error, holds]) => schema.refine(holds, { error, path: [field] }),
      paymentInput,
    ),
    'must have exactly one of invoiceId, items and planId, or totalAmount alone',
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
    'amount_below_minimum',
  ],
});

export const cancelPayment = operation({
  service: 'billing',
  name: 'payment.cancel',
  methods: ['POST'],
  path: '/merchant/payment/cancel',
  summary: 'Cancel an open payment and its open invoice',
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({ paymentId: input.filled }),
  output: Empty,
  errors: ['payment_not_found', 'payment_not_open', 'payment_under_way'],
});

export const paymentDetail = operation({
  service: 'billing',
  name: 'payment.detail',
  methods: ['GET'],
  path: '/merchant/payment/detail',
  summary: 'A payment with invoice, gateway and user',
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
  summary: 'Payments that match every filter, newest first, each in the form of payment/detail',
  effect: 'read',
  permission: 'transaction.read',
  input: input.paged(
    z.object({
      gatewayId: input.q.int().optional(),
      userId: input.q.int().optional(),
      email: input.line.optional().describe('E-mail address of the user, ignoring case'),
      status: input.q.int().optional().describe(meanings(paymentStatus)),
      currency: input.line.toUpperCase().optional(),
      countryCode: input.line.toUpperCase().optional(),
      ...input.sorting('createTime'),
      ...input.paging,
    }),
  ),
  output: z.object({
    paymentDetails: z.array(PaymentDetail),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});

export const capturePayment = operation({
  service: 'billing',
  name: 'payment.capture',
  methods: ['POST'],
  path: '/merchant/payment/capture',
  summary: 'Collect an authorised payment; the outcome follows as an event, and a repeat changes nothing',
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({
    paymentId: input.filled,
    externalCaptureId: input.filledKey.describe("The merchant's own reference of the capture"),
  }),
  output: Empty,
  errors: ['payment_not_found', 'payment_not_open', 'payment_not_authorised'],
});
