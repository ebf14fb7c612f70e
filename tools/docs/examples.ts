import {
  bizType,
  createFrom,
  type EmittedEventName,
  type EventData,
  emittedEventNames,
  emptyOf,
  endpointStatus,
  events,
  Invoice,
  InvoiceLine,
  invoiceStatus,
  OnetimePaymentItem,
  onetimeAddonStatus,
  Payment,
  PaymentReportMismatch,
  paymentStatus,
  pendingUpdateEffect,
  pendingUpdateStatus,
  Refund,
  refundStatus,
  SubscriptionPendingUpdate,
  User,
  UserMetricUpdate,
  userBillingType,
  userType,
  WebhookEndpoint,
} from '@recur/contracts';
import { subscriptionStates } from './subscription-examples.js';

const at = 1_795_000_000;
const invoiceId = 'in_01m7ysrqj1az9fjmt1f4rb7qrn';
const paymentId = 'pay_01m7ysn2ecd0dqp2n05h1qmg4z';

const user: User = {
  ...emptyOf(User),
  id: 1,
  merchantId: 1,
  createTime: at,
  email: 'ada@example.com',
  firstName: 'Ada',
  type: userType.individual,
  billingType: userBillingType.recurring,
  version: 1,
};
const line: InvoiceLine = {
  ...emptyOf(InvoiceLine),
  lineId: `${invoiceId}_1`,
  name: 'Seats',
  currency: 'EUR',
  quantity: 3,
  unitAmountExcludingTax: 1999,
  originUnitAmountExcludeTax: 1999,
  amountExcludingTax: 5997,
  tax: 1139,
  taxPercentage: 1900,
  taxRatePpm: 190_000,
  amount: 7136,
  originAmount: 7136,
};
const draft: Invoice = {
  ...emptyOf(Invoice),
  id: 1,
  invoiceId,
  merchantId: 1,
  userId: user.id,
  status: invoiceStatus.pending,
  bizType: bizType.manualInvoice,
  createFrom: createFrom.admin,
  currency: 'EUR',
  taxPercentage: 1900,
  taxes: [{ category: 'S', ratePpm: 190_000, net: 5997, tax: 1139, jurisdiction: '', source: 'request', reason: '' }],
  amountDue: 7136,
  taxAmount: 1139,
  totalAmountExcludingTax: 5997,
  totalAmount: 7136,
  originAmount: 7136,
  gatewayId: 1,
  createTime: at,
  gmtCreate: new Date(at * 1000).toISOString(),
  gmtModify: new Date(at * 1000).toISOString(),
  lines: [line],
};
const payment: Payment = {
  ...emptyOf(Payment),
  paymentId,
  merchantId: 1,
  invoiceId,
  userId: user.id,
  gatewayId: 1,
  currency: 'EUR',
  status: paymentStatus.created,
  totalAmount: 7136,
  balanceAmount: 7136,
  createTime: at,
};
const received: Payment = {
  ...payment,
  status: paymentStatus.success,
  paymentAmount: 7136,
  balanceAmount: 0,
  gatewayPaymentId: 'SEPA-1',
  paidTime: at,
};
const asked: Payment = { ...payment, link: 'https://pay.example.com/confirm/1', autoCharge: true, automatic: 1 };
const calledOff: Payment = { ...payment, status: paymentStatus.cancelled, cancelTime: at };
const overdue: Payment = {
  ...payment,
  status: paymentStatus.failed,
  billingReason: 'The invoice was not paid in time',
  failureReason: 'The invoice was not paid in time',
};
const open: Invoice = {
  ...draft,
  status: invoiceStatus.processing,
  number: 'INV-000001',
  paymentId,
  payment,
  dayUtilDue: 3,
  finishTime: at,
};
const paid: Invoice = { ...open, status: invoiceStatus.paid, paidTime: at, payment: received };
const refund: Refund = {
  ...emptyOf(Refund),
  refundId: 're_01m7ysx3v8k5c2d7q4w9n6t1he',
  merchantId: 1,
  userId: user.id,
  gatewayId: 1,
  invoiceId,
  paymentId,
  currency: 'EUR',
  refundAmount: 2000,
  refundComment: 'One seat was not used',
  type: 1,
  status: refundStatus.created,
  createTime: at,
};
const misreported: PaymentReportMismatch = {
  ...emptyOf(PaymentReportMismatch),
  ...{ merchantId: 1, userId: user.id, paymentId, invoiceId, about: 'charge', reason: 'currency', updateTime: at },
  ...{ gatewayId: 2, reference: 'pi_3SXk2m', amount: 1, currency: 'JPY' },
  ...{ expectedGatewayId: 2, expectedAmount: payment.totalAmount, expectedCurrency: payment.currency },
};
const usage: UserMetricUpdate = {
  ...emptyOf(UserMetricUpdate),
  merchantId: 1,
  userId: user.id,
  subscriptionId: 'sub_01m7ysx3v8k5c2d7q4w9n6t1he',
  metricId: 1,
  code: 'api_calls',
  metricName: 'API calls',
  currentValue: 800,
  totalLimit: 1000,
  alert: 80,
  periodStart: at - 86_400,
  periodEnd: at + 29 * 86_400,
  updateTime: at,
};
const endpoint: WebhookEndpoint = {
  ...emptyOf(WebhookEndpoint),
  id: 1,
  merchantId: 1,
  createTime: at,
  gmtModify: at,
  webhookUrl: 'https://shop.example.com/webhooks',
  webhookEvents: ['invoice.paid'],
  status: endpointStatus.active,
};

