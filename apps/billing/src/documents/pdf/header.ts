import type { DocumentContent, Party } from '../content.js';
import { decodedLogo } from './logo.js';
import { type Canvas, column, ink, sheet, soft, strong, text } from './page.js';

const logoBox = { width: 150, height: 48 } as const;
const gap = 24;
const half = (column - gap) / 2;

/** Logo or name of the seller and the document's title; then both parties and the facts of the document. */
export function drawHeader(canvas: Canvas, content: DocumentContent): void {
  const { type, words } = canvas;
  const title = content.kind === 'invoice' ? words.invoice : words.creditNote;
  const shown = drawLogo(canvas, content.logo);
  const name = { size: 13, weight: 'bold', color: ink.strong } as const;
  const nameEnd = shown
    ? sheet.top + logoBox.height
    : type.write(content.seller.name, sheet.left, sheet.top, half, name);
  const titleStyle = { size: 20, weight: 'bold', align: 'right', color: ink.strong } as const;
  const titleEnd = type.write(title, sheet.left + half + gap, sheet.top - 4, half, titleStyle);
  const y = Math.max(nameEnd, titleEnd) + 14;
  const seller = drawParty(canvas, shown ? content.seller : { ...content.seller, name: '' }, y);
  const facts = drawFacts(canvas, content, y);
  canvas.y = Math.max(seller, facts) + 18;
  canvas.y = type.write(words.billTo, sheet.left, canvas.y, half, { ...soft, weight: 'bold' }) + 2;
  canvas.y = drawParty(canvas, content.buyer, canvas.y) + 22;
  if (content.title !== '') canvas.y = type.write(content.title, sheet.left, canvas.y, column, strong) + 8;
}

/** Draws the logo into its box; false where it cannot be drawn. */
function drawLogo({ pdf }: Canvas, logo: Uint8Array | null): boolean {
  const image = logo && decodedLogo(logo);
  if (!image) return false;
  try {
    pdf.image(image, sheet.left, sheet.top, { fit: [logoBox.width, logoBox.height] });
    return true;
  } catch {
    return false;
  }
}

/** Draws a party in the left half; returns the y below it. */
function drawParty({ type, words, formats }: Canvas, party: Party, top: number): number {
  const numbered = (name: string, value: string) => (value === '' ? '' : `${name}: ${value}`);
  const details = [
    ...party.address,
    formats.country(party.countryCode),
    numbered(words.vatNumber, party.vatNumber),
    numbered(words.registrationNumber, party.registrationNumber),
    party.email,
    party.phone,
  ].filter(line => line.trim() !== '');
  const y = party.name === '' ? top : type.write(party.name, sheet.left, top, half, strong);
  return details.reduce((down, line) => type.write(line, sheet.left, down, half, text), y);
}

/** Draws number and dates in the right half; returns the y below them. */
function drawFacts({ type, words, formats }: Canvas, content: DocumentContent, top: number): number {
  const date = (seconds: number) => (seconds === 0 ? '' : formats.date(seconds));
  const facts = [
    [words.number, content.number],
    [words.original, content.originalNumber],
    [words.issued, date(content.issuedAt)],
    [words.due, date(content.dueAt)],
    [words.paid, date(content.paidAt)],
    [words.paidWith, content.paidWith],
  ].filter(([, value]) => value !== '');
  const left = sheet.left + half + gap;
  const label = half * 0.46;
  return facts.reduce((y, [name = '', value = '']) => {
    const labelEnd = type.write(name, left, y, label, { ...text, color: ink.soft });
    const valueEnd = type.write(value, left + label + 6, y, half - label - 6, { ...text, align: 'right' });
    return Math.max(labelEnd, valueEnd) + 1;
  }, top);
}
