import { z } from 'zod';
import { Empty, flag, text, time } from './field.js';
import { Currency, email, line, optionalUrl, rule } from './input.js';
import { operation } from './operation.js';
import { MerchantMultiCurrencyConfig } from './shapes/currency.js';
import { Gateway } from './shapes/gateway.js';
import { InvoiceMerchant } from './shapes/invoice.js';
import { MerchantMember, MerchantRole } from './shapes/member.js';
import { CurrencyInfo, EmailGatewayConnection, Sender, UsVatGlobalConfig } from './shapes/merchant.js';

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
    defaultCurrency: z.union([z.literal(''), Currency]).optional(),
    email: optionalEmail.optional(),
    phone: line.optional(),
    timeZone: timeZone.optional(),
  }),
  output: z.object({ merchant: InvoiceMerchant }),
  errors: [],
});

export const newApiKey = operation({
  service: 'identity',
  name: 'apikey.new',
  methods: ['POST'],
  path: '/merchant/new_apikey',
  summary: 'Make a new API key, shown only once; older keys stay valid for 24 hours. For the owner and API keys only',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({}),
  output: z.object({ apiKey: text }),
  errors: ['too_many_api_keys'],
  secretOutput: true,
});

export const listApiKeys = operation({
  service: 'identity',
  name: 'apikey.list',
  methods: ['GET'],
  path: '/merchant/apikey/list',
  summary: "The merchant's API keys, newest first; of a great many, the newest thousand",
  effect: 'read',
  permission: 'admin.read',
  input: z.object({}),
  output: z.object({
    apiKeys: z.array(
      z.object({
        id: z.int(),
        hint: text.describe('As the operation log shows it'),
        createTime: time,
        revokedTime: time.describe('When it ended or will, on the clock of the machine; 0: it holds until it is ended'),
        state: z.enum(['active', 'ending', 'revoked']),
      }),
    ),
  }),
  errors: [],
});

export const revokeApiKey = operation({
  service: 'identity',
  name: 'apikey.revoke',
  methods: ['POST'],
  path: '/merchant/apikey/revoke',
  summary: 'End an API key at once; ending it again changes nothing',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({ apiKeyId: z.int() }),
  output: Empty,
  errors: ['api_key_not_found', 'own_api_key'],
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
