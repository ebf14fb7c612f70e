import type { Address, MerchantVatRule } from '@recur/contracts';
import { document, flag, int, integer, optionalDocument, table, text } from '@recur/platform';

/** Settings of a merchant; one that has none has the defaults of `settings.ts`. */
export interface TaxSettings {
  merchantId: number;
  /** Places of nexus in the US, their states as codes. */
  nexusAddresses: Address[];
  gatewayRules: MerchantVatRule[];
  /** True if reverse charge applies to a well-formed number that VIES has not confirmed yet. */
  reverseChargePending: boolean;
  vatGateway: VatGateway | null;
}

export interface VatGateway {
  name: 'vies';
  /** The merchant's own VAT number, or ''. */
  requester: string;
  isDefault: boolean;
}

export interface TaxExemption {
  merchantId: number;
  userId: number;
  reason: string;
  /** Last unix second; 0: no end. */
  validUntil: number;
  createTime: number;
}

export interface UsTaxRate {
  merchantId: number;
  state: string;
  /** '' for the whole state. */
  zip: string;
  fromTime: number;
  /** First unix second after it; 0: no end. */
  toTime: number;
  ratePpm: number;
}

/** A VAT number that VIES was asked about, or that documents rely on. */
export interface VatNumber {
  merchantId: number;
  /** Normalised, with its prefix. */
  number: string;
  version: number;
  countryCode: string;
  /** The newest answer of VIES, and its time; 0: none yet. */
  valid: boolean;
  checkTime: number;
  /** Since when documents apply reverse charge without an answer of VIES; 0: none does. */
  pendingSince: number;
}

/** A check of a VAT number. */
export interface VatNumberCheck {
  merchantId: number;
  id: number;
  number: string;
  countryCode: string;
  /** The check that decided: VIES, or format and checksum alone. */
  source: 'format' | 'vies';
  valid: boolean;
  underMaintenance: boolean;
  message: string;
  companyName: string;
  companyAddress: string;
  /** Consultation number of VIES. */
  reference: string;
  createTime: number;
}

export const taxSettings = table<TaxSettings>('tax_settings', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    nexusAddresses: document<Address[]>(),
    gatewayRules: document<MerchantVatRule[]>(),
    reverseChargePending: flag(),
    vatGateway: optionalDocument<VatGateway>(),
  },
});

export const taxExemptions = table<TaxExemption>('tax_exemptions', {
  key: ['merchantId', 'userId'],
  columns: {
    merchantId: integer(),
    userId: integer(),
    reason: text(),
    validUntil: integer(),
    createTime: integer(),
  },
});

export const usTaxRates = table<UsTaxRate>('us_tax_rates', {
  key: ['merchantId', 'state', 'zip', 'fromTime'],
  columns: {
    merchantId: integer(),
    state: text(),
    zip: text(),
    fromTime: integer(),
    toTime: integer(),
    ratePpm: int(),
  },
  checks: { us_tax_rates_rate: 'rate_ppm between 0 and 1000000' },
});

export const vatNumbers = table<VatNumber>('vat_numbers', {
  key: ['merchantId', 'number'],
  columns: {
    merchantId: integer(),
    number: text(),
    version: int(),
    countryCode: text(),
    valid: flag(),
    checkTime: integer(),
    pendingSince: integer(),
  },
});

export const vatNumberChecks = table<VatNumberCheck>('vat_number_checks', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    number: text(),
    countryCode: text(),
    source: text<'format' | 'vies'>(),
    valid: flag(),
    underMaintenance: flag(),
    message: text(),
    companyName: text(),
    companyAddress: text(),
    reference: text(),
    createTime: integer(),
  },
  checks: { vat_number_checks_source: "source in ('format', 'vies')" },
  indices: {
    vat_number_checks_newest: { on: ['merchantId', 'createTime', 'id'] },
    vat_number_checks_number: { on: ['merchantId', 'number', 'id'] },
  },
});
