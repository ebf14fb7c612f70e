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

/**
 * Provides messages and formats; renders nothing until the messages are there. `preferred` goes before the browser's. Where
 * messages do not arrive, those that are there stay, and a language that is chosen again is loaded again.
 */
export function TextProvider({ preferred, children }: { preferred: string; children: ReactNode }) {
  const [chosen, setChosen] = useState<{ language: Language }>();
  const [loaded, setLoaded] = useState<{ language: Language; messages: Messages }>();
  // each choice is another object, so that the same one loads again
  const wanted = useMemo(
    () => chosen ?? { language: chooseLanguage([preferred, ...navigator.languages]) },
    [chosen, preferred],
  );
  useEffect(() => {
    let current = true;
    const show = (language: Language, isFallback: boolean) =>
      load[language]().then(({ default: messages }) => {
        if (current) setLoaded(shown => (isFallback && shown) || { language, messages });
      });
    show(wanted.language, false).catch(() => show('en', true));
    return () => {
      current = false;
    };
  }, [wanted]);
  const text = useMemo<Text | undefined>(() => {
    if (loaded === undefined) return undefined;
    const { messages } = loaded;
    document.documentElement.lang = loaded.language;
    document.documentElement.dir = directionOf(loaded.language);
    return {
      ...formats(localeOf(loaded.language, navigator.languages)),
      language: loaded.language,
      setLanguage: language => setChosen({ language }),
      t: (key, values = {}) => filled(messages[key], values),
      find: key => (messages as Record<string, string>)[key],
    };
  }, [loaded]);
  return text && <TextContext value={text}>{children}</TextContext>;
}
