import { describe, expect, it } from '@jest/globals';
import { allCountries, countryName, countryRatesOf, standardRate } from '../../src/tax/countries.js';

const seconds = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000;

describe('standard rates', () => {
  it.each([
    ['EE', '2025-07-01', 220_000, 240_000],
    ['EE', '2024-01-01', 200_000, 220_000],
    ['SK', '2025-01-01', 200_000, 230_000],
    ['RO', '2025-08-01', 190_000, 210_000],
    ['FI', '2024-09-01', 240_000, 255_000],
    ['CH', '2024-01-01', 77_000, 81_000],
    ['LU', '2023-01-01', 170_000, 160_000],
    ['LU', '2024-01-01', 160_000, 170_000],
    ['DE', '2020-07-01', 190_000, 160_000],
    ['DE', '2021-01-01', 160_000, 190_000],
    ['IL', '2025-01-01', 170_000, 180_000],
    ['SG', '2024-01-01', 80_000, 90_000],
  ])('of %s change on %s from %s to %s ppm, at midnight UTC', (country, day, before, after) => {
    const change = seconds(day);
    expect([standardRate(country, change - 1), standardRate(country, change)]).toEqual([before, after]);
  });

  it('are those of today', () => {
    const at = seconds('2026-06-01');
    const today = Object.fromEntries(
      allCountries()
        .filter(({ eu }) => eu)
        .map(({ code }) => [code, (standardRate(code, at) ?? 0) / 1_000]),
    );
    expect(today).toEqual({
      AT: 200,
      BE: 210,
      BG: 200,
      CY: 190,
      CZ: 210,
      DE: 190,
      DK: 250,
      EE: 240,
      ES: 210,
      FI: 255,
      FR: 200,
      GR: 240,
      HR: 250,
      HU: 270,
      IE: 230,
      IT: 220,
      LT: 210,
      LU: 170,
      LV: 210,
      MT: 180,
      NL: 210,
      PL: 230,
      PT: 230,
      RO: 210,
      SE: 250,
      SI: 220,
      SK: 230,
    });
  });

  it('are none where no VAT or GST is levied, the US included', () => {
    for (const country of ['US', 'HK', 'KW', 'QA', 'ZZ', '']) {
      expect([country, countryRatesOf(country), standardRate(country, seconds('2026-01-01'))]).toEqual([
        country,
        [],
        undefined,
      ]);
    }
  });

  it('are each in order of their days, below 100 %', () => {
    for (const { code } of allCountries()) {
      const rates = countryRatesOf(code);
      expect(rates.map(({ from }) => from)).toEqual([...new Set(rates.map(({ from }) => from))].sort((a, b) => a - b));
      for (const { ratePpm, from } of rates) {
        expect(Number.isSafeInteger(ratePpm) && ratePpm >= 0 && ratePpm < 1_000_000).toBe(true);
        expect(from % 86_400).toBe(0);
      }
    }
  });
});

describe('countries', () => {
  it('are all of ISO 3166-1, each once, with a name', () => {
    const all = allCountries();
    expect(all).toHaveLength(250);
    expect(new Set(all.map(({ code }) => code)).size).toBe(250);
    expect(new Set(all.map(({ id }) => id)).size).toBe(250);
    expect(all.filter(({ name }) => name.trim() === '')).toEqual([]);
    expect(['EE', 'GR', 'XK', 'US', 'ZZ'].map(countryName)).toEqual([
      'Estonia',
      'Greece',
      'Kosovo',
      'United States',
      '',
    ]);
  });

  it('of the EU are its 27 members', () => {
    const members = allCountries().flatMap(({ code, eu }) => (eu ? [code] : []));
    expect(members).toHaveLength(27);
    expect(members).toEqual(expect.not.arrayContaining(['GB', 'CH', 'NO', 'XI', 'EL']));
  });
});
