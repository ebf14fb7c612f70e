import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { type Formats, formats } from './format.js';
import { chooseLanguage, directionOf, filled, type Language, localeOf } from './languages.js';
import type en from './messages/en.json';

export type Key = keyof typeof en;
type Messages = Record<Key, string>;

/** Only the messages of the language shown are loaded. */
const load: Record<Language, () => Promise<{ default: Messages }>> = {
  en: () => import('./messages/en.json'),
  de: () => import('./messages/de.json'),
  es: () => import('./messages/es.json'),
  fr: () => import('./messages/fr.json'),
  zh: () => import('./messages/zh.json'),
};

export interface Text extends Formats {
  language: Language;
  setLanguage(language: Language): void;
  t(key: Key, values?: Record<string, string | number>): string;
  /** The message of a key that may not exist. */
  find(key: string): string | undefined;
}

const TextContext = createContext<Text | undefined>(undefined);

export function useText(): Text {
  const text = use(TextContext);
  if (text === undefined) throw new Error('no text around this part');
  return text;
}

/** Provides messages and formats; renders nothing until the messages are there. `preferred` goes before the browser's. */
export function TextProvider({ preferred, children }: { preferred: string; children: ReactNode }) {
  const [chosen, setChosen] = useState<Language>();
  const [loaded, setLoaded] = useState<{ language: Language; messages: Messages }>();
  const language = chosen ?? chooseLanguage([preferred, ...navigator.languages]);
  useEffect(() => {
    let current = true;
    const show = (of: Language) =>
      load[of]().then(({ default: messages }) => {
        if (current) setLoaded({ language: of, messages });
      });
    show(language).catch(() => show('en'));
    return () => {
      current = false;
    };
  }, [language]);
  const text = useMemo<Text | undefined>(() => {
    if (loaded === undefined) return undefined;
    const { messages } = loaded;
    document.documentElement.lang = loaded.language;
    document.documentElement.dir = directionOf(loaded.language);
    return {
      ...formats(localeOf(loaded.language, navigator.languages)),
      language: loaded.language,
      setLanguage: setChosen,
      t: (key, values = {}) => filled(messages[key], values),
      find: key => (messages as Record<string, string>)[key],
    };
  }, [loaded]);
  return text && <TextContext value={text}>{children}</TextContext>;
}
