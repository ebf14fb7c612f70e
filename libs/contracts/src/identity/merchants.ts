import { z } from 'zod';
import { Address } from '../billing/addresses.js';
import { Gateway } from '../billing/gateways.js';
import { MerchantMultiCurrencyConfig } from '../catalog/exchange.js';
import { flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyMember, operation } from '../operation.js';
import { MerchantMember } from './members.js';
import { MerchantRole } from './roles.js';

const currency = z.object({
  Currency: text,
  Scale: integer.describe('Minor units in one major unit: USD 100, JPY 1, KWD 1000'),
  Symbol: text,
});
export interface CurrencyInfo extends z.output<typeof currency> {}
/** A currency that amounts may be in. */
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

const invoiceMerchant = z.object({
  companyLogo: text,
  companyName: text,
  countryCode: text,
  countryName: text,
  homeUrl: text,
  timeZone: text,
  name: text,
  id: integer,
  address: text,
  companyRegistryCode: text,
  companyVatNumber: text,
  createTime: time,
  email: text,
  host: text,
  location: text,
  phone: text,
  type: integer,
  userId: integer,
});
export interface InvoiceMerchant extends z.output<typeof invoiceMerchant> {}
export const InvoiceMerchant: Shape<InvoiceMerchant> = invoiceMerchant.meta({
  id: 'InvoiceMerchant',
});

const merchantState = invoiceMerchant.extend({
  invoiceNumberPrefix: text.describe("'' for the default"),
  creditNoteNumberPrefix: text.describe("'' for the default"),
  nextInvoiceNumber: integer.describe('Lowest number of the next invoice; 0 for no wish'),
  nextCreditNoteNumber: integer.describe('Lowest number of the next credit note; 0 for no wish'),
});
export interface MerchantState extends z.output<typeof merchantState> {}
/** A merchant as services see it, with the settings of its documents. */
export const MerchantState: Shape<MerchantState> = merchantState.meta({ id: 'MerchantState' });

const numberPrefix = input.rule(
  z.string().max(20),
  'may have letters, digits and -_/. only, and end with none of the digits',
  value => /^([A-Za-z0-9\-_/.]*[A-Za-z\-_/.])?$/.test(value),
);
const nextNumber = z.int().min(1).max(1_000_000_000_000);

export const getMerchant = operation({
  service: 'identity',
  name: 'merchant.get',
  methods: ['GET'],
  path: '/merchant/get',
  summary: 'The merchant with settings, roles and gateways, and the signed-in member',
  effect: 'read',
  permission: anyMember,
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
    merchantMember: MerchantMember.nullable().describe('The signed-in member; the owner for an API key'),
    multiCurrencyConfigs: z.array(MerchantMultiCurrencyConfig),
    openApiHost: text,
    openApiKey: text.describe('The newest API key, masked'),
  }),
  errors: [],
});

const license = z.object({
  name: text.describe('SPDX identifier'),
  url: text.describe('Where its text is'),
  unlimited: flag.describe('Always true: no feature, number or time is limited'),
});
export interface License extends z.output<typeof license> {}
/** The licence of recur itself. */
export const License: Shape<License> = license.meta({ id: 'License' });

export const getLicense = operation({
  service: 'identity',
  name: 'merchant.get_license',
  methods: ['GET'],
  path: '/merchant/get_license',
  summary: 'The licence of this software: an open one, which limits nothing',
  effect: 'read',
  permission: anyMember,
  input: z.object({}),
  output: z.object({ license: License }),
  errors: [],
});

const timeZone = input.rule(
  input.line,
  'must be a time zone of the IANA database, such as Europe/Berlin, or blank',
  isTimeZone,
);
const optionalEmail = z.union([z.literal(''), input.email]);

export const updateMerchant = operation({
  service: 'identity',
  name: 'merchant.update',
  methods: ['POST'],
  path: '/merchant/update',
  summary: "Update the merchant's profile; only the fields sent change",
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    address: input.line.optional(),
    companyLogo: input.optionalUrl
      .optional()
      .describe(
        'A PNG or JPEG of at most 512 KiB for PDFs, fetched once: another picture needs another URL. Hosted pages have the logo of the checkout template',
      ),
    companyName: input.line.optional(),
    companyRegistryCode: input.line.optional(),
    companyVatNumber: input.line.optional(),
    countryCode: input.line.optional(),
    countryName: input.line.optional().describe('Unless it is sent, the English name of countryCode'),
    defaultCurrency: z.union([z.literal(''), input.Currency]).optional(),
    email: optionalEmail.optional(),
    phone: input.line.optional(),
    invoiceNumberPrefix: numberPrefix.optional().describe('Prefix of invoice numbers; blank for INV-'),
    creditNoteNumberPrefix: numberPrefix.optional().describe('Prefix of credit note numbers; blank for CN-'),
    nextInvoiceNumber: nextNumber.optional().describe('Number of the next invoice; numbers only go upwards'),
    nextCreditNoteNumber: nextNumber.optional().describe('Number of the next credit note; numbers only go upwards'),
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
