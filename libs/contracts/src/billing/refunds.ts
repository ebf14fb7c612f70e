import { z } from 'zod';
import { refundStatus } from '../codes.js';
import { amount, anyObject, code, integer, type Shape, text, time } from '../field.js';
import { GatewayCurrencyExchange } from './gateways.js';

const refund = z.object({
  countryCode: text,
  createTime: time,
  currency: text,
  externalRefundId: text,
  gatewayCurrencyExchange: GatewayCurrencyExchange.nullable(),
  gatewayId: integer,
  gatewayRefundId: text,
  invoiceId: text,
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
  type: integer,
  userId: integer,
});
export interface Refund extends z.output<typeof refund> {}
export const Refund: Shape<Refund> = refund.meta({ id: 'Refund' });
