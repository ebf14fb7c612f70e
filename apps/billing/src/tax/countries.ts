import type { CountryRate } from '../pricing/tax-decision.js';
import { type Country, countries } from './data/countries.js';

const byCode = new Map(countries.map(country => [country.code, country]));

/** All countries of ISO 3166-1 and Kosovo, by code. */
export const allCountries = (): readonly Country[] => countries;

/** True if the country (ISO 3166-1 alpha-2) is a member of the EU. */
export const isInEu = (countryCode: string): boolean => byCode.get(countryCode)?.eu ?? false;

/** English name of the country; '' if the code is unknown. */
export const countryName = (countryCode: string): string => byCode.get(countryCode)?.name ?? '';

/** Standard rates of VAT or GST of the country with the times from which they apply; none if it levies no such tax. */
export function ratesOf(countryCode: string): CountryRate[] {
  const { rates } = byCode.get(countryCode) ?? {};
  return rates === undefined ? [] : rates.split(' ').map(entry => rateIn(countryCode, entry));
}

/** Standard rate in force at a time, in parts per million; undefined if the country levies no VAT or GST. */
export const standardRate = (countryCode: string, at: number): number | undefined =>
  ratesOf(countryCode).findLast(({ from }) => from <= at)?.ratePpm;

/** Reads `2025-08-01:210000`. A day begins at midnight UTC. */
function rateIn(countryCode: string, entry: string): CountryRate {
  const [ratePpm, day] = entry.split(':').reverse();
  return { countryCode, ratePpm: Number(ratePpm), from: day === undefined ? 0 : Date.parse(day) / 1000 };
}
