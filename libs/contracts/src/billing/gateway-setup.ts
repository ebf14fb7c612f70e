import { z } from 'zod';
import { text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Gateway, GatewayBankOrText, gatewayIcons } from './gateways.js';

const sort = z.int().min(-1_000_000_000).max(1_000_000_000).describe('Lists are in ascending order of this number');

const issuer = z
  .object({
    issueAddress: input.line.default(''),
    issueCompanyName: input.line.default(''),
    issueLogo: input.line.default(''),
    issueRegNumber: input.line.default(''),
    issueVatNumber: input.line.default(''),
  })
  .describe('Company that issues the invoices paid through the gateway, where it is not the merchant itself');

const exchange = z.object({
  from_currency: input.Currency,
  to_currency: input.Currency,
  exchange_rate: input.rule(input.rate, 'must be more than 0', rate => rate > 0),
  exchange_amount: z.int().min(0).default(0),
});

/** What setup and edit share; absent: the default, or unchanged. */
const settings = {
  displayName: input.line.optional(),
  gatewayKey: input.line.optional().describe('Public key; answers show it masked'),
  gatewaySecret: input.line.optional().describe('Secret key; stored encrypted, answers show it masked'),
  gatewayPaymentTypes: input.list(input.line, 100).optional().describe('Of those that the gateway offers'),
  companyIssuer: issuer.optional(),
  currencyExchange: input.list(exchange, 100).optional(),
  metadata: input.metadata.optional(),
  sort: sort.optional(),
  subGateway: input.line.optional(),
};

/** What every change of a gateway's settings has in common. */
const change = {
  service: 'billing',
  methods: ['POST'],
  effect: 'write',
  permission: 'configuration.write',
  output: z.object({ gateway: Gateway }),
  secretOutput: true,
} as const;

export const setupGateway = operation({
  ...change,
  name: 'gateway.setup',
  path: '/merchant/gateway/setup',
  summary: 'Set up a gateway, one of each name; the first one becomes the default',
  input: z.object({
    ...settings,
    gatewayName: input.filled.describe('stripe, or, in a sandbox deployment, sandbox'),
    gatewayIcons: gatewayIcons.default([]),
  }),
  errors: ['gateway_exists'],
  secretInput: true,
});

export const editGateway = operation({
  ...change,
  name: 'gateway.edit',
  path: '/merchant/gateway/edit',
  summary: 'Change the settings of a gateway; absent fields and masked secrets stay as they are',
  input: z.object({
    ...settings,
    gatewayId: input.integer,
    gatewayLogo: gatewayIcons.optional().describe('Replaces the icons'),
  }),
  errors: ['gateway_not_found'],
  secretInput: true,
});

export const listGatewaySetups = operation({
  service: 'billing',
  name: 'gateway.setup_list',
  methods: ['GET', 'POST'],
  path: '/merchant/gateway/setup_list',
  summary: 'Gateways that can be set up; those that are show their settings and IsSetupFinished',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: z.object({ gateways: z.array(Gateway) }),
  errors: [],
});

export const archiveGateway = operation({
  ...change,
  name: 'gateway.archive',
  path: '/merchant/gateway/archive',
  summary: 'Archive a gateway: it takes no new payments and is no longer the default; open payments stay payable',
  input: z.object({ gatewayId: input.integer }),
  errors: ['gateway_not_found'],
});

export const restoreGateway = operation({
  ...change,
  name: 'gateway.restore',
  path: '/merchant/gateway/restore',
  summary: 'Restore an archived gateway; it becomes the default if there is none',
  input: z.object({ gatewayId: input.integer }),
  errors: ['gateway_not_found'],
});

export const editWireTransfer = operation({
  ...change,
  name: 'gateway.wire_transfer_edit',
  path: '/merchant/gateway/wire_transfer_edit',
  summary: 'Change the wire-transfer gateway; absent fields stay as they are',
  input: z.object({
    gatewayId: input.integer,
    currency: input.Currency,
    minimumAmount: z.int().min(0),
    displayName: input.line.optional(),
    gatewayIcons: gatewayIcons.optional(),
    sort: sort.optional(),
    bank: GatewayBankOrText.optional(),
  }),
  errors: ['gateway_not_found', 'gateway_not_wire_transfer'],
});

export const setupGatewayWebhook = operation({
  service: 'billing',
  name: 'gateway.setup_webhook',
  methods: ['POST'],
  path: '/merchant/gateway/setup_webhook',
  summary: 'The URL to which the gateway sends its webhooks; stores the secret that signs them, if one is sent',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    gatewayId: input.integer,
    webhookSecret: input.line.optional().describe('Stored encrypted; answers show it masked'),
  }),
  output: z.object({ gatewayWebhookUrl: text }),
  errors: ['gateway_not_found', 'gateway_without_webhook'],
  secretInput: true,
});
