import { fill } from '@recur/kernel';
import type { BankAccount, ContentLine, ContentTax, DocumentContent, Party } from './content.js';
import { documentWords } from './words/words.js';

/**
 * Bounds of what a document prints, so that the largest is made well within the renderer's time: most of it goes by the
 * characters. Texts count in UTF-16 units; `breaks` are the line breaks of a text. Many lines or taxes share `all`.
 */
const limits = {
  lines: 500,
  lineName: { all: 25_000, least: 50, most: 300 },
  lineDescription: { all: 30_000, least: 60, most: 5_000 },
  lineBreaks: 4,
  reason: { all: 10_000, least: 40, most: 1_000 },
  jurisdiction: { all: 10_000, least: 20, most: 100 },
  title: 300,
  name: 200,
  addressLines: 10,
  short: 100,
  email: 320,
  bankText: 500,
  note: 2_000,
  breaks: 20,
  link: 2_048,
} as const;

const signs = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const lineBreak = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u;

/** The characters that each of so many texts may have. */
const shareOf = ({ all, least, most }: { all: number; least: number; most: number }, count: number): number =>
  Math.min(most, Math.max(least, Math.floor(all / count)));

/** A text of at most `most` UTF-16 units, an ellipsis after what was cut; a sign as it is read is never cut in two. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  // a further unit tells whether a sign ends at the last place
  for (const { index, segment } of signs.segment(text.slice(0, most + 2))) {
    if (index + segment.length > most) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}…`;
}

/** The text with so many line breaks at most; those after them are spaces. */
function unbroken(text: string, breaks: number): string {
  const parts = text.split(lineBreak);
  if (parts.length <= breaks + 1) return text;
  return [...parts.slice(0, breaks), parts.slice(breaks).join(' ')].join('\n');
}

const plain = (text: string, most: number, breaks = 0): string => shortened(unbroken(text, breaks), most);

/** The document with texts and lines that fit what is printed; sums are as they were. */
export function bounded(content: DocumentContent): DocumentContent {
  const { short, title, note } = limits;
  return {
    ...content,
    number: plain(content.number, short),
    originalNumber: plain(content.originalNumber, short),
    title: plain(content.title, title, 2),
    paidWith: plain(content.paidWith, short),
    seller: boundedParty(content.seller),
    buyer: boundedParty(content.buyer),
    lines: boundedLines(content),
    discount: { ...content.discount, code: plain(content.discount.code, short) },
    taxes: content.taxes.map(tax => boundedTax(tax, content.taxes.length)),
    // a link that is cut leads nowhere
    paymentLink: content.paymentLink.length > limits.link ? '' : content.paymentLink,
    bank: content.bank && boundedBank(content.bank),
    note: plain(content.note, note, limits.breaks),
  };
}

function boundedParty(party: Party): Party {
  const { name, short, addressLines, email } = limits;
  return {
    name: plain(party.name, name),
    address: party.address.slice(0, addressLines).map(line => plain(line, name)),
    countryCode: plain(party.countryCode, short),
    vatNumber: plain(party.vatNumber, short),
    registrationNumber: plain(party.registrationNumber, short),
    email: plain(party.email, email),
    phone: plain(party.phone, short),
  };
}

/** The first lines, each shortened; those beyond the most are one line with their sum. */
function boundedLines({ lines, language }: DocumentContent): ContentLine[] {
  const count = Math.min(lines.length, limits.lines);
  const shown = (line: ContentLine): ContentLine => ({
    ...line,
    name: plain(line.name, shareOf(limits.lineName, count)),
    description: plain(line.description, shareOf(limits.lineDescription, count), limits.lineBreaks),
  });
  if (lines.length <= limits.lines) return lines.map(shown);
  const rest = lines.slice(limits.lines - 1);
  const net = rest.reduce((sum, line) => sum + line.net, 0n);
  const rates = new Set(rest.map(({ ratePpm }) => ratePpm));
  const [rate = null] = rates;
  const name = fill(documentWords[language].moreLines, { count: String(rest.length) });
  const summed = { name, description: '', periodStart: 0, periodEnd: 0, quantity: 1, unitAmount: net, net };
  return [...lines.slice(0, limits.lines - 1).map(shown), { ...summed, ratePpm: rates.size === 1 ? rate : null }];
}

function boundedTax(tax: ContentTax, count: number): ContentTax {
  return {
    ...tax,
    jurisdiction: plain(tax.jurisdiction, shareOf(limits.jurisdiction, count)),
    reason: plain(tax.reason, shareOf(limits.reason, count), 2),
  };
}

function boundedBank(bank: BankAccount): BankAccount {
  const { short, bankText, breaks } = limits;
  return {
    accountHolder: plain(bank.accountHolder, bankText),
    bankName: plain(bank.bankName, bankText),
    address: plain(bank.address, bankText, breaks),
    iban: plain(bank.iban, short),
    bic: plain(bank.bic, short),
    accountNumber: plain(bank.accountNumber, short),
    others: bank.others.map(([name, value]) => [plain(name, short), plain(value, bankText, breaks)] as const),
  };
}
