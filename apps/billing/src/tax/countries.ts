import { Controller } from '@nestjs/common';
import { type In, listVatCountries, type VatCountryRate, validateUsAddress } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { percentageOf } from '../pricing/tax.js';
import { type Country, countries } from './data/countries.js';
import type { CountryRate } from './domain/decision.js';
import { taxSettingsOf } from './settings.js';
import { addressCandidates } from './us-places.js';

/** Countries and US addresses: answered from embedded tables. */
@Controller()
export class Countries {
  constructor(private readonly db: Db) {}

  @Handle(listVatCountries)
  countries(_: In<typeof listVatCountries>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { vatGateway } = await taxSettingsOf(reader);
      const vatCountryList = allCountries().map(({ code, id, name, eu = false }): VatCountryRate => {
        const ratePpm = standardRate(code, reader.now);
        return {
          id,
          countryCode: code,
          countryName: name,
          gateway: eu ? (vatGateway?.name ?? '') : '',
          isEU: eu,
          mamo: '',
          standardTaxPercentage: percentageOf(ratePpm ?? 0),
          vatSupport: ratePpm !== undefined,
        };
      });
      return { vatCountryList };
    });
  }

  @Handle(validateUsAddress)
  async validate({ address }: In<typeof validateUsAddress>) {
    return { addresses: address ? addressCandidates(address) : [] };
  }
}

const byCode = new Map(countries.map(country => [country.code, country]));

/** All countries of ISO 3166-1 and Kosovo, by code. */
export const allCountries = (): readonly Country[] => countries;

/** English name of the country; '' if the code is unknown. */
export const countryName = (countryCode: string): string => byCode.get(countryCode)?.name ?? '';

/** Codes by which tax offices know a country, in place of that of ISO 3166-1. */
const inTaxes: Readonly<Record<string, string>> = { EL: 'GR', UK: 'GB', XI: 'GB' };

/**
 * ISO 3166-1 code of the country that a request states for taxes; '' for none. Throws Rejected `invalid_parameters` for
 * text that names no country; `path` is its field.
 */
export function statedCountry(text: string, path: string): string {
  const stated = text.trim().toUpperCase();
  const countryCode = inTaxes[stated] ?? stated;
  if (countryCode !== '' && !byCode.has(countryCode)) throw invalid(path, 'is no country code, such as DE');
  return countryCode;
}

const ratesByCountry = new Map<string, readonly CountryRate[]>();

/** Standard rates of VAT or GST of the country with the times from which they apply; none if it levies no such tax. */
export function countryRatesOf(countryCode: string): readonly CountryRate[] {
  const { rates } = byCode.get(countryCode) ?? {};
  if (rates === undefined) return [];
  const known = ratesByCountry.get(countryCode) ?? rates.split(' ').map(entry => rateIn(countryCode, entry));
  ratesByCountry.set(countryCode, known);
  return known;
}

/** Standard rate in force at a time, in parts per million; undefined if the country levies no VAT or GST. */
export const standardRate = (countryCode: string, at: number): number | undefined =>
  countryRatesOf(countryCode).findLast(({ from }) => from <= at)?.ratePpm;

/** Reads `2025-08-01:210000`. A day begins at midnight UTC. */
function rateIn(countryCode: string, entry: string): CountryRate {
  const [ratePpm, day] = entry.split(':').reverse();
  return { countryCode, ratePpm: Number(ratePpm), from: day === undefined ? 0 : Date.parse(day) / 1000 };
}
