import { z } from 'zod';
import { Empty, flag, integer, percent, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Address, AddressInput } from './addresses.js';

const ratePpm = 'Parts per million: 1000000 is 100 %';

/** Gateways that check VAT numbers. VIES is the register of the European Commission. */
export const vatGatewayNames = ['vies'] as const;

const vatCountryRate = z.object({
  id: integer.describe('Numeric code of ISO 3166-1'),
  countryCode: text,
  countryName: text,
  gateway: text.describe('Gateway that checks VAT numbers of the country; blank if none does'),
  isEU: flag,
  mamo: text,
  standardTaxPercentage: percent.describe('Standard rate now; 10000 is 100 %'),
  vatSupport: flag.describe('Whether a standard rate is known'),
});
export interface VatCountryRate extends z.output<typeof vatCountryRate> {}
export const VatCountryRate: Shape<VatCountryRate> = vatCountryRate.meta({ id: 'VatCountryRate' });

const validFields = {
  vatNumber: text.describe('In its normal form: without spaces and punctuation, in capitals'),
  countryCode: text,
  valid: flag.describe('Format and checksum are right, and VIES, if it was asked, knows the number'),
  validateMessage: text,
  underMaintenance: flag.describe('VIES could not answer: only format and checksum were checked'),
  companyName: text.describe('As VIES states it; blank if it does not'),
  companyAddress: text,
};
const validResult = z.object(validFields);
export interface ValidResult extends z.output<typeof validResult> {}
export const ValidResult: Shape<ValidResult> = validResult.meta({ id: 'ValidResult' });

const numberValidateHistory = z.object({ ...validFields, id: integer, createTime: time });
export interface NumberValidateHistory extends z.output<typeof numberValidateHistory> {}
export const NumberValidateHistory: Shape<NumberValidateHistory> = numberValidateHistory.meta({
  id: 'NumberValidateHistory',
});

export const MerchantVatRule = z
  .object({
    gatewayNames: input.line.default('').describe('Separated by commas; blank: all gateways'),
    validCountryCodes: input.line.default('').describe('Countries of buyers, separated by commas; blank: all'),
    taxPercentage: input.percent,
    ignoreVatNumber: input.flag.default(false).describe('Also for buyers whose VAT number would give reverse charge'),
  })
  .meta({ 'x-shape': 'MerchantVatRuleInput' });
/** A merchant's own rate for payments through certain gateways. */
export interface MerchantVatRule extends z.output<typeof MerchantVatRule> {}

/** A VAT number after a check, as internal events carry it. */
export const VatNumberState = z.object({
  number: text,
  countryCode: text,
  valid: flag,
  checkTime: time,
  pendingSince: time.describe('Since when documents apply reverse charge without confirmation by VIES'),
});
export type VatNumberState = z.output<typeof VatNumberState>;

const usRate = z.object({
  state: text,
  zip: text.describe('Blank: the rate of the whole state'),
  ratePpm: integer.describe(ratePpm),
  from: integer.describe('Unix second from which the rate applies'),
  to: integer.describe('Unix second from which it no longer applies; 0: no end'),
});
export interface UsRate extends z.output<typeof usRate> {}
export const UsRate: Shape<UsRate> = usRate.meta({ id: 'UsRate' });

const second = z.int().min(0).max(10_000_000_000);
const usRateInput = input.rule(
  z
    .object({
      state: input.line.describe('Code or name'),
      zip: input
        .rule(z.string().max(5), 'must be a ZIP code of 5 digits, or blank', zip => /^(\d{5})?$/.test(zip))
        .default(''),
      ratePpm: z.int().min(0).max(1_000_000).describe(ratePpm),
      from: second.default(0),
      to: second.default(0),
    })
    .meta({ 'x-shape': 'UsRateInput' }),
  'must be after from, or 0',
  ({ from, to }) => to === 0 || to > from,
  ['to'],
);

export const setupVatGateway = operation({
  service: 'billing',
  name: 'vat.setup_gateway',
  methods: ['POST'],
  path: '/merchant/vat/setup_gateway',
  summary: 'Set up the gateway that checks VAT numbers, replacing what was set up before',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    gatewayName: z.enum(vatGatewayNames),
    data: input.externalId.describe('Of vies: your own VAT number, for which it confirms its answers; or blank'),
    IsDefault: input.flag.default(false),
  }),
  output: z.object({ data: text }),
  errors: [],
});

export const listVatCountries = operation({
  service: 'billing',
  name: 'vat.country_list',
  methods: ['GET', 'POST'],
  path: '/merchant/vat/country_list',
  summary: 'All countries, with the standard rate of VAT or GST in force now',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ merchantId: input.q.int().optional().describe('No effect: the credential names the merchant') }),
  output: z.object({ vatCountryList: z.array(VatCountryRate) }),
  errors: [],
});

export const validateVatNumber = operation({
  service: 'billing',
  name: 'vat.vat_number_validate',
  methods: ['POST'],
  path: '/merchant/vat/vat_number_validate',
  summary: 'Check a VAT number: format, checksum, and VIES where it is set up; an answer counts for 90 days',
  effect: 'write',
  permission: 'user.write',
  input: z.object({ vatNumber: input.filledKey.describe('With the prefix of its country, such as EE or EL') }),
  output: z.object({ vatNumberValidate: ValidResult }),
  errors: [],
});

export const listVatNumberValidations = operation({
  service: 'billing',
  name: 'vat.vat_number_validate_history',
  methods: ['GET', 'POST'],
  path: '/merchant/vat/vat_number_validate_history',
  summary: 'Checks of VAT numbers, newest first',
  effect: 'read',
  permission: 'user.read',
  input: input.paged(
    z.object({
      searchKey: input.line.optional().describe('Part of the number or of the company name, ignoring case'),
      ...input.createdWithin,
      ...input.paging,
    }),
  ),
  output: z.object({ numberValidateHistoryList: z.array(NumberValidateHistory), total: input.total }),
  errors: [],
});

export const setTaxExemption = operation({
  service: 'billing',
  name: 'vat.user_exemption',
  methods: ['POST'],
  path: '/merchant/vat/user_exemption',
  summary: 'Exempt a user from tax, or end the exemption; documents state the reason',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    userId: input.integer,
    exempt: input.flag,
    reason: input.line.default(''),
    validUntil: second.default(0).describe('Last unix second of the exemption; 0: no end'),
  }),
  output: Empty,
  errors: ['user_not_found'],
});

export const setUsRates = operation({
  service: 'billing',
  name: 'vat.us_rates',
  methods: ['POST'],
  path: '/merchant/vat/us_rates',
  summary: 'Replace your US sales tax rates by state or ZIP code, with their dates',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    rates: input.list(usRateInput, 5_000).describe('One rate for each state, ZIP code and beginning'),
  }),
  output: z.object({ rates: z.array(UsRate) }),
  errors: [],
});

export const listUsRates = operation({
  service: 'billing',
  name: 'vat.us_rates_list',
  methods: ['GET', 'POST'],
  path: '/merchant/vat/us_rates/list',
  summary: 'Your US sales tax rates, by state, ZIP code and date',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: z.object({ rates: z.array(UsRate) }),
  errors: [],
});

export const setNexus = operation({
  service: 'billing',
  name: 'vat.nexus',
  methods: ['POST'],
  path: '/merchant/vat/nexus',
  summary: 'Replace the US addresses at which you have nexus; sales tax is due in their states only',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ nexusAddresses: input.list(AddressInput, 100) }),
  output: z.object({ nexusAddresses: z.array(Address) }),
  errors: [],
});