const change: SubscriptionPendingUpdate = {
  ...emptyOf(SubscriptionPendingUpdate),
  pendingUpdateId: 'subup_01m7yt0c2r6k9d3w8q5n1v7xhb',
  subscriptionId: 'sub_01m7ysw4f0z8c6t2d9r5k3n1qa',
  merchantId: 1,
  userId: user.id,
  invoiceId,
  ...{ planId: 1, quantity: 1, amount: 2000, currency: 'EUR' },
  ...{ updatePlanId: 2, updateQuantity: 1, updateAmount: 4900, updateCurrency: 'EUR', prorationAmount: 1450 },
  effectImmediate: pendingUpdateEffect.now,
  effectTime: at,
  name: 'SubscriptionUpgrade',
  status: pendingUpdateStatus.pending,
};

const addon: OnetimePaymentItem = {
  ...emptyOf(OnetimePaymentItem),
  ...{ id: 1, merchantId: 1, userId: user.id, uniqueId: 'addon_01m7yt4k9d3x7b2f6h0q8w5rzc' },
  ...{ subscriptionId: change.subscriptionId, invoiceId, paymentId, bizType: bizType.onetime },
  ...{ name: 'Onboarding', quantity: 1, unitAmount: 9900, amount: 9900, currency: 'EUR', createTime: at },
  status: onetimeAddonStatus.created,
};

/** A state after each emitted webhook event, with its position in the object's history. */
const states: { [N in EmittedEventName]: [sequence: number, data: EventData<N>] } = {
  'subscription.pending_update.create': [1, change],
  'subscription.pending_update.success': [2, { ...change, status: pendingUpdateStatus.finished, paid: 1 }],
  'subscription.pending_update.cancelled': [2, { ...change, status: pendingUpdateStatus.cancelled }],
  'subscription.onetime_addon.created': [1, addon],
  'subscription.onetime_addon.success': [2, { ...addon, status: onetimeAddonStatus.paid }],
  'subscription.onetime_addon.cancelled': [2, { ...addon, status: onetimeAddonStatus.cancelled }],
  'subscription.onetime_addon.expired': [2, { ...addon, status: onetimeAddonStatus.expired }],
  'user.created': [1, user],
  'user.updated': [2, { ...user, companyName: 'Analytical Engines', version: 2 }],
  'user.metric.update': [7, usage],
  'payment.created': [1, payment],
  'payment.authorised.need': [2, asked],
  'payment.success': [2, received],
  'payment.cancelled': [2, calledOff],
  'payment.failure': [2, overdue],
  'payment.report.mismatch': [2, misreported],
  'invoice.created': [1, draft],
  'invoice.process': [2, open],
  'invoice.paid': [3, paid],
  'invoice.cancelled': [3, { ...open, status: invoiceStatus.cancelled, payment: calledOff }],
  'invoice.failed': [3, { ...open, status: invoiceStatus.failed, payment: overdue }],
  'invoice.reversed': [5, { ...paid, status: invoiceStatus.reversed }],
  'refund.created': [1, refund],
  'refund.success': [2, { ...refund, status: refundStatus.success, refundTime: at }],
  'refund.failure': [2, { ...refund, status: refundStatus.failed, refundCommentExplain: 'The account is closed' }],
  'refund.cancelled': [2, { ...refund, status: refundStatus.cancelled }],
  'refund.reversed': [3, { ...refund, status: refundStatus.reversed, refundTime: at }],
  'webhook.endpoint.failing': [2, endpoint],
  'webhook.endpoint.disabled': [3, { ...endpoint, status: endpointStatus.disabled }],
  ...subscriptionStates,
};

/** The body of a webhook of each type: what an endpoint is sent, with the fields that are empty left as they are. */
export const examples = emittedEventNames.map(type => {
  const [sequence, data] = states[type];
  const { aggregate } = events[type];
  const timestamp = new Date(at * 1000).toISOString();
  return { aggregate, body: { type, timestamp, merchantId: 1, sequence, data } };
});
