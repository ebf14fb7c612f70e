import { z } from 'zod';
import { decimal, flag, integer, type Shape, text, time } from '../field.js';
import { Address } from './address.js';

const currency = z.object({ Currency: text, Scale: integer, Symbol: text });
export interface CurrencyInfo extends z.output<typeof currency> {}
/** A currency that amounts may be in; `Scale` is the number of decimals of its minor unit. */
export const CurrencyInfo: Shape<CurrencyInfo> = currency.meta({ id: 'Currency' });

const emailGatewayConnection = z.object({
  apiKey: text,
  apiSecret: text,
  authType: text,
  oauthToken: text,
  password: text,
  skipTLSVerify: flag,
  smtpHost: text,
  smtpPort: integer,
  useTLS: flag,
  username: text,
});
export interface EmailGatewayConnection extends z.output<typeof emailGatewayConnection> {}
export const EmailGatewayConnection: Shape<EmailGatewayConnection> = emailGatewayConnection.meta({
  id: 'EmailGatewayConnectionAPIKeys',
});

const sender = z.object({ address: text, name: text });
export interface Sender extends z.output<typeof sender> {}
export const Sender: Shape<Sender> = sender.meta({ id: 'Sender' });

const usVatGlobalConfig = z.object({
  active: flag,
  availableGatewayNames: z.array(text),
  checkAddressViaGateway: flag,
  defaultGatewayName: text,
  fromAddress: Address.nullable(),
  nexusAddresses: z.array(Address),
  taxCode: text,
  toAddress: Address.nullable(),
  uploadInvoiceToGateway: flag,
});
export interface UsVatGlobalConfig extends z.output<typeof usVatGlobalConfig> {}
export const UsVatGlobalConfig: Shape<UsVatGlobalConfig> = usVatGlobalConfig.meta({ id: 'USVATGlobalConfig' });

const merchantMultiCurrencyConfig = z.object({
  currencyConfigs: z.array(z.object({ autoExchange: flag, currency: text, exchangeRate: decimal })),
  defaultCurrency: text,
  lastUpdateTime: time,
  name: text,
});
export interface MerchantMultiCurrencyConfig extends z.output<typeof merchantMultiCurrencyConfig> {}
export const MerchantMultiCurrencyConfig: Shape<MerchantMultiCurrencyConfig> = merchantMultiCurrencyConfig.meta({
  id: 'MerchantMultiCurrencyConfig',
});
