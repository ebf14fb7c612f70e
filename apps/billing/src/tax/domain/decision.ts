import { DAY_SECONDS } from '@recur/kernel';
import { ppmOf, type TaxComponent, type TaxRate } from '../../pricing/tax.js';

/** A rate with the time from which it applies, and until which it does not; `to` is 0 for no end. Unix seconds. */
interface Dated {
  ratePpm: number;
  from: number;
  to?: number;
}

/** Standard rate of a country (ISO 3166-1 alpha-2). */
export interface CountryRate extends Dated {
  countryCode: string;
}

/** Rate of a US state, or of a ZIP code in it (`zip` is '' for the whole state). */
export interface UsRate extends Dated {
  state: string;
  zip: string;
  components?: readonly TaxComponent[];
}

/** Rule of the merchant for certain gateways and countries; an empty list means all. */
export interface GatewayTaxRule {
  gatewayNames: readonly string[];
  countryCodes: readonly string[];
  /** 10000 = 100 %. */
  taxPercentage: number;
  /** True if the rule also applies to buyers whose VAT number would give reverse charge. */
  ignoreVatNumber: boolean;
}

export interface TaxSeller {
  countryCode: string;
  gatewayRules: readonly GatewayTaxRule[];
  /** False to tax buyers whose number no answer of VIES confirms yet. */
  reverseChargePending: boolean;
}

export interface TaxBuyer {
  business: boolean;
  countryCode: string;
  /** US state code and ZIP code; '' elsewhere. */
  state: string;
  zip: string;
  exemption?: { reason: string /** Unix seconds, 0 for no end. */; validUntil: number };
  vatNumber?: {
    number: string;
    /** Format and checksum of its country are valid. */
    wellFormed: boolean;
    /** The newest answer of VIES. */
    answer?: { valid: boolean; checkedAt: number };
  };
}

/** US sales tax as the product has it configured, else the merchant. */
export interface UsTaxConfig {
  active: boolean;
  nexusStates: readonly string[];
}

/** Percentage of a request; only invoice commands and API keys may set one. */
export interface RequestedTax {
  /** 10000 = 100 %. */
  taxPercentage: number;
  /** In a subscription command, 0 means not given, and a rate is ignored unless an API key sends it. */
  command: 'invoice' | 'subscription';
  byApiKey: boolean;
}

export interface TaxQuestion {
  requested?: RequestedTax;
  seller: TaxSeller;
  buyer: TaxBuyer;
  gatewayName: string;
  product: { us?: UsTaxConfig };
  merchantUs: UsTaxConfig;
  countryRates: readonly CountryRate[];
  usRates: readonly UsRate[];
  /** Tax point (`taxPoint`), and the time of the decision, for the age of an answer of VIES. Unix seconds. */
  at: number;
  now: number;
}

export interface TaxDecision extends TaxRate {
  /** True for reverse charge on a number that VIES has not confirmed: check it again daily. */
  pending: boolean;
}

const maxAnswerAgeSeconds = 90 * DAY_SECONDS;

/** VAT number prefixes of the EU; Greece uses EL, Northern Ireland XI. */
const euPrefixes = new Set(
  'AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK XI'.split(' '),
);
const countryOfPrefix: Readonly<Record<string, string>> = { EL: 'GR', XI: 'GB' };

/** The tax point of a line: the finish for fees paid in advance, the last second of its period for usage. */
export const taxPoint = (line: { usagePeriodEnd?: number }, finishTime: number): number =>
  line.usagePeriodEnd === undefined ? finishTime : line.usagePeriodEnd - 1;

/**
 * Decides the rate of a line, with its reason. The first rule that applies wins: the request's percentage, the buyer's
 * exemption, the merchant's rule for the gateway, reverse charge, the rate of the US or of the buyer's country, 0.
 */
export function decideTax(question: TaxQuestion): TaxDecision {
  const reverse = reverseCharge(question);
  return (
    fromRequest(question) ??
    fromExemption(question) ??
    fromGatewayRule(question, reverse !== undefined) ??
    reverse ??
    (question.buyer.countryCode === 'US' ? fromUs(question) : fromCountry(question)) ??
    outside(
      question.buyer.countryCode,
      'none',
      `No tax rate is set up for ${question.buyer.countryCode || 'the buyer'}`,
    )
  );
}

function fromRequest({ requested, buyer }: TaxQuestion): TaxDecision | undefined {
  if (!requested) return undefined;
  const { taxPercentage, command, byApiKey } = requested;
  if (command === 'subscription' && (!byApiKey || taxPercentage === 0)) return undefined;
  return standard(ppmOf(taxPercentage), buyer.countryCode, 'request', 'Rate stated in the request');
}

