import { z } from 'zod';
import { gatewayType } from '../codes.js';
import { amount, anyObject, code, decimal, flag, integer, type Shape, text, time } from '../field.js';

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
