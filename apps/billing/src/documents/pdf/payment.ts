import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools';
import QRCode from 'qrcode';
import type { BankAccount, DocumentContent } from '../content.js';
import { sepaPayload } from '../sepa.js';
import { body, type Canvas, column, ensureRoom, ink, sheet, soft, strong } from './page.js';

/** Side of the QR code; with its quiet zone of four modules it is read from paper at arm's length. */
const qrSide = 96;
const labelWidth = 120;

/** How to pay what is due: the link of the payment page, and the account for a transfer with its QR code. */
export function drawPayment(canvas: Canvas, content: DocumentContent): void {
  if (content.due <= 0n || content.kind !== 'invoice') return;
  if (content.bank !== null) drawTransfer(canvas, content, content.bank);
  if (content.paymentLink !== '') drawLink(canvas, content.paymentLink);
}

function drawTransfer(canvas: Canvas, content: DocumentContent, bank: BankAccount): void {
  const { type, words, pdf } = canvas;
  const payload = sepaPayload({
    name: bank.accountHolder,
    iban: bank.iban,
    bic: bank.bic,
    currency: content.currency,
    amount: content.due,
    reference: content.number,
  });
  const rows = transferRows(canvas, content, bank);
  const width = column - labelWidth - (payload === undefined ? 0 : qrSide + 24);
  const blocks = rows.map(([name, value]) => ({
    name: type.block(name, labelWidth - 8, { ...body, color: ink.soft }),
    value: type.block(value, width, body),
  }));
  const height = blocks.reduce((sum, { name, value }) => sum + Math.max(name.height, value.height) + 2, 0);
  canvas.y += 20;
  ensureRoom(canvas, Math.max(height, payload === undefined ? 0 : qrSide + 24) + 18);
  canvas.y = type.write(words.payByTransfer, sheet.left, canvas.y, column, { ...strong, size: 10 }) + 4;
  const top = canvas.y;
  let y = top;
  for (const { name, value } of blocks) {
    type.draw(name, sheet.left, y, labelWidth);
    type.draw(value, sheet.left + labelWidth, y, width);
    y += Math.max(name.height, value.height) + 2;
  }
  canvas.y = y;
  if (payload === undefined) return;
  const left = sheet.left + column - qrSide;
  drawQr(pdf, payload, left, top);
  const hint = type.block(words.scanToPay, qrSide + 24, { ...soft, size: 7, align: 'right' });
  canvas.y = Math.max(y, type.draw(hint, left - 24, top + qrSide + 4, qrSide + 24));
}

function transferRows({ words }: Canvas, { number }: DocumentContent, bank: BankAccount): [string, string][] {
  const iban = electronicFormatIBAN(bank.iban) ?? '';
  const rows: [string, string][] = [
    [words.accountHolder, bank.accountHolder],
    [words.bank, bank.bankName],
    [words.bankAddress, bank.address],
    [words.iban, isValidIBAN(iban) ? (friendlyFormatIBAN(iban) ?? iban) : bank.iban],
    [words.bic, bank.bic],
    [words.accountNumber, bank.accountNumber],
    ...bank.others.map(([name, value]): [string, string] => [name === '' ? words.remarks : name, value]),
    [words.reference, number],
  ];
  return rows.filter(([, value]) => value.trim() !== '');
}

/** Rectangles rather than an image: sharp at any size, and no image to decode. */
function drawQr(pdf: PDFKit.PDFDocument, payload: string, left: number, top: number): void {
  const modules = qrModules(payload);
  const side = qrSide / modules.length;
  modules.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      let end = x;
      while (row[end + 1]) end++;
      pdf.rect(left + x * side, top + y * side, (end - x + 1) * side, side);
      x = end;
    }
  });
  pdf.fill('#000000');
}

function drawLink(canvas: Canvas, link: string): void {
  const { type, words, pdf } = canvas;
  canvas.y += 16;
  const block = type.block(link, column, { ...soft, color: '#1f4fa3' });
  ensureRoom(canvas, block.height + 18);
  canvas.y = type.write(words.payOnline, sheet.left, canvas.y, column, { ...strong, size: 10 }) + 2;
  pdf.link(sheet.left, canvas.y, column, block.height, link);
  canvas.y = type.draw(block, sheet.left, canvas.y, column);
}

/** The modules of a QR code, row by row; error correction M, as EPC069-12 demands. */
export function qrModules(payload: string): boolean[][] {
  const { modules } = QRCode.create(payload, { errorCorrectionLevel: 'M' });
  const { size, data } = modules;
  return Array.from({ length: size }, (_, row) =>
    Array.from({ length: size }, (_, column) => data[row * size + column] === 1),
  );
}
