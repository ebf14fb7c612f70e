import { z } from 'zod';
import { flag, text } from './field.js';
import { email, line, optionalCurrency, optionalUrl, rule } from './input.js';
import { operation } from './operation.js';
import { Gateway } from './shapes/gateway.js';
import { InvoiceMerchant } from './shapes/invoice.js';
import { MerchantMember, MerchantRole } from './shapes/member.js';
import {
  CurrencyInfo,
  EmailGatewayConnection,
  MerchantMultiCurrencyConfig,
  Sender,
  UsVatGlobalConfig,
} from './shapes/merchant.js';

export const getMerchant = operation({
  service: 'identity',
  name: 'merchant.get',
  methods: ['GET'],
  path: '/merchant/get',
  summary: 'The merchant with its settings, its roles and gateways, and the member who asks',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: z.object({
    Currency: z.array(CurrencyInfo),
    MemberRoles: z.array(MerchantRole),
    TimeZone: z.array(text),
    cname: text,
    cnameDomain: text,
    defaultCurrency: text,
    defaultEmailGateway: text,
    emailGateways: z.record(z.string(), EmailGatewayConnection),
    emailSender: Sender.nullable(),
    env: text,
    gateways: z.array(Gateway),
    globalTOPTEnabled: flag,
    globalUSVATConfig: UsVatGlobalConfig.nullable(),
    isOwner: flag.describe('An API key acts as the owner'),
    isProd: flag,
    merchant: InvoiceMerchant,
    merchantMember: MerchantMember.nullable().describe('Who asks; of an API key the owner'),
    multiCurrencyConfigs: z.array(MerchantMultiCurrencyConfig),
    openApiHost: text,
    openApiKey: text.describe('The newest API key, masked'),
  }),
  errors: [],
});

const timeZone = rule(line, 'must be a time zone of the IANA database, such as Europe/Berlin, or blank', isTimeZone);
const optionalEmail = z.union([z.literal(''), email]);

export const updateMerchant = operation({
  service: 'identity',
  name: 'merchant.update',
  methods: ['POST'],
  path: '/merchant/update',
  summary: 'Change what the merchant tells of itself; only the fields that are sent change',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    address: line.optional(),
    companyLogo: optionalUrl.optional(),
    companyName: line.optional(),
    companyRegistryCode: line.optional(),
    companyVatNumber: line.optional(),
    countryCode: line.optional(),
    countryName: line.optional(),
    defaultCurrency: optionalCurrency.optional(),
    email: optionalEmail.optional(),
    phone: line.optional(),
    timeZone: timeZone.optional(),
  }),
  output: z.object({ merchant: InvoiceMerchant }),
  errors: [],
});

function isTimeZone(name: string): boolean {
  if (name === '') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
