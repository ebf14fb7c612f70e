/** The languages that users are written to in: Intl's locale of each. */
export const locales = { en: 'en', de: 'de', es: 'es', fr: 'fr', zh: 'zh-CN' } as const;
export type Language = keyof typeof locales;

/** The language of a user's setting, such as `de`, `de-AT`, `zh_CN` or `cn`; English for one that is not known. */
export function languageOf(setting: string): Language {
  const [code = ''] = setting.trim().toLowerCase().split(/[-_]/);
  const language = code === 'cn' ? 'zh' : code;
  return isLanguage(language) ? language : 'en';
}

const isLanguage = (code: string): code is Language => Object.hasOwn(locales, code);

/** Fills the `{name}` placeholders of a text. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
