import { z } from 'zod';
import { authorizeStatus, paymentStatus } from '../codes.js';
import { amount, anyObject, code, flag, integer, type Shape, text, time } from '../field.js';
import { GatewayCurrencyExchange } from './gateways.js';

const payment = z.object({
  action: anyObject,
  authorizeComment: text,
  authorizeReason: text,
  authorizeStatus: code(authorizeStatus),
  autoCharge: flag,
  automatic: integer,
  balanceAmount: amount,
  billingReason: text,
  cancelTime: time,
  countryCode: text,
  createTime: time,
  cryptoAmount: amount,
  cryptoCurrency: text,
  currency: text,
  externalPaymentId: text,
  failureReason: text,
  gasPayer: text,
  gatewayCurrencyExchange: GatewayCurrencyExchange.nullable(),
  gatewayId: integer,
  gatewayPaymentId: text,
  gatewayPaymentType: text,
  invoiceId: text,
  lastError: text,
  link: text,
  merchantId: integer,
  metadata: anyObject,
  paidTime: time,
  paymentAmount: amount,
  paymentId: text,
  paymentMethodId: text,
  paymentMethodName: text.describe('The method as its user knows it, such as Visa •••• 4242'),
  refundAmount: amount,
  returnUrl: text,
  splitSequence: integer,
  status: code(paymentStatus),
  subscriptionId: text,
  totalAmount: amount,
  userId: integer,
});
export interface Payment extends z.output<typeof payment> {}
export const Payment: Shape<Payment> = payment.meta({ id: 'Payment' });

const paymentReportMismatch = z.object({
  about: text.describe('charge, refund or dispute'),
  currency: text.describe('As reported'),
  expectedAmount: amount,
  expectedCurrency: text,
  expectedGatewayId: integer,
  amount: amount.describe('As reported, in minor units of the reported currency'),
  gatewayId: integer.describe('The gateway that reported it'),
  invoiceId: text,
  merchantId: integer,
  paymentId: text,
  reason: text.describe('gateway, sending, currency or amount: what does not match'),
  reference: text.describe("The gateway's own id of the charge, refund or disputed charge"),
  refundId: text.describe("'' for charges and disputes"),
  updateTime: time,
  userId: integer,
});
export interface PaymentReportMismatch extends z.output<typeof paymentReportMismatch> {}
/** The data of payment.report.mismatch: a gateway's report of money that does not fit what it names. */
export const PaymentReportMismatch: Shape<PaymentReportMismatch> = paymentReportMismatch.meta({
  id: 'PaymentReportMismatch',
});
