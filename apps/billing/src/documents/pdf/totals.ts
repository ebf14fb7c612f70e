import { fill } from '@recur/kernel';
import type { ContentTax, DocumentContent } from '../content.js';
import type { Words } from '../words/words.js';
import { body, type Canvas, column, ensureRoom, ink, rule, sheet, soft } from './page.js';

const width = column * 0.52;
const left = sheet.left + column - width;

interface Total {
  label: string;
  amount: bigint;
  strong?: boolean;
}

/** Draws the sums of the lines: reductions, tax by rate, total, credit, and what is due. */
export function drawTotals(canvas: Canvas, content: DocumentContent): void {
  const totals = totalRows(canvas, content);
  const { type, formats } = canvas;
  const strongStyle = { ...body, size: 10.5, weight: 'bold', color: ink.strong } as const;
  const widths = totals.map(({ amount, strong }) => type.width(formats.amount(amount), strong ? strongStyle : body));
  const amountWidth = Math.min(width * 0.6, Math.max(width * 0.3, ...widths.map(each => each + 1)));
  canvas.y += 4;
  // kept together: a page with the amount due alone is hard to read
  ensureRoom(canvas, totals.length * 16 + 10);
  for (const { label, amount, strong } of totals) {
    const style = strong ? strongStyle : body;
    if (strong) {
      rule(canvas, canvas.y + 1, left, width);
      canvas.y += 5;
    }
    const labelEnd = type.write(
      label,
      left,
      canvas.y,
      width - amountWidth - 8,
      strong ? style : { ...style, color: ink.soft },
    );
    const amountStyle = { ...style, align: 'right' } as const;
    const end = type.write(formats.amount(amount), left + width - amountWidth, canvas.y, amountWidth, amountStyle);
    canvas.y = Math.max(labelEnd, end) + 3;
  }
}

function totalRows({ words, formats }: Canvas, content: DocumentContent): Total[] {
  const { discount, promoCredit, creditApplied, taxes, subtotal, netTotal, total } = content;
  const label = discount.code === '' ? words.discount : fill(words.discountCode, { code: discount.code });
  const reduced = discount.amount !== 0n || promoCredit !== 0n;
  return [
    { label: words.subtotal, amount: subtotal },
    ...(discount.amount === 0n ? [] : [{ label, amount: -discount.amount }]),
    ...(promoCredit === 0n ? [] : [{ label: words.promoCredit, amount: -promoCredit }]),
    ...(reduced ? [{ label: words.netTotal, amount: netTotal }] : []),
    ...taxes.map(tax => ({ label: taxLabel(tax, words, formats), amount: tax.tax })),
    { label: words.total, amount: total, strong: true },
    ...(creditApplied === 0n ? [] : [{ label: words.creditApplied, amount: -creditApplied }]),
    ...lastOf(content, words),
  ];
}

function lastOf({ kind, total, due, paidAt, creditApplied }: DocumentContent, words: Words): Total[] {
  if (kind === 'credit_note') return [{ label: words.amountCredited, amount: -total, strong: true }];
  const paid = paidAt === 0 ? [] : [{ label: words.amountPaid, amount: total - creditApplied }];
  return [...paid, { label: words.amountDue, amount: due, strong: true }];
}

function taxLabel(tax: ContentTax, words: Words, formats: Canvas['formats']): string {
  const values = { rate: formats.rate(tax.ratePpm), net: formats.amount(tax.net), jurisdiction: tax.jurisdiction };
  return fill(tax.jurisdiction === '' ? words.taxOn : words.taxIn, values);
}

/** Why no tax is charged, once for each reason, and the document's own note. */
export function drawNotes(canvas: Canvas, content: DocumentContent): void {
  const { type, words } = canvas;
  const notes = [...new Set(content.taxes.flatMap(tax => reasonsOf(tax, words))), content.note].filter(
    note => note.trim() !== '',
  );
  if (notes.length === 0) return;
  canvas.y += 16;
  const blocks = notes.map(note => type.block(note, column, soft));
  ensureRoom(canvas, 16 + Math.min(blocks[0]?.height ?? 0, 200));
  canvas.y = type.write(words.notes, sheet.left, canvas.y, column, { ...soft, weight: 'bold' }) + 2;
  for (const block of blocks) {
    ensureRoom(canvas, Math.min(block.height, 600));
    canvas.y = type.draw(block, sheet.left, canvas.y, column) + 2;
  }
}

const reasons: Record<ContentTax['category'], keyof Words | undefined> = {
  S: undefined,
  Z: 'zeroRated',
  E: 'exempt',
  AE: 'reverseCharge',
  K: 'intraCommunity',
  G: 'exported',
  O: 'outOfScope',
};

/** The words that the law asks for, and the reason as it was decided. */
function reasonsOf({ category, reason }: ContentTax, words: Words): string[] {
  const legal = reasons[category];
  return legal === undefined ? [] : [[words[legal], reason].filter(part => part.trim() !== '').join(' ')];
}
