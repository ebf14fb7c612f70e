import { describe, expect, it } from '@jest/globals';
import { countryNameIn, fill, type Language, languageOf, locales, preferredLanguage } from '../src/index.js';

describe('a language', () => {
  it.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['zh_CN', 'zh'],
    ['cn', 'zh'],
    [' FR ', 'fr'],
    ['', 'en'],
    ['ru', 'en'],
    ['constructor', 'en'],
  ] as const)('of the setting "%s" is %s', (setting, language) => {
    expect(languageOf(setting)).toBe(language);
  });

  it.each([
    ['', 'en'],
    ['*', 'en'],
    ['zh-Hant-TW', 'zh'],
    ['ru, pt-BR', 'en'],
    ['ru, pt-BR;q=0.9, fr;q=0.8, de;q=0.7', 'fr'],
    ['en;q=0.5,ES-mx ; Q=0.8', 'es'],
    ['de;q=0, fr;q=0.1', 'fr'],
    ['fr, de', 'fr'],
    ['de;q=x, es;q=0.001', 'es'],
    [',;q=,;;', 'en'],
  ] as const)('of the header "%s" is %s', (header, language) => {
    expect(preferredLanguage(header)).toBe(language);
  });
});

it('placeholders are filled once; one without a value stays', () => {
  expect(fill('{a} {b} {a}', { a: '{b}' })).toBe('{b} {b} {b}');
});

describe('the name of a country', () => {
  it('is in the language, by its code in any case', () => {
    const names = (Object.keys(locales) as Language[]).map(language => countryNameIn(language, 'de'));
    expect(names).toEqual(['Germany', 'Deutschland', 'Alemania', 'Allemagne', '德国']);
    expect(countryNameIn('en', ' XK ')).toBe('Kosovo');
    expect(countryNameIn('en', 'UK')).toBe('United Kingdom');
  });

  it.each(['', 'D', 'DEU', 'Germany', '12', 'ZZ', 'EU', 'XA', 'OO', 'D\u0130'])('of "%s" is blank', code => {
    expect(countryNameIn('en', code)).toBe('');
  });
});
