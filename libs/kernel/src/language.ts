/** The languages that users are written to in: Intl's locale of each. */
export const locales = { en: 'en', de: 'de', es: 'es', fr: 'fr', zh: 'zh-CN' } as const;
export type Language = keyof typeof locales;

/** The language of a user's setting, such as `de`, `de-AT`, `zh_CN` or `cn`; English for one that is not known. */
export const languageOf = (setting: string): Language => knownLanguage(setting) ?? 'en';

/** The language that a reader prefers, by an Accept-Language header (RFC 9110 §12.5.4); English for none that is known. */
export function preferredLanguage(header: string): Language {
  const ranges = header.split(',').map(range => {
    const [tag = '', weight = '1'] = range.split(/;\s*q=/i);
    return { tag, weight: Number(weight) || 0 };
  });
  const wanted = ranges.filter(({ weight }) => weight > 0).sort((one, two) => two.weight - one.weight);
  return wanted.map(({ tag }) => knownLanguage(tag)).find(language => language !== undefined) ?? 'en';
}

function knownLanguage(tag: string): Language | undefined {
  const [code = ''] = tag.trim().toLowerCase().split(/[-_]/);
  const language = code === 'cn' ? 'zh' : code;
  return isLanguage(language) ? language : undefined;
}

const isLanguage = (code: string): code is Language => Object.hasOwn(locales, code);

/** Fills the `{name}` placeholders of a text; one without a value stays. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);

const regions = new Map<Language, Intl.DisplayNames>();
/** Codes that Intl has a name for and that are no country: not known, not assigned, unions, and for tests. */
const noCountries = new Set(['ZZ', 'QO', 'EU', 'EZ', 'UN', 'XA', 'XB']);

/** Name of a country in a language by its ISO 3166-1 code, in any letter case; '' for a code that is not known. */
export function countryNameIn(language: Language, countryCode: string): string {
  const code = countryCode.trim().toUpperCase();
  if (!/^[A-Z]{2}$/.test(code) || noCountries.has(code)) return '';
  const names = regions.get(language) ?? new Intl.DisplayNames(locales[language], { type: 'region', fallback: 'none' });
  regions.set(language, names);
  return names.of(code) ?? '';
}
