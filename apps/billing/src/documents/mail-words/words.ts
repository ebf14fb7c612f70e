import type { Language } from '@recur/kernel';
import { de } from './de.js';
import { en, type MailWords } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';
import { zh } from './zh.js';

/** The words of e-mails in each language. */
export const mailWords: Readonly<Record<Language, MailWords>> = { en, de, es, fr, zh };
export type { MailWords };
