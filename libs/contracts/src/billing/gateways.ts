import { z } from 'zod';
import { gatewayType } from '../codes.js';
import { amount, anyObject, code, decimal, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyMember, operation } from '../operation.js';
import { GatewayBank, GatewayBankOrText } from './gateway-banks.js';

const gatewayCompanyIssuer = z.object({
  issueAddress: text,
  issueCompanyName: text,
  issueLogo: text,
  issueRegNumber: text,
  issueVatNumber: text,
});
export interface GatewayCompanyIssuer extends z.output<typeof gatewayCompanyIssuer> {}
export const GatewayCompanyIssuer: Shape<GatewayCompanyIssuer> = gatewayCompanyIssuer.meta({
  id: 'GatewayCompanyIssuer',
});

const gatewayCurrencyExchange = z.object({
  exchange_rate: decimal,
  from_currency: text,
  to_currency: text,
  exchange_amount: amount,
});
export interface GatewayCurrencyExchange extends z.output<typeof gatewayCurrencyExchange> {}
export const GatewayCurrencyExchange: Shape<GatewayCurrencyExchange> = gatewayCurrencyExchange.meta({
  id: 'GatewayCurrencyExchange',
});

const gatewayPaymentType = z.object({
  autoCharge: flag,
  category: text,
  countryName: text,
  name: text,
  paymentType: text,
  supportCurrencies: z.array(text),
});
export interface GatewayPaymentType extends z.output<typeof gatewayPaymentType> {}
export const GatewayPaymentType: Shape<GatewayPaymentType> = gatewayPaymentType.meta({
  id: 'GatewayPaymentType',
});

const gateway = z.object({
  gatewayId: integer,
  gatewayType: code(gatewayType),
  createTime: time,
  sort: integer,
  minimumAmount: amount,
  IsSetupFinished: flag,
  archive: flag,
  autoChargeEnabled: flag,
  currencyExchangeEnabled: flag,
  isDefault: flag,
  currency: text,
  description: text,
  displayName: text,
  gatewayKey: text,
  gatewayLogo: text,
  gatewayName: text,
  gatewayWebhookIntegrationLink: text,
  gatewayWebsiteLink: text,
  name: text,
  privateSecretName: text,
  publicKeyName: text,
  subGateway: text,
  subGatewayName: text,
  webhookEndpointUrl: text,
  gatewaySecret: text,
  webhookSecret: text,
  gatewayIcons: z.array(text),
  metadata: anyObject,
  countryConfig: z.record(z.string(), flag),
  bank: GatewayBank.nullable(),
  companyIssuer: GatewayCompanyIssuer.nullable(),
  currencyExchange: z.array(GatewayCurrencyExchange),
  defaultGatewayPaymentType: GatewayPaymentType.nullable(),
  gatewayPaymentTypes: z.array(GatewayPaymentType),
  setupGatewayPaymentTypes: z.array(GatewayPaymentType),
});
export interface Gateway extends z.output<typeof gateway> {}
export const Gateway: Shape<Gateway> = gateway.meta({ id: 'Gateway' });

const icons = z.union([input.httpUrl, input.list(input.httpUrl, 20)], { error: 'must be a text or a list of texts' });
/** Icons as http(s) URLs; a list of lists is flattened. */
export const gatewayIcons = input.list(icons, 20).transform(list => list.flat());

const sort = z.int().min(-1e9).max(1e9).describe('Lists are in ascending order of this number');

/** The part that all changes of gateways have in common. */
const change = {
  service: 'billing',
  methods: ['POST'],
  effect: 'write',
  permission: 'configuration.write',
  output: z.object({ gateway: Gateway }),
  secretOutput: true,
} as const;

/** Deciding where money goes, and who may report that it came, can have invoices count as paid. */
export const moneyPath = { permission: 'transaction.write' } as const;

export const setupWireTransfer = operation({
  ...change,
  name: 'gateway.wire_transfer_setup',
  also: [moneyPath],
  path: '/merchant/gateway/wire_transfer_setup',
  summary: 'Set up the wire-transfer gateway, one per merchant',
  input: z.object({
    currency: input.Currency,
    minimumAmount: z.int().min(0),
    displayName: input.line.default('Wire Transfer'),
    gatewayIcons: gatewayIcons.default([]),
    sort: sort.default(10),
    bank: GatewayBankOrText.optional(),
  }),
  errors: ['gateway_exists'],
});

export const listGateways = operation({
  service: 'billing',
  name: 'gateway.list',
  methods: ['GET', 'POST'],
  path: '/merchant/gateway/list',
  summary: 'Gateways that are set up, or archived ones, ordered by sort',
  effect: 'read',
  permission: anyMember,
  input: z.object({ archive: input.q.bool().default(false) }),
  output: z.object({ gateways: z.array(Gateway) }),
  errors: [],
});

export const setDefaultGateway = operation({
  ...change,
  name: 'gateway.set_default',
  path: '/merchant/gateway/set_default',
  summary: 'Make a gateway the default, replacing the previous one; no effect if it is already the default',
  input: z.object({ gatewayId: input.integer }),
  errors: ['gateway_not_found', 'gateway_archived'],
});

const blankable = input.line.default('');
const issuer = z
  .object({
    issueAddress: blankable,
    issueCompanyName: blankable,
    issueLogo: input.optionalUrl.default(''),
    issueRegNumber: blankable,
    issueVatNumber: blankable,
  })
  .meta({ 'x-shape': 'GatewayCompanyIssuerInput' })
  .describe('Company that issues the invoices paid through the gateway, where it is not the merchant itself');

const exchange = z
  .object({
    from_currency: input.Currency,
    to_currency: input.Currency,
    exchange_rate: input.rule(input.rate, 'must be more than 0', rate => rate > 0),
    exchange_amount: z.int().min(0).default(0),
  })
  .meta({ 'x-shape': 'GatewayCurrencyExchangeInput' });

/** Fields of setup and edit; absent: the default, or unchanged. */
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

export const setupGateway = operation({
  ...change,
  name: 'gateway.setup',
  also: [moneyPath],
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
  also: [{ ...moneyPath, by: ['gatewayKey', 'gatewaySecret', 'subGateway'] }],
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

export const sortGateways = operation({
  ...change,
  name: 'gateway.edit_sort',
  path: '/merchant/gateway/edit_sort',
  summary: 'Set the places of gateways in lists, of all that are named at once',
  input: z.object({
    gatewaySorts: input.distinct(
      z
        .object({
          gatewayName: input.line.default('').describe('Must be the name of the gateway where it is sent'),
          gatewayId: input.integer,
          sort,
        })
        .meta({ 'x-shape': 'GatewaySortInput' }),
      'gatewayId',
    ),
  }),
  output: z.object({ gateways: z.array(Gateway) }),
  errors: ['gateway_not_found'],
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
  also: [{ ...moneyPath, by: ['bank'] }],
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
