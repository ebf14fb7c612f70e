import { de } from './words/de.js';
import { en, type Words } from './words/en.js';
import { es } from './words/es.js';
import { fr } from './words/fr.js';
import { zh } from './words/zh.js';

/** The words of each language that documents are printed in. */
export const languages = { en, de, es, fr, zh } as const satisfies Record<string, Words>;
export type Language = keyof typeof languages;

/** The language of a user's setting, such as `de`, `de-AT`, `zh_CN` or `cn`; English for one that is not known. */
export function languageOf(setting: string): Language {
  const [code = ''] = setting.trim().toLowerCase().split(/[-_]/);
  const language = code === 'cn' ? 'zh' : code;
  return isLanguage(language) ? language : 'en';
}

const isLanguage = (code: string): code is Language => Object.hasOwn(languages, code);

export type { Words };

/** Fills the `{name}` placeholders of a text. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
