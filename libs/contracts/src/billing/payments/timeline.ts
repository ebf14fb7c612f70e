import { z } from 'zod';
import { timelineStatus, timelineType } from '../../codes.js';
import { amount, code, flag, integer, meanings, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Payment } from '../payment-shape.js';
import { Refund } from '../refunds.js';

const timelineDetail = z.object({
  autoCharge: flag,
  createTime: time,
  currency: text,
  externalTransactionId: text,
  failureReason: text,
  fullRefund: integer.describe('1 where a refund gave back the whole payment'),
  gatewayId: integer,
  id: integer,
  invoiceId: text,
  merchantId: integer,
  payment: Payment.nullable(),
  paymentId: text,
  refund: Refund.nullable(),
  refundId: text,
  status: code(timelineStatus),
  subscriptionId: text,
  timelineType: code(timelineType),
  totalAmount: amount,
  transactionId: text,
  userId: integer,
});
export interface PaymentTimelineDetail extends z.output<typeof timelineDetail> {}
export const PaymentTimelineDetail: Shape<PaymentTimelineDetail> = timelineDetail.meta({ id: 'PaymentTimelineDetail' });

const item = z.object({
  amount,
  amountExcludingTax: amount,
  currency: text,
  description: text,
  name: text,
  quantity: integer,
  tax: amount,
  taxPercentage: integer,
  unitAmountExcludingTax: amount,
});
export interface PaymentItem extends z.output<typeof item> {}
export const PaymentItem: Shape<PaymentItem> = item.meta({ id: 'PaymentItem' });

const total = integer.describe('Number of matches, counted up to 10000, the end of the last page');

export const listPaymentTimeline = operation({
  service: 'billing',
  name: 'payment.timeline_list',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/timeline/list',
  summary: 'Payments and refunds in one list that match every filter, newest first',
  effect: 'read',
  permission: 'transaction.read',
  input: input.paged(
    z.object({
      userId: input.q.int().optional(),
      amountStart: input.q.int().optional(),
      amountEnd: input.q.int().optional(),
      createTimeStart: input.q.int().optional(),
      createTimeEnd: input.q.int().optional(),
      currency: input.line.toUpperCase().optional(),
      gatewayIds: input.q.ints().optional(),
      searchKey: input.line.optional().describe('The id of a payment, refund or invoice'),
      status: input.q.ints().optional().describe(meanings(timelineStatus)),
      timelineTypes: input.q.ints().optional().describe(meanings(timelineType)),
      ...input.sorting('createTime', 'totalAmount'),
      ...input.paging,
    }),
  ),
  output: z.object({ paymentTimeLines: z.array(PaymentTimelineDetail), total }),
  errors: [],
});

export const listPaymentItems = operation({
  service: 'billing',
  name: 'payment.item_list',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/item/list',
  summary: 'Items that were sold by one-time payments, newest first',
  effect: 'read',
  permission: 'transaction.read',
  input: input.paged(z.object({ userId: input.q.int().optional(), ...input.sorting('createTime'), ...input.paging })),
  output: z.object({ paymentItems: z.array(PaymentItem), total }),
  errors: [],
});