function fromExemption({ buyer, at }: TaxQuestion): TaxDecision | undefined {
  const { exemption, countryCode } = buyer;
  if (!exemption || (exemption.validUntil !== 0 && at > exemption.validUntil)) return undefined;
  const reason = exemption.reason ? `Exempt from tax: ${exemption.reason}` : 'Exempt from tax';
  return { ...outside(countryCode, 'exemption', reason), category: 'E' };
}

function fromGatewayRule({ seller, buyer, gatewayName }: TaxQuestion, reverse: boolean): TaxDecision | undefined {
  const includes = (list: readonly string[], value: string) => list.length === 0 || list.includes(value);
  const rule = seller.gatewayRules.find(
    ({ gatewayNames, countryCodes, ignoreVatNumber }) =>
      includes(gatewayNames, gatewayName) && includes(countryCodes, buyer.countryCode) && (ignoreVatNumber || !reverse),
  );
  if (!rule) return undefined;
  const reason = `Rate of the merchant for payments through ${gatewayName}`;
  return standard(ppmOf(rule.taxPercentage), buyer.countryCode, 'gateway_rule', reason);
}

/** Reverse charge for a business with a VAT number of another EU country. */
function reverseCharge({ seller, buyer, now }: TaxQuestion): TaxDecision | undefined {
  const { business, vatNumber } = buyer;
  if (!business || !vatNumber) return undefined;
  const prefix = vatNumber.number.slice(0, 2).toUpperCase();
  const country = countryOfPrefix[prefix] ?? prefix;
  if (!euPrefixes.has(prefix) || country === seller.countryCode || prefix === seller.countryCode) return undefined;
  const { answer } = vatNumber;
  const current = answer !== undefined && now - answer.checkedAt <= maxAnswerAgeSeconds;
  const pending = !current && vatNumber.wellFormed && seller.reverseChargePending;
  if (!pending && !(current && answer.valid)) return undefined;
  const reason = `Reverse charge: the recipient is liable for the tax (VAT number ${vatNumber.number})`;
  return { ...outside(country, pending ? 'vat_number_format' : 'vies', reason), category: 'AE', pending };
}

/** US sales tax: only in nexus states, at the rates that the merchant entered; no rate is guessed. */
function fromUs({ buyer, product, merchantUs, usRates, at }: TaxQuestion): TaxDecision {
  const config = product.us?.active ? product.us : merchantUs;
  const jurisdiction = buyer.state ? `US-${buyer.state}` : 'US';
  if (!config.active) return outside(jurisdiction, 'us', 'US sales tax is not switched on');
  if (!config.nexusStates.includes(buyer.state)) return outside(jurisdiction, 'us', `No nexus in ${jurisdiction}`);
  const zip = buyer.zip.slice(0, 5);
  const inState = usRates.filter(rate => rate.state === buyer.state);
  const rate =
    newestRate(
      inState.filter(entry => entry.zip !== '' && entry.zip === zip),
      at,
    ) ??
    newestRate(
      inState.filter(entry => entry.zip === ''),
      at,
    );
  if (!rate) return outside(jurisdiction, 'us', `No sales tax rate was entered for ${jurisdiction}`);
  const reason = rate.zip ? `Sales tax of ZIP code ${rate.zip}` : `Sales tax of ${jurisdiction}`;
  const decided = standard(rate.ratePpm, jurisdiction, 'us', reason);
  return rate.components ? { ...decided, components: rate.components } : decided;
}

function fromCountry({ buyer: { countryCode }, countryRates, at }: TaxQuestion): TaxDecision | undefined {
  const rate = newestRate(
    countryRates.filter(entry => entry.countryCode === countryCode),
    at,
  );
  return rate && standard(rate.ratePpm, countryCode, 'country', `Standard rate of ${countryCode}`);
}

/** The rate in force at a time; of several, the one that began last. */
function newestRate<T extends Dated>(rates: readonly T[], at: number): T | undefined {
  const current = rates.filter(({ from, to = 0 }) => from <= at && (to === 0 || at < to));
  return current.toSorted((a, b) => b.from - a.from)[0];
}

function standard(ratePpm: number, jurisdiction: string, source: string, reason: string): TaxDecision {
  return { category: ratePpm === 0 ? 'Z' : 'S', ratePpm, jurisdiction, source, reason, pending: false };
}

const outside = (jurisdiction: string, source: string, reason: string): TaxDecision => ({
  category: 'O',
  ratePpm: 0,
  jurisdiction,
  source,
  reason,
  pending: false,
});
