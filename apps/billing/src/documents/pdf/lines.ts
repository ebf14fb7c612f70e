import type { ContentLine, DocumentContent } from '../content.js';
import { body, type Canvas, column, ensureRoom, floor, rule, sheet, soft } from './page.js';
import type { Block } from './typesetter.js';

/** Points between columns, and above and below a row. */
const gutter = 10;
const padding = 5;
/** At most, of the table's head. */
const headHeight = 24;

type CellName = 'quantity' | 'unitPrice' | 'tax' | 'amount';
const cells: readonly CellName[] = ['quantity', 'unitPrice', 'tax', 'amount'];

interface Columns {
  /** Width of the description, which takes what the numbers leave. */
  description: number;
  numbers: readonly { cell: CellName; left: number; width: number }[];
}

interface Row {
  name: Block;
  details: Block | undefined;
  cells: Record<CellName, string>;
  height: number;
}

/** The lines, with the head repeated on each page. A line is never split, unless it is longer than a page. */
export function drawLines(canvas: Canvas, content: DocumentContent): void {
  const values = content.lines.map(line => cellsOf(canvas, line));
  const columns = columnLayout(canvas, values);
  const rows = content.lines.map((line, at) =>
    layoutRow(canvas, line, values[at] as Record<CellName, string>, columns),
  );
  ensureRoom(canvas, headHeight + wanted(rows[0]));
  drawHead(canvas, columns);
  for (const row of rows) {
    if (ensureRoom(canvas, wanted(row))) drawHead(canvas, columns);
    drawRow(canvas, row, columns);
  }
}

/** The room that a row needs to begin: its height, or that of a few lines where it is split anyway. */
function wanted(row: Row | undefined): number {
  const height = row?.height ?? 0;
  return height > floor - sheet.top - headHeight ? 80 : height;
}

function cellsOf({ formats }: Canvas, line: ContentLine): Record<CellName, string> {
  return {
    quantity: formats.quantity(line.quantity),
    unitPrice: formats.amount(line.unitAmount),
    tax: line.ratePpm === null ? '' : formats.rate(line.ratePpm),
    amount: formats.amount(line.net),
  };
}

/** Number columns are as wide as their widest entry; the description gets the rest, at least a third. */
function columnLayout({ type, words }: Canvas, values: readonly Record<CellName, string>[]): Columns {
  const widths = cells.map(cell => {
    const entries = values.map(value => type.width(value[cell], body));
    return Math.ceil(entries.reduce((widest, width) => Math.max(widest, width), type.width(words[cell], headStyle)));
  });
  const wanted = widths.reduce((sum, width) => sum + width + gutter, 0);
  const scale = Math.min(1, (column * 2) / 3 / wanted);
  let left = sheet.left + column;
  const numbers = cells.map((cell, at) => ({ cell, left: 0, width: (widths[at] ?? 0) * scale }));
  for (const number of numbers.toReversed()) {
    left -= number.width;
    number.left = left;
    left -= gutter;
  }
  return { description: left - sheet.left, numbers };
}

const headStyle = { ...soft, weight: 'bold' } as const;

function drawHead(canvas: Canvas, { description, numbers }: Columns): void {
  const { type, words } = canvas;
  const end = type.write(words.description, sheet.left, canvas.y, description, headStyle);
  const ends = numbers.map(({ cell, left, width }) =>
    type.write(words[cell], left, canvas.y, width, { ...headStyle, align: 'right' }),
  );
  canvas.y = Math.max(end, ...ends) + padding;
  rule(canvas, canvas.y);
  canvas.y += padding;
}

function layoutRow(canvas: Canvas, line: ContentLine, cells: Record<CellName, string>, { description }: Columns): Row {
  const { type, formats } = canvas;
  const period =
    line.periodStart === 0 && line.periodEnd === 0
      ? ''
      : `${formats.date(line.periodStart)} – ${formats.date(line.periodEnd)}`;
  const [title = '', ...more] = [line.name, line.description, period].filter(part => part.trim() !== '');
  const name = type.block(title, description, body);
  const details = more.length === 0 ? undefined : type.block(more.join('\n'), description, soft);
  return { name, details, cells, height: name.height + (details?.height ?? 0) + 2 * padding };
}

/** In reading order: the first line of the name, the numbers beside it, and what is below. */
function drawRow(canvas: Canvas, row: Row, columns: Columns): void {
  const { type } = canvas;
  const top = canvas.y;
  const [first, ...rest] = row.name.lines;
  const lineHeight = row.name.height / Math.max(row.name.lines.length, 1);
  const { style } = row.name;
  const firstLine = { lines: first ? [first] : [], style, height: lineHeight };
  let y = type.draw(firstLine, sheet.left, top, columns.description);
  let height = lineHeight;
  for (const { cell, left, width } of columns.numbers) {
    const block = type.block(row.cells[cell], width + 1, { ...body, align: 'right' });
    type.draw(block, left, top, width);
    height = Math.max(height, block.height);
  }
  const below = { lines: rest, style, height: row.name.height - lineHeight };
  for (const block of row.details ? [below, row.details] : [below]) y = drawAcrossPages(canvas, block, y, columns);
  // a row that goes on on another page ends there
  canvas.y = (canvas.y === top ? Math.max(y, top + height) : y) + padding;
  rule(canvas, canvas.y);
  canvas.y += padding;
}

/** Draws a block of the description; a long one goes on on the next page, under the table's head. */
function drawAcrossPages(canvas: Canvas, block: Block, top: number, columns: Columns): number {
  const { type } = canvas;
  const lineHeight = block.height / Math.max(block.lines.length, 1);
  let y = top;
  for (const line of block.lines) {
    if (y + lineHeight > floor) {
      canvas.y = y;
      ensureRoom(canvas, lineHeight);
      drawHead(canvas, columns);
      y = type.write(canvas.words.carriedOn, sheet.left, canvas.y, columns.description, headStyle) + padding;
      canvas.y = y;
      y = canvas.y;
    }
    y = type.draw({ lines: [line], style: block.style, height: lineHeight }, sheet.left, y, columns.description);
  }
  return y;
}
