import { exponentOf, type Invoice, type InvoiceMerchant, invoiceStatus, type User } from '@recur/contracts';
import { fill, type Language, languageOf } from '@recur/kernel';
import { Formats } from './formats.js';
import { type MailWords, mailWords } from './words/words.js';

/**
 * Subject of an e-mail: a document that is sent; the first failed charge, the last notice before the deadline, or a
 * payment that the customer has to confirm; a price that changes, or stays although a change of it was announced.
 */
export type MailKind =
  | 'invoice'
  | 'credit_note'
  | 'payment_failed'
  | 'last_notice'
  | 'needs_action'
  | 'price_change'
  | 'price_kept';

/** Content of an e-mail. `amount` is in minor units, times in unix seconds. */
export interface MailInput {
  kind: MailKind;
  language: Language;
  userId: number;
  /** Recipient. */
  email: string;
  buyerName: string;
  sellerName: string;
  /** Replies go there; '' for none. */
  sellerEmail: string;
  invoiceId: string;
  number: string;
  currency: string;
  decimals: number;
  /** The method that was charged, such as `Visa •••• 4242`; '' for none. */
  method: string;
  /** The plan whose price changes, and its price until then; '' and 0 for other e-mails. */
  plan: string;
  oldAmount: bigint;
  /** Amount to be paid; for a document that leaves nothing to pay, its total; of a plan, its price. */
  amount: bigint;
  /** When it must be paid; 0 where nothing is to be paid. For a price, when it changes. */
  dueAt: number;
  timeZone: string;
  /** Where to pay, or to confirm a payment; '' for none. */
  link: string;
  documentLink: string;
}

/** An e-mail as it is stored and sent. */
export interface ComposedMail {
  title: string;
  content: string;
  /** Name of the PDF to attach; '' for none. */
  attachFile: string;
}

const titles = {
  invoice: 'invoiceTitle',
  credit_note: 'creditNoteTitle',
  payment_failed: 'paymentFailedTitle',
  last_notice: 'lastNoticeTitle',
  needs_action: 'needsActionTitle',
  price_change: 'priceChangeTitle',
  price_kept: 'priceKeptTitle',
} as const satisfies Record<MailKind, keyof MailWords>;
const texts = {
  invoice: 'invoiceText',
  credit_note: 'creditNoteText',
  payment_failed: 'paymentFailedText',
  last_notice: 'lastNoticeText',
  needs_action: 'needsActionText',
  price_change: 'priceChangeText',
  price_kept: 'priceKeptText',
} as const satisfies Record<MailKind, keyof MailWords>;

/** Writes an e-mail in the user's language. Only documents are attached; the others link to theirs. */
export function composeMail(mail: MailInput): ComposedMail {
  const { kind, language, currency, decimals, timeZone, number, dueAt } = mail;
  const words = mailWords[language];
  const formats = new Formats(language, { code: currency, decimals }, timeZone);
  const values = {
    number: oneLine(number || mail.invoiceId),
    seller: oneLine(mail.sellerName),
    buyer: oneLine(mail.buyerName),
    amount: formats.amount(kind === 'credit_note' && mail.amount < 0n ? -mail.amount : mail.amount),
    plan: oneLine(mail.plan),
    old: formats.amount(mail.oldAmount),
    due: dueAt === 0 ? '' : formats.date(dueAt),
    link: mail.link,
    method: nameInText(mail.method),
    document: mail.documentLink,
  };
  const named = {
    ...values,
    seller: nameInText(values.seller),
    plan: nameInText(values.plan),
    // a user without a name is called by the e-mail address
    buyer: values.buyer === mail.email ? values.buyer : nameInText(values.buyer),
  };
  const isReceipt = kind === 'invoice' && dueAt === 0;
  const [title, text] = isReceipt ? (['receiptTitle', 'receiptText'] as const) : [titles[kind], texts[kind]];
  const links = [mail.link === '' ? '' : words.pay, mail.documentLink === '' ? '' : words.view].filter(Boolean);
  const method = mail.method === '' ? '' : words.method;
  const paragraphs = [words.greeting, words[text], method, links.join('\n'), words.regards].filter(Boolean);
  return {
    title: oneLine(fill(words[title], values)),
    content: paragraphs.map(paragraph => fill(paragraph, named)).join('\n\n'),
    attachFile: kind === 'invoice' || kind === 'credit_note' ? `${values.number.replace(/[/\\]/g, '-')}.pdf` : '',
  };
}

/** Where an e-mail leads, if not to the invoice's payment page. */
export interface MailOptions {
  link?: string;
}

/** The name by which an e-mail calls its user. */
const buyerName = ({ firstName, lastName, companyName, email }: User): string =>
  [firstName, lastName].filter(Boolean).join(' ') || companyName || email;

/** An e-mail about an invoice, to its user, in the user's language. */
export function mailAbout(
  kind: MailKind,
  invoice: Invoice,
  seller: InvoiceMerchant,
  user: User,
  { link }: MailOptions = {},
): MailInput {
  const isOpen = invoice.status === invoiceStatus.processing;
  const left = isOpen ? invoice.totalAmount - invoice.partialCreditPaidAmount : invoice.totalAmount;
  return {
    kind,
    language: languageOf(user.language),
    userId: user.id,
    email: user.email,
    buyerName: buyerName(user),
    plan: '',
    oldAmount: 0n,
    sellerName: seller.companyName || seller.name,
    sellerEmail: seller.email,
    invoiceId: invoice.invoiceId,
    number: invoice.number,
    currency: invoice.currency,
    decimals: exponentOf(invoice.currency),
    amount: BigInt(left),
    dueAt: isOpen ? invoice.deadline : 0,
    timeZone: seller.timeZone,
    link: isOpen ? (link ?? invoice.paymentLink) : '',
    documentLink: invoice.gatewayInvoicePdf,
    // the method of an open invoice has failed, or has to be confirmed
    method: kind === 'credit_note' || kind === 'last_notice' ? '' : (invoice.payment?.paymentMethodName ?? ''),
  };
}

/** A price change as an e-mail tells it: amounts in minor units, the date from which it holds in unix seconds. */
export interface PriceMailInput {
  plan: string;
  currency: string;
  decimals: number;
  oldAmount: bigint;
  amount: bigint;
  from: number;
  timeZone: string;
  language: Language;
}

/** An e-mail about a price change, or about one that does not take place. */
export const mailAboutPrice = (
  kind: 'price_change' | 'price_kept',
  { from, ...price }: PriceMailInput,
  seller: InvoiceMerchant,
  user: User,
): MailInput => ({
  ...price,
  kind,
  userId: user.id,
  email: user.email,
  buyerName: buyerName(user),
  sellerName: seller.companyName || seller.name,
  sellerEmail: seller.email,
  invoiceId: '',
  number: '',
  method: '',
  link: '',
  documentLink: '',
  dueAt: from,
});

/** Controls, and signs that turn the direction of what follows. */
const unseen = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** A text of others as part of one line: names may hold anything. */
export const oneLine = (text: string): string => text.replace(unseen, ' ').replace(/\s+/g, ' ').trim();

/**
 * A name in the text of an e-mail: one line, and nothing that a mailbox would make a link of. An invisible word joiner
 * breaks what looks like an address: after the colon of `https://`, and after the dot of a host.
 */
const nameInText = (text: string): string =>
  oneLine(text)
    .replace(/:(?=\/\/)/g, ':\u2060')
    .replace(/(?<=[\p{L}\p{N}-])\.(?=[\p{L}\p{N}]{2})/gu, '.\u2060');
