import { describe, expect, it } from '@jest/globals';
import { documentWords } from '../../src/documents/words/words.js';
import { fill, languageOf, locales } from '../../src/language/language.js';
import { mailWords } from '../../src/mail/words/words.js';

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();
const problemsOf = (words: object, en: object) => {
  const texts = new Map<string, string>(Object.entries(words));
  const missing = Object.keys(en).filter(key => !texts.get(key)?.trim());
  const unknown = [...texts.keys()].filter(key => !(key in en));
  const others = Object.entries<string>(en as Record<string, string>)
    .filter(([key, text]) => String(placeholders(text)) !== String(placeholders(texts.get(key) ?? '')))
    .map(([key]) => `placeholders of ${key}`);
  return [...missing, ...unknown, ...others];
};

describe.each([
  ['documents', documentWords],
  ['e-mails', mailWords],
] as const)('the words of %s', (_, all) => {
  it('are there in five languages, with the same placeholders', () => {
    expect(Object.keys(all).sort()).toEqual(['de', 'en', 'es', 'fr', 'zh']);
    expect(Object.keys(all).sort()).toEqual(Object.keys(locales).sort());
    for (const words of Object.values(all)) expect(problemsOf(words, all.en)).toEqual([]);
  });

  it('would be missed', () => {
    const [key = '', ...others] = Object.entries(all.en);
    expect(problemsOf(Object.fromEntries(others), all.en)).toContain(key[0]);
    expect(problemsOf({ ...all.en, more: 'x' }, all.en)).toEqual(['more']);
    const [placed = ''] = Object.entries(all.en).find(([, text]) => text.includes('{')) ?? [];
    expect(problemsOf({ ...all.en, [placed]: 'x' }, all.en)).toEqual([`placeholders of ${placed}`]);
  });
});

it.each([
  ['de', 'de'],
  ['de-AT', 'de'],
  ['zh_CN', 'zh'],
  ['cn', 'zh'],
  [' FR ', 'fr'],
  ['', 'en'],
  ['ru', 'en'],
  ['constructor', 'en'],
] as const)('the setting "%s" means %s', (setting, language) => {
  expect(languageOf(setting)).toBe(language);
});

it('a placeholder without a value stays', () => {
  expect(fill('{a} {b}', { a: '{b}' })).toBe('{b} {b}');
});
