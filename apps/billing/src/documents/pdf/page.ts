import { fill } from '@recur/kernel';
import PDFDocument from 'pdfkit';
import type { DocumentContent } from '../content.js';
import { Formats } from '../formats.js';
import { documentWords, type Words } from '../words/words.js';
import { type Style, Typesetter } from './typesetter.js';

/** A4 in points, with its margins. */
export const sheet = { width: 595.28, height: 841.89, left: 48, right: 48, top: 48, bottom: 72 } as const;
export const column = sheet.width - sheet.left - sheet.right;
/** The y that content ends at; the footer is below. */
export const floor = sheet.height - sheet.bottom;

export const ink = { text: '#1a1d21', soft: '#5b636e', rule: '#d5dae0', strong: '#1a1d21' } as const;
export const body: Style = { size: 9, color: ink.text };
export const soft: Style = { size: 8, color: ink.soft };
export const strong: Style = { size: 9, weight: 'bold', color: ink.strong };

/** Where the parts of a document are drawn: the PDF, its typesetter and words, and how far down the page it is. */
export interface Canvas {
  pdf: PDFKit.PDFDocument;
  type: Typesetter;
  words: Words;
  formats: Formats;
  y: number;
}

/** An empty first page. The file's own dates are the document's, so that equal content gives equal bytes. */
export function canvasOf(content: DocumentContent): Canvas {
  const { language, currency, decimals, timeZone, kind, number, seller, issuedAt, paidAt } = content;
  const words = documentWords[language];
  const pdf = new PDFDocument({
    size: [sheet.width, sheet.height],
    margin: 0,
    bufferPages: true,
    lang: language,
    displayTitle: true,
    pdfVersion: '1.7',
    font: '',
    info: {
      Title: `${kind === 'invoice' ? words.invoice : words.creditNote} ${number}`,
      Author: seller.name,
      Creator: 'recur',
      Producer: 'recur',
      CreationDate: new Date(issuedAt * 1000),
      ModDate: new Date(Math.max(issuedAt, paidAt) * 1000),
    },
  });
  const formats = new Formats(language, { code: currency, decimals }, timeZone);
  return { pdf, type: new Typesetter(pdf, language), words, formats, y: sheet.top };
}

/** Starts a page unless `height` points are left on this one. Returns whether it did. */
export function ensureRoom(canvas: Canvas, height: number): boolean {
  if (canvas.y + height <= floor) return false;
  canvas.pdf.addPage();
  canvas.y = sheet.top;
  return true;
}

export function rule({ pdf }: Canvas, y: number, from: number = sheet.left, width: number = column): void {
  pdf
    .moveTo(from, y)
    .lineTo(from + width, y)
    .lineWidth(0.6)
    .strokeColor(ink.rule)
    .stroke();
}

/** Seller, number and page number at the foot of every page; known once all pages are there. */
export function drawFooters({ pdf, type, words }: Canvas, { seller, number }: DocumentContent): void {
  const { start, count } = pdf.bufferedPageRange();
  for (let page = 0; page < count; page++) {
    pdf.switchToPage(start + page);
    const y = sheet.height - 40;
    const numbers = fill(words.page, { page: String(page + 1), pages: String(count) });
    type.write(type.cut([number, seller.name].join(' · '), column - 120, soft), sheet.left, y, column, soft);
    type.write(numbers, sheet.left, y, column, { ...soft, align: 'right' });
  }
}
