import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { currencies, type DiscountProblem, discountProblems, errors } from '@recur/contracts';
import { wordGaps } from '@recur/platform/testing';
import { firstUnitOf, formulaOf } from '../src/parts/formula.js';
import { decimalOf, decimalsOf, formats } from '../src/text/format.js';
import { chooseLanguage, directionOf, filled, languages, localeOf } from '../src/text/languages.js';

type Messages = Record<string, string>;
const folder = path.join(import.meta.dirname, '../src');
const messages = (language: string): Messages =>
  JSON.parse(readFileSync(path.join(folder, `text/messages/${language}.json`), 'utf8'));

describe('messages', () => {
  it.each(Object.keys(languages))('of %s are complete, with the same parameters', language => {
    expect(Object.keys(messages('en')).length).toBeGreaterThan(20);
    expect(wordGaps(messages('en'), messages(language))).toEqual([]);
  });

  it('are those of the languages offered', () => {
    const files = readdirSync(path.join(folder, 'text/messages')).map(file => path.basename(file, '.json'));
    expect(files.sort()).toEqual(Object.keys(languages).sort());
  });

  it('that are asked for by their key exist, and are about errors that exist', () => {
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => /\.tsx?$/.test(file))
      .map(file => readFileSync(path.join(folder, file), 'utf8'));
    const asked = sources.flatMap(text => [...text.matchAll(/\bt\('([^']+)'/g)].map(([, key = '']) => key));
    const english = messages('en');
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter(key => english[key] === undefined)).toEqual([]);
    const own = ['reference', 'unreachable', 'unreadable'];
    const codes = Object.keys(english).flatMap(key => (key.startsWith('code.') ? [key.slice('code.'.length)] : []));
    const generic: DiscountProblem[] = ['', 'inactive'];
    expect([...codes, ...generic].sort()).toEqual([...discountProblems].sort());
    const slugs = Object.keys(english).flatMap(key => (key.startsWith('error.') ? [key.slice('error.'.length)] : []));
    expect(slugs.filter(slug => !own.includes(slug) && !Object.hasOwn(errors, slug))).toEqual([]);
  });

  it('have their parameters filled in; one that is absent stays visible', () => {
    expect(filled('{a} of {b}, {c}', { a: 1, b: '$&' })).toBe('1 of $&, {c}');
  });
});

describe('a language', () => {
  it.each([
    [['de-AT', 'en'], 'de', 'de-AT'],
    [['', 'pt-BR', 'zh_CN'], 'zh', 'zh'],
    [['xx'], 'en', 'en'],
    [[], 'en', 'en'],
  ] as const)('is chosen from %j', (wanted, language, locale) => {
    expect(chooseLanguage(wanted)).toBe(language);
    expect(localeOf(language, wanted)).toBe(locale);
  });
});

describe('the direction of a language', () => {
  it.each([
    ['en', 'ltr'],
    ['zh', 'ltr'],
    ['ar', 'rtl'],
    ['he', 'rtl'],
    ['fa-IR', 'rtl'],
    ['ur', 'rtl'],

    ['az', 'ltr'],
    ['az-Arab', 'rtl'],
  ] as const)('%s is %s', (language, direction) => {
    expect(directionOf(language)).toBe(direction);
  });
});

describe('a tier of prices', () => {
  const firsts = (tiers: [start: number, end: number][]) =>
    tiers.map(([start], at) => firstUnitOf(start, tiers[at - 1]?.[1] ?? 0));
  it.each([
    [
      [
        [0, 100],
        [100, -1],
      ],
      [1, 101],
    ],
    [
      [
        [1, 100],
        [101, -1],
      ],
      [1, 101],
    ],
    [
      [
        [0, 10],
        [50, -1],
      ],
      [1, 51],
    ],
    [[[5, -1]], [6]],
  ] as [[number, number][], number[]][])('of %j begins with the units %j', (tiers, units) => {
    expect(firsts(tiers)).toEqual(units);
  });
});

