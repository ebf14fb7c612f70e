import type { Language } from '@recur/kernel';
import { deDocument, deMail } from './de.js';
import { enDocument, enMail, type MailWords, type Words } from './en.js';
import { esDocument, esMail } from './es.js';
import { frDocument, frMail } from './fr.js';
import { zhDocument, zhMail } from './zh.js';

/** The words of documents in each language. */
export const documentWords: Readonly<Record<Language, Words>> = {
  en: enDocument,
  de: deDocument,
  es: esDocument,
  fr: frDocument,
  zh: zhDocument,
};

/** The words of e-mails in each language. */
export const mailWords: Readonly<Record<Language, MailWords>> = {
  en: enMail,
  de: deMail,
  es: esMail,
  fr: frMail,
  zh: zhMail,
};
export type { MailWords, Words };
