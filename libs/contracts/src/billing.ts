import { z } from 'zod';
import { Empty, flag } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { Address, AddressInput } from './shapes/address.js';
import { CreditAccount, CreditTransaction } from './shapes/credit.js';
import { Gateway, GatewayBankOrText, gatewayIcons } from './shapes/gateway.js';
import { PreviewInvoice } from './shapes/invoice.js';
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
    sort: z.int().min(-1_000_000_000).max(1_000_000_000).default(10).describe('The higher, the later it is listed'),
    bank: GatewayBankOrText.optional(),
  }),
  output: z.object({ gateway: Gateway }),
  errors: ['gateway_exists'],
  secretOutput: true,
});

export const listGateways = operation({
  service: 'billing',
  name: 'gateway.list',
  methods: ['GET'],
  path: '/merchant/gateway/list',
  summary: 'The gateways that are set up, or those that are archived, the lowest sort first',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ archive: input.q.bool().default(false) }),
  output: z.object({ gateways: z.array(Gateway) }),
  errors: [],
});

export const setDefaultGateway = operation({
  service: 'billing',
  name: 'gateway.set_default',
  methods: ['POST'],
  path: '/merchant/gateway/set_default',
  summary: 'Make a gateway the default, in place of the one that was; if it is that already nothing changes',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ gatewayId: input.integer }),
  output: z.object({ gateway: Gateway }),
  errors: ['gateway_not_found', 'gateway_archived'],
  secretOutput: true,
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