describe('amounts', () => {
  it('have the decimals of the contract for every currency', () => {
    expect([...currencies].filter(([currency, exponent]) => decimalsOf(currency) !== exponent)).toEqual([]);
  });

  it.each([
    [1234, 'EUR', '12.34'],
    [-5, 'EUR', '-0.05'],
    [1234, 'JPY', '1234'],
    [1, 'KWD', '0.001'],
    [0, 'USD', '0.00'],
    [Number.MAX_SAFE_INTEGER, 'EUR', '90071992547409.91'],
  ] as const)('%d of %s is %s', (amount, currency, decimal) => {
    expect(decimalOf(amount, currency)).toBe(decimal);
  });

  it('are written as the language writes them, exactly', () => {
    const plain = (text: string) => text.replaceAll(/\s/g, ' ');
    expect(plain(formats('de').amount(123456789, 'EUR'))).toBe('1.234.567,89 €');
    expect(plain(formats('en').amount(-1999, 'USD'))).toBe('-$19.99');
    expect(plain(formats('fr').amount(1000, 'KWD'))).toBe('1,000 KWD');
    expect(plain(formats('en').amount(Number.MAX_SAFE_INTEGER, 'EUR'))).toBe('€90,071,992,547,409.91');
    expect(plain(formats('zh').amount(500, 'JPY'))).toContain('500');
    expect(plain(formats('de').percent(1900))).toBe('19 %');
  });
});

describe('how an amount was computed', () => {
  const words = { ...formats('en'), t: () => 'Unused' };
  const of = (inputs: Record<string, unknown>) => formulaOf(inputs, 'EUR', words);

  it.each([
    ['2 × €49.00', { unitAmount: 4900, quantity: 2 }],
    [
      '2 × €49.00 × 12.5 days ÷ 30 days',
      { unitAmount: 4900, quantity: 2, partSeconds: 1_080_000, periodSeconds: 2_592_000 },
    ],
    ['Unused: €9.80 × 1 day ÷ 30 days', { net: 980, unusedSeconds: 86_400, periodSeconds: 2_592_000 }],
    ['100 × €0.005', { used: 100, 'units 1–': 100, 'unitPrice 1–': '0.5' }],
    [
      '(100 × €0.05 + €10.00 + 20 × €1.00) × 15 days ÷ 30 days − €3.00',
      {
        used: 120,
        'units 101–': 20,
        'unitPrice 101–': 100,
        'units 1–100': 100,
        'unitPrice 1–100': 5,
        'flatAmount 1–100': 1000,
        partSeconds: 1_296_000,
        periodSeconds: 2_592_000,
        billed: 300,
      },
    ],
    ['0', { used: 0 }],
    [undefined, { amountExcludingTax: 100, tax: 19 }],
  ])('%s', (text, inputs) => {
    expect(of(inputs)).toBe(text);
  });

  it.each([
    ['0.5', 'EUR', '€0.005'],
    ['1234.125', 'EUR', '€12.34125'],
    ['5', 'EUR', '€0.05'],
    ['2.5', 'JPY', '¥2.5'],
  ] as const)('a unit price of %s %s is %s', (minor, currency, text) => {
    expect(formats('en').unitPrice(minor, currency)).toBe(text);
  });
});

describe('times', () => {
  const seconds = Date.UTC(2026, 10, 30, 23, 30) / 1000;

  it('are those of the zone given, and of none where the time is 0', () => {
    expect(formats('en').date(seconds, 'UTC')).toBe('Nov 30, 2026');
    expect(formats('en').date(seconds, 'Asia/Tokyo')).toBe('Dec 1, 2026');
    expect(formats('en').moment(seconds, 'Asia/Tokyo')).toContain('GMT+9');
    expect(formats('en').date(0)).toBe('');
    expect(formats('en').date(seconds, 'Mars/Base')).toMatch(/2026$/);
  });

  it('that last are written with their unit', () => {
    expect(formats('en').duration(1, 'month')).toBe('1 month');
    expect(formats('de').duration(3, 'year')).toBe('3 Jahre');
  });
});
