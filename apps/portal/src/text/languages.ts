/** The languages of the pages, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch', es: 'Español', fr: 'Français', zh: '中文' } as const;
export type Language = keyof typeof languages;

const isLanguage = (code: string): code is Language => Object.hasOwn(languages, code);

/** The first of the wanted languages that the pages have, in order; each as `de`, `de-AT` or `zh_CN`. */
export function chooseLanguage(wanted: readonly string[]): Language {
  const codes = wanted.map(each => each.slice(0, 2).toLowerCase());
  return codes.find(isLanguage) ?? 'en';
}

/** The reader's own locale of a language where the browser has one: `de-AT` for `de`. */
export const localeOf = (language: Language, wanted: readonly string[]) =>
  wanted.find(each => each === language || each.startsWith(`${language}-`)) ?? language;

/** A message with its parameters in place of `{name}`. */
export const filled = (message: string, values: Record<string, string | number>) =>
  message.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

const rightToLeft = new Set(['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']);

/** The direction in which a language is written, by the script that is usual for it. */
export const directionOf = (language: string): 'ltr' | 'rtl' =>
  rightToLeft.has(new Intl.Locale(language).maximize().script ?? '') ? 'rtl' : 'ltr';
