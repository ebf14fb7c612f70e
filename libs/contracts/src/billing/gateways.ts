import { z } from 'zod';
import { gatewayType } from '../codes.js';
import { amount, anyObject, code, decimal, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyMember, operation } from '../operation.js';
import { spelled } from '../validate.js';

const gatewayBank = z.object({
  accountHolder: text,
  address: text,
  ABARoutingNumber: text,
  CNAPS: text,
  Remarks: text,
  accountNumber: text,
  bankName: text,
  bic: text,
  bsbCode: text,
  iban: text,
  swiftCode: text,
});
export interface GatewayBank extends z.output<typeof gatewayBank> {}
export const GatewayBank: Shape<GatewayBank> = gatewayBank.meta({ id: 'GatewayBank' });

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

/** The bank account that receives wire transfers. */
export const GatewayBankInput = z.object({
  accountHolder: input.filled,
  address: input.filled,
  ABARoutingNumber: input.line.default(''),
  CNAPS: input.line.default(''),
  Remarks: input.prose.default(''),
  accountNumber: input.line.default(''),
  bankName: input.line.default(''),
  bic: input.line.default(''),
  bsbCode: input.line.default(''),
  iban: input.line.default(''),
  swiftCode: input.line.default(''),
});

const bankText = 'must be an object or its JSON text';
/** The bank account as an object or as its JSON text. */
export const GatewayBankOrText = z.union(
  [
    GatewayBankInput,
    input
      .rule(input.prose, bankText, value => input.jsonIn(value) !== undefined)
      .transform(text => spelled(GatewayBankInput, input.jsonIn(text)))
      .pipe(GatewayBankInput),
  ],
  { error: bankText },
);

const icons = z.union([input.httpUrl, input.list(input.httpUrl, 20)], { error: 'must be a text or a list of texts' });
/** Icons as http(s) URLs; a list of lists is flattened. */
export const gatewayIcons = input.list(icons, 20).transform(list => list.flat());

export const setupWireTransfer = operation({
  service: 'billing',
  name: 'gateway.wire_transfer_setup',
  methods: ['POST'],
  path: '/merchant/gateway/wire_transfer_setup',
  summary: 'Set up the wire-transfer gateway, one per merchant',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    currency: input.Currency,
    minimumAmount: z.int().min(0),
    displayName: input.line.default('Wire Transfer'),
    gatewayIcons: gatewayIcons.default([]),
    sort: z
      .int()
      .min(-1_000_000_000)
      .max(1_000_000_000)
      .default(10)
      .describe('Lists are in ascending order of this number'),
    bank: GatewayBankOrText.optional(),
  }),
  output: z.object({ gateway: Gateway }),
  errors: ['gateway_exists'],
  secretOutput: true,
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
  service: 'billing',
  name: 'gateway.set_default',
  methods: ['POST'],
  path: '/merchant/gateway/set_default',
  summary: 'Make a gateway the default, replacing the previous one; no effect if it is already the default',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ gatewayId: input.integer }),
  output: z.object({ gateway: Gateway }),
  errors: ['gateway_not_found', 'gateway_archived'],
  secretOutput: true,
});
