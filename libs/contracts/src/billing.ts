import { z } from 'zod';
import { Empty, flag } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { Address, AddressInput } from './shapes/address.js';
import { CreditAccount, CreditTransaction } from './shapes/credit.js';
import { Gateway, GatewayBankOrText, gatewayIcons } from './shapes/gateway.js';
import { Invoice, PaymentDetail, PreviewInvoice } from './shapes/invoice.js';
import { UserHistoryMetric } from './shapes/metric.js';
import { Subscription, SubscriptionPendingUpdate } from './shapes/subscription.js';

export const setupWireTransfer = operation({
  service: 'billing',
  name: 'gateway.wire_transfer_setup',
  methods: ['POST'],
  path: '/merchant/gateway/wire_transfer_setup',
  summary: 'Set up the wire-transfer gateway: one per merchant',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    currency: input.Currency,
    minimumAmount: z.int().min(0),
    displayName: input.line.default('Wire Transfer'),
    gatewayIcons: gatewayIcons.default([]),
    sort: input.integer.default(10).describe('The higher, the later it is listed'),
    bank: GatewayBankOrText.optional(),
  }),
  output: z.object({ gateway: Gateway }),
  errors: ['gateway_exists'],
});

/** A line names a plan, whose name and price it takes, or says its own price. */
const newLine = input.rule(
  z.object({
    description: input.prose.default(''),
    name: input.line.default(''),
    planId: input.integer.default(0),
    quantity: z.int().min(1).max(1_000_000).default(1),
    unitAmountExcludingTax: input.unitAmount.optional(),
  }),
  'is required in a line without planId',
  ({ planId, unitAmountExcludingTax }) => planId !== 0 || unitAmountExcludingTax !== undefined,
  ['unitAmountExcludingTax'],
);

export const newInvoice = operation({
  service: 'billing',
  name: 'invoice.new',
  methods: ['POST'],
  path: '/merchant/invoice/new',
  summary: 'Create an invoice: a draft, or with finish=true an open one with its number and payment',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({
    currency: input.Currency,
    taxPercentage: input.percent,
    userId: input.integer,
    applyPromoCredit: input.flag.default(false),
    applyPromoCreditAmount: z.int().min(0).optional(),
    finish: input.flag.default(false),
    gatewayId: input.integer.default(0),
    name: input.line.default(''),
    lines: z.array(newLine).min(1).max(500),
  }),
  output: z.object({ invoice: Invoice }),
  errors: [
    'user_not_found',
    'user_inactive',
    'gateway_not_found',
    'gateway_archived',
    'plan_not_found',
    'plan_not_active',
  ],
});

export const invoiceDetail = operation({
  service: 'billing',
  name: 'invoice.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/invoice/detail',
  summary: 'An invoice and its credit notes',
  effect: 'read',
  permission: 'invoice.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({ creditNotes: z.array(Invoice), invoice: Invoice }),
  errors: ['invoice_not_found'],
});

export const finishInvoice = operation({
  service: 'billing',
  name: 'invoice.finish',
  methods: ['POST'],
  path: '/merchant/invoice/finish',
  summary: 'Open a draft: it gets its number, its link and its payment; one of total 0 is paid at once',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled, daysUtilDue: z.int().min(0).max(3650) }),
  output: z.object({ invoice: Invoice }),
  errors: ['invoice_not_found', 'invoice_not_draft', 'gateway_not_found', 'gateway_archived'],
});

export const markWireTransferSuccess = operation({
  service: 'billing',
  name: 'invoice.mark_wire_transfer_success',
  methods: ['POST'],
  path: '/merchant/invoice/mark_wire_transfer_success',
  summary: 'Record that the wire transfer of an open invoice has arrived: payment succeeded, invoice paid',
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({ invoiceId: input.filled, transferNumber: input.filled, reason: input.prose.default('') }),
  output: Empty,
  errors: [
    'invoice_not_found',
    'invoice_not_open',
    'invoice_without_payment',
    'payment_not_open',
    'gateway_not_wire_transfer',
    'amount_below_minimum',
    'currency_mismatch',
  ],
});

export const cancelInvoice = operation({
  service: 'billing',
  name: 'invoice.cancel',
  methods: ['POST'],
  path: '/merchant/invoice/cancel',
  summary: 'Cancel an open invoice and the open payment that was to collect it',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_open', 'payment_not_open'],
});

export const deleteInvoice = operation({
  service: 'billing',
  name: 'invoice.delete',
  methods: ['POST'],
  path: '/merchant/invoice/delete',
  summary: 'Delete a draft; deleting it again changes nothing',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_draft'],
});

export const clearInvoicePayment = operation({
  service: 'billing',
  name: 'invoice.clear_payment',
  methods: ['POST'],
  path: '/merchant/invoice/clearPayment',
  summary: 'Cancel the current payment of an open invoice, which stays payable',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_open', 'invoice_without_payment', 'payment_not_open'],
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

export const creditDetail = operation({
  service: 'billing',
  name: 'credit.detail',
  methods: ['POST'],
  path: '/merchant/credit/detail',
  summary: 'A credit account and its transactions, newest first',
  effect: 'read',
  permission: 'promo-credit.read',
  input: z.object({ id: input.integer }),
  output: z.object({ creditAccount: CreditAccount, creditTransactions: z.array(CreditTransaction) }),
  errors: ['credit_account_not_found'],
});

const UsAddressInput = AddressInput.extend({
  countryCode: input.rule(AddressInput.shape.countryCode.unwrap(), 'must be US', code => code.toUpperCase() === 'US'),
});

export const validateUsAddress = operation({
  service: 'billing',
  name: 'vat.us_vat_validate_address',
  methods: ['POST'],
  path: '/merchant/vat/us_vat_validate_address',
  summary: 'Candidates for a US address, normalised; verified where ZIP, state and city agree',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ address: UsAddressInput.optional() }),
  output: z.object({ addresses: z.array(Address) }),
  errors: [],
});

export const addTrialTime = operation({
  service: 'billing',
  name: 'subscription.add_new_trial_start',
  methods: ['POST'],
  path: '/merchant/subscription/add_new_trial_start',
  summary: "Add free hours to the end of a subscription's trial or period",
  effect: 'write',
  permission: 'subscription.write',
  input: z.object({ appendTrialEndHour: z.int().min(1).max(87_600), subscriptionId: input.filled }),
  output: Empty,
  errors: ['subscription_not_found', 'subscription_not_extendable'],
});

export const previewNextInvoice = operation({
  service: 'billing',
  name: 'subscription.preview_next_invoice',
  methods: ['GET'],
  path: '/merchant/subscription/preview_subscription_next_invoice',
  summary: 'What the billing cycle would create next for a subscription; nothing is changed',
  effect: 'read',
  permission: 'subscription.read',
  input: z.object({
    userId: input.q.int().optional(),
    externalUserId: input.line.optional(),
    productId: input.q.int().default(0),
    subscriptionId: input.line.optional(),
  }),
  output: z.object({
    invoice: PreviewInvoice,
    subscription: Subscription,
    subscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  }),
  errors: ['user_not_found', 'subscription_not_found', 'subscription_without_next_invoice'],
});

export const metricHistoryByInvoice = operation({
  service: 'billing',
  name: 'metric.history_by_invoice',
  methods: ['GET'],
  path: '/merchant/metric/user/history/metric_by_invoice',
  summary: 'The use of limit metrics in the period of a subscription invoice',
  effect: 'read',
  permission: 'billable-metric.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({ isLatestPaidInvoice: flag, userHistoryMetric: UserHistoryMetric }),
  errors: ['invoice_not_found', 'invoice_without_subscription'],
});
