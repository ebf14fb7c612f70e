import { z } from 'zod';
import { refundStatus } from '../codes.js';
import { amount, anyObject, code, Empty, integer, meanings, type Shape, text, time } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { GatewayCurrencyExchange } from './gateways.js';
import { Payment } from './payment-shape.js';

const refund = z.object({
  countryCode: text,
  createTime: time,
  currency: text,
  externalRefundId: text,
  gatewayCurrencyExchange: GatewayCurrencyExchange.nullable(),
  gatewayId: integer,
  gatewayRefundId: text,
  invoiceId: text.describe('The refunded invoice'),
  merchantId: integer,
  metadata: anyObject,
  paymentId: text,
  refundAmount: amount,
  refundComment: text,
  refundCommentExplain: text,
  refundId: text,
  refundTime: time,
  returnUrl: text,
  status: code(refundStatus),
  subscriptionId: text,
  type: integer.describe('1 through the gateway · 2 marked by hand'),
  userId: integer,
});
export interface Refund extends z.output<typeof refund> {}
export const Refund: Shape<Refund> = refund.meta({ id: 'Refund' });

const refundDetail = z.object({ payment: Payment.nullable(), refund: Refund, user: User.nullable() });
export interface RefundDetail extends z.output<typeof refundDetail> {}
export const RefundDetail: Shape<RefundDetail> = refundDetail.meta({ id: 'RefundDetail' });

const base = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'refund.write' } as const;
const reading = { ...base, effect: 'read', permission: 'refund.read' } as const;

const refundAmount = z
  .int()
  .min(1)
  .describe('Minor units, tax included; at most what was paid and neither refunded nor credited since');

export const refundInvoice = operation({
  ...base,
  name: 'invoice.refund',
  also: [{ permission: 'subscription.write', by: ['cancelSubscription'] }],
  path: '/merchant/invoice/refund',
  summary: 'Refund a paid invoice, in whole or in part: the payment first, the rest to main credit',
  input: z.object({
    invoiceId: input.filled,
    refundAmount,
    reason: input.prose,
    paymentId: input.line.default('').describe('If sent, it must be the payment of the invoice'),
    refundNo: input.externalId.default('').describe("The merchant's own reference, unique among its refunds"),
    cancelSubscription: input.flag.default(false).describe('Also ends the subscription that the invoice bills'),
  }),
  output: z.object({ refund: Refund }),
  errors: ['invoice_not_found', 'invoice_not_refundable', 'payment_disputed', 'payment_under_way'],
});

export const createMarkRefund = operation({
  ...base,
  name: 'invoice.create_mark_refund',
  path: '/merchant/invoice/create_mark_refund',
  summary: 'Record a refund that is paid by hand, outside the gateway; it waits for mark_refund_success',
  input: z.object({ invoiceId: input.filled, refundAmount, reason: input.prose }),
  output: z.object({ refund: Refund }),
  errors: ['invoice_not_found', 'invoice_not_refundable', 'payment_disputed'],
});

export const markRefundSuccess = operation({
  ...base,
  name: 'invoice.mark_refund_success',
  path: '/merchant/invoice/mark_refund_success',
  summary: 'Record that a refund made by hand was paid: it succeeds, and its credit note gets a number',
  input: z.object({
    invoiceId: input.filled.describe('The credit note of the refund, or an invoice with exactly one open refund'),
    reason: input.prose.default(''),
  }),
  output: Empty,
  errors: ['invoice_not_found', 'refund_not_open'],
});

export const newRefund = operation({
  ...base,
  name: 'refund.new',
  path: '/merchant/payment/refund/new',
  summary: 'Refund a successful payment, in whole or in part',
  input: z.object({
    paymentId: input.filled,
    externalRefundId: input.filledKey.describe("The merchant's own reference, unique among its refunds"),
    currency: input.Currency.describe('Must be the currency of the payment'),
    refundAmount,
    reason: input.prose.default(''),
    metadata: input.metadata.default({}),
  }),
  output: z.object({ externalRefundId: text, paymentId: text, refundId: text, status: code(refundStatus) }),
  errors: ['payment_not_found', 'invoice_not_refundable', 'payment_disputed'],
});

export const cancelRefund = operation({
  ...base,
  name: 'refund.cancel',
  path: '/merchant/payment/refund/cancel',
  summary: 'Cancel a refund that has not been paid; its credit note is cancelled too',
  input: z.object({ refundId: input.filled }),
  output: Empty,
  errors: ['refund_not_found', 'refund_not_open'],
});

export const listRefunds = operation({
  ...reading,
  name: 'refund.list',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/refund/list',
  summary: 'Refunds of a payment that match every filter, newest first',
  input: input.paged(
    z.object({
      paymentId: input.filled,
      status: input.q.int().optional().describe(meanings(refundStatus)),
      gatewayId: input.q.int().optional(),
      userId: input.q.int().optional(),
      email: input.line.optional().describe('E-mail address of the user, ignoring case'),
      currency: input.line.toUpperCase().optional(),
      ...input.paging,
    }),
  ),
  output: z.object({
    refundDetails: z.array(RefundDetail),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});

export const refundDetails = operation({
  ...reading,
  name: 'refund.detail',
  methods: ['GET'],
  path: '/merchant/payment/refund/detail',
  summary: 'A refund with its payment and user',
  input: z.object({ refundId: input.filled }),
  output: z.object({ refundDetail: RefundDetail }),
  errors: ['refund_not_found'],
});
