import { z } from 'zod';
import { Plan, PlanSnapshot } from '../../catalog/plan-shape.js';
import { bizType, invoiceStatus, sendStatus } from '../../codes.js';
import {
  amount,
  anyObject,
  code,
  deletion,
  flag,
  integer,
  isoTime,
  percent,
  type Shape,
  text,
  time,
} from '../../field.js';
import { InvoiceMerchant } from '../../identity/merchants.js';
import { User } from '../../identity/user-shape.js';
import { CreditAccount, CreditPayout, CreditTransaction } from '../credits/credits.js';
import { Discount } from '../discounts.js';
import { Gateway } from '../gateways.js';
import { Payment } from '../payment-shape.js';
import { Refund } from '../refunds.js';
import { Subscription, SubscriptionPendingUpdate } from '../subscriptions/shape.js';
import { InvoiceLine, InvoiceMetricCharges } from './lines.js';

const invoiceTax = z.object({
  category: text.describe('Code of EN 16931: S standard, Z zero, E exempt, AE reverse charge, K, G, O'),
  ratePpm: integer.describe('Parts per million'),
  net: amount,
  tax: amount,
  jurisdiction: text,
  source: text.describe('The rule that gave the rate'),
  reason: text,
});
export interface InvoiceTax extends z.output<typeof invoiceTax> {}
/** Net and tax of the lines of an invoice that share category and rate. */
export const InvoiceTax: Shape<InvoiceTax> = invoiceTax.meta({ id: 'InvoiceTax' });

const invoice = z.object({
  id: integer,
  merchantId: integer,
  bizType: code(bizType),
  createTime: time,
  finishTime: time,
  billingCycleAnchor: time,
  dayUtilDue: integer,
  deadline: time.describe('The due date: the invoice is payable until then; 0 for a draft'),
  gatewayId: integer,
  isDeleted: deletion,
  paidTime: time,
  periodStart: time,
  periodEnd: time,
  discountAmount: amount,
  originAmount: amount,
  cryptoAmount: amount,
  partialCreditPaidAmount: amount,
  autoCharge: flag,
  invoiceId: text,
  invoiceName: text,
  currency: text,
  countryCode: text,
  createFrom: text.describe('Admin · AutoRenew · Api'),
  cryptoCurrency: text,
  data: text,
  discountCode: text,
  gatewayPaymentId: text,
  gatewayPaymentType: text,
  gatewayStatus: text,
  gatewayUserId: text,
  gmtCreate: isoTime,
  gmtModify: isoTime,
  link: text,
  message: text,
  paymentId: text,
  paymentLink: text,
  paymentType: text,
  PaymentMethodId: text,
  metadata: anyObject,
  discount: Discount.nullable(),
  gateway: Gateway.nullable(),
  merchant: InvoiceMerchant.nullable(),
  creditAccount: CreditAccount.nullable(),
  creditPayout: CreditPayout.nullable(),
  get originalPaymentInvoice(): z.ZodNullable<Shape<Invoice>> {
    return Invoice.nullable();
  },
  lines: z.array(InvoiceLine),
  gatewayInvoicePdf: text,
  payment: Payment.nullable().describe('The current payment; null in a PaymentDetail, which holds the payment itself'),
  planSnapshot: PlanSnapshot.nullable(),
  productName: text,
  promoCreditDiscountAmount: amount,
  promoCreditTransaction: CreditTransaction.nullable(),
  prorationDate: time,
  refund: Refund.nullable(),
  refundId: text,
  sendEmail: text,
  sendNote: text,
  sendPdf: text,
  sendStatus: code(sendStatus),
  status: code(invoiceStatus),
  subscription: Subscription.nullable(),
  subscriptionAmount: amount,
  subscriptionAmountExcludingTax: amount,
  subscriptionId: text,
  subscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  taxAmount: amount,
  taxPercentage: percent,
  totalAmount: amount,
  totalAmountExcludingTax: amount,
  trialEnd: time,
  uniqueId: text,
  userAccount: User.nullable().describe('The user as of now, in invoice/detail and invoice/list; null elsewhere'),
  userId: integer,
  userMetricChargeForInvoice: InvoiceMetricCharges.nullable(),
  userSnapshot: User.nullable(),
  vatNumber: text,
  promoCreditAccount: CreditAccount.nullable(),
  promoCreditPayout: CreditPayout.nullable(),
  prorationScale: percent,
  number: text.describe('Prefix and counter, which is gapless within the merchant; empty for a draft'),
  taxes: z.array(InvoiceTax),
  amountDue: amount.describe('totalAmount less the main credit spent; negative for a credit note'),
  surplusAmount: amount.describe('Money that arrived beyond what was due; it went to main credit'),
});
/**
 * The one shape of an invoice, in the answers of new, detail, list and finish and in webhooks.
 * `totalAmountExcludingTax` is net of promo credit and discount; `number` is empty while it is a draft.
 */
export interface Invoice extends z.output<typeof invoice> {}
export const Invoice: Shape<Invoice> = invoice.meta({ id: 'Invoice' });

const previewInvoice = invoice.extend({
  originalPaymentInvoice: Invoice.nullable(),
  updatePlan: Plan.nullable(),
  updateAmount: amount,
  updateCurrency: text,
  updatePlanId: integer,
  updateQuantity: integer,
});
/** The next invoice of a billing cycle, with the pending change to apply. */
export interface PreviewInvoice extends z.output<typeof previewInvoice> {}
export const PreviewInvoice: Shape<PreviewInvoice> = previewInvoice.meta({ id: 'PreviewInvoice' });
