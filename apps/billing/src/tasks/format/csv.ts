import type { Cell, Slice, Written } from './slice.js';
import { timesIn } from './times.js';

/** Text that a spreadsheet would take for a formula. */
const formula = /^[=+\-@\t\r\n]/;
const special = /[",\r\n]/;

/**
 * CSV after RFC 4180 in UTF-8, with a byte order mark, by which spreadsheets know the encoding, and a header row. Text that
 * would be run as a formula has an apostrophe before it.
 */
export function csvOf({ columns, rows, zone, state }: Slice): Written {
  const timeOf = timesIn(zone);
  const writers = columns.map(({ kind }) => {
    if (kind === 'time') return (value: Cell) => quoted(timeOf(Number(value)));
    return kind === 'text' ? (value: Cell) => quoted(guarded(String(value))) : (value: Cell) => String(value);
  });
  const lines = rows.map(row => `${writers.map((write, at) => write(row[at] ?? '')).join(',')}\r\n`);
  const header = state.bytes === 0 ? `\uFEFF${columns.map(({ name }) => quoted(guarded(name))).join(',')}\r\n` : '';
  const content = Buffer.from(header + lines.join(''));
  return { content, rows: state.rows + rows.length, bytes: state.bytes + content.length, crc: 0, rawBytes: 0 };
}

const guarded = (text: string) => (formula.test(text) ? `'${text}` : text);
const quoted = (text: string) => (special.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
