import { PNG } from 'pngjs';
import { type DocumentContent, isJpeg, isPicture, type Party } from '../content.js';
import { body, type Canvas, column, ink, sheet, soft, strong } from './page.js';

const logoBox = { width: 150, height: 48 } as const;
const gap = 24;
const half = (column - gap) / 2;

/** Logo or name of the seller and the document's title; then both parties and the details of the document. */
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
  const details = drawDetails(canvas, content, y);
  canvas.y = Math.max(seller, details) + 18;
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
  return details.reduce((down, line) => type.write(line, sheet.left, down, half, body), y);
}

/** Draws number and dates in the right half; returns the y below them. */
function drawDetails({ type, words, formats }: Canvas, content: DocumentContent, top: number): number {
  const date = (seconds: number) => (seconds === 0 ? '' : formats.date(seconds));
  const details = [
    [words.number, content.number],
    [words.original, content.originalNumber],
    [words.issued, date(content.issuedAt)],
    [words.due, date(content.dueAt)],
    [words.paid, date(content.paidAt)],
    [words.paidWith, content.paidWith],
  ].filter(([, value]) => value !== '');
  const left = sheet.left + half + gap;
  const label = half * 0.46;
  return details.reduce((y, [name = '', value = '']) => {
    const labelEnd = type.write(name, left, y, label, { ...body, color: ink.soft });
    const valueEnd = type.write(value, left + label + 6, y, half - label - 6, { ...body, align: 'right' });
    return Math.max(labelEnd, valueEnd) + 1;
  }, top);
}

const mostPixels = 4_000_000;

/**
 * A logo that pdfkit can embed at once: a JPEG as it is, a PNG decoded and put on white. (pdfkit decodes transparent
 * PNGs beside the document's other streams, and throws where nobody can catch it.) Undefined for what is no image of these
 * kinds, is damaged, or is too large: the document is made without it.
 */
function decodedLogo(bytes: Uint8Array): Buffer | undefined {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isPicture(image)) return undefined;
  if (isJpeg(image)) return image;
  if (image.length < 33) return undefined;
  // pngjs may answer a cut image without an error
  if (!image.includes('IEND')) return undefined;
  if (image.readUInt32BE(16) * image.readUInt32BE(20) > mostPixels) return undefined;
  try {
    return onWhite(PNG.sync.read(image));
  } catch {
    return undefined;
  }
}

/** The image without its transparency, as a PNG of plain RGB. */
function onWhite({ width, height, data }: PNG): Buffer {
  const flat = new PNG({ width, height });
  for (let at = 0; at < data.length; at += 4) {
    const alpha = (data[at + 3] ?? 0) / 255;
    for (let channel = at; channel < at + 3; channel++) {
      flat.data[channel] = Math.round((data[channel] ?? 0) * alpha + 255 * (1 - alpha));
    }
    flat.data[at + 3] = 255;
  }
  return PNG.sync.write(flat, { colorType: 2 });
}
