import type { Language } from '@recur/kernel';
import { de } from './de.js';
import { en, type Words } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';
import { zh } from './zh.js';

/** The words of the pages in each language. */
export const pageWords: Readonly<Record<Language, Words>> = { en, de, es, fr, zh };
