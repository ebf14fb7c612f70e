import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encodeSlice } from '../../../src/tasks/format/formats.js';
import { type Cell, type FileColumn, type Slice, timesIn } from '../../../src/tasks/format/slice.js';
import { csvRows, filesIn, xlsxRows } from './files.js';

const columns: FileColumn[] = [
  { name: 'Name', kind: 'text' },
  { name: 'Count', kind: 'integer' },
  { name: 'Amount', kind: 'amount' },
  { name: 'Time', kind: 'time' },
];

/** A file of slices, each written from what the one before left. */
function fileOf(format: Slice['format'], slices: readonly (readonly (readonly Cell[])[])[], zone = 'UTC'): Buffer {
  const parts: Uint8Array[] = [];
  let state = { rows: 0, bytes: 0, crc: 0, rawBytes: 0 };
  for (const [at, rows] of slices.entries()) {
    const { content, ...next } = encodeSlice({ format, columns, rows, zone, state, last: at === slices.length - 1 });
    parts.push(content);
    state = next;
  }
  const file = Buffer.concat(parts);
  expect(state.bytes).toBe(file.length);
  return file;
}

const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '=1+1',
    '+49 30',
    '-5',
    '@x',
    '\t=1',
    '\r',
    '"',
    'a,b',
    'a\r\nb',
    '',
    "'",
    ' =1',
    '中文 "x"',
    '&lt;<b>&',
  ),
);
const rowsOf = fc.array(
  fc.tuple(
    texts,
    fc.integer(),
    fc.integer().map(minor => minor / 100),
    fc.constant(0),
  ),
  { maxLength: 6 },
);
const slicesOf = fc.array(rowsOf, { minLength: 1, maxLength: 4 });

describe('CSV', () => {
  it('is read again as it was, whatever texts hold and however it was cut into slices', () => {
    fc.assert(
      fc.property(slicesOf, slices => {
        const [header, ...rows] = csvRows(fileOf('csv', slices));
        expect(header).toEqual(['Name', 'Count', 'Amount', 'Time']);
        const shown = (name: string) => (/^[=+\-@\t\r\n]/.test(name) ? `'${name}` : name);
        expect(rows).toEqual(slices.flat().map(([name, count, amount]) => [shown(name), `${count}`, `${amount}`, '']));
      }),
    );
  });

  it('leaves no text that a spreadsheet takes for a formula', () => {
    const attacks = [
      '=HYPERLINK("http://evil.example")',
      '+1',
      '-1+cmd|x',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '\n=1',
      '=a,"b"',
    ];
    const [, ...rows] = csvRows(fileOf('csv', [attacks.map(name => [name, -1, -0.5, 0])]));
    expect(rows.map(([name = '']) => name[0])).toEqual(attacks.map(() => "'"));
    // numbers of ours are no text
    expect(rows[0]).toEqual([`'${attacks[0]}`, '-1', '-0.5', '']);
  });
});

describe('XLSX', () => {
  it('is read again as it was, whatever texts hold and however it was cut into slices', () => {
    fc.assert(
      fc.property(slicesOf, slices => {
        const [header, ...rows] = xlsxRows(fileOf('xlsx', slices));
        expect(header).toEqual(['Name', 'Count', 'Amount', 'Time']);
        expect(rows).toEqual(slices.flat().map(([name, count, amount]) => [sayable(name), count, amount, '']));
      }),
    );
  });

  it('has texts as texts, never as formulas, and numbers as numbers', () => {
    const sheet = filesIn(fileOf('xlsx', [[['=1+1', 7, 12.34, 0]]])).get('xl/worksheets/sheet1.xml') ?? '';
    expect(sheet).not.toMatch(/<f[ >]/);
    expect(sheet).toContain(
      '<c r="A2" t="inlineStr"><is><t xml:space="preserve">=1+1</t></is></c><c r="B2" ><v>7</v></c>',
    );
  });

  it('cuts a cell at the most characters of one, and never in the middle of one', () => {
    const [, row] = xlsxRows(fileOf('xlsx', [[[`${'x'.repeat(32_766)}😀`, 1, 1, 0]]]));
    expect(row?.[0]).toBe('x'.repeat(32_766));
  });

  it('is an archive that ends with an empty slice, too', () => {
    const files = filesIn(fileOf('xlsx', [[['a', 1, 1, 0]], []]));
    expect([...files.keys()]).toEqual([
      '[Content_Types].xml',
      '_rels/.rels',
      'xl/workbook.xml',
      'xl/_rels/workbook.xml.rels',
      'xl/styles.xml',
      'xl/worksheets/sheet1.xml',
    ]);
  });
});

/** A text without the characters that XML forbids. */
const sayable = (text: string) =>
  [...text]
    .filter(each => ['\t', '\n', '\r'].includes(each) || (each >= ' ' && !['\uFFFE', '\uFFFF'].includes(each)))
    .join('');

describe('times', () => {
  const at = Date.UTC(2026, 6, 1, 12) / 1_000;

  it('are written in their zone, on both sides of a change of its offset', () => {
    expect(timesIn('UTC')(at)).toBe('2026-07-01 12:00:00');
    expect(timesIn('Europe/Berlin')(at)).toBe('2026-07-01 14:00:00');
    const change = Date.UTC(2026, 9, 25, 1) / 1_000;
    const berlin = timesIn('Europe/Berlin');
    expect([berlin(change - 1), berlin(change)]).toEqual(['2026-10-25 02:59:59', '2026-10-25 02:00:00']);
    // a half hour, at half past an hour of UTC
    const howe = timesIn('Australia/Lord_Howe');
    const half = Date.UTC(2026, 9, 3, 15, 30) / 1_000;
    expect([howe(half - 1), howe(half)]).toEqual(['2026-10-04 01:59:59', '2026-10-04 02:30:00']);
  });

  it('are blank where there is none, and as they are beyond all calendars', () => {
    expect([timesIn('UTC')(0), timesIn('Asia/Tokyo')(2 ** 53 - 1)]).toEqual(['', String(2 ** 53 - 1)]);
  });

  it('agree with the formatter of the platform', () => {
    const zones = fc.constantFrom('America/New_York', 'Asia/Kolkata', 'Africa/Casablanca', 'Pacific/Apia');
    fc.assert(
      fc.property(zones, fc.integer({ min: 86_400, max: 4_000_000_000 }), (zone, seconds) => {
        const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
        expect(timesIn(zone)(seconds)).toBe(format.format(seconds * 1_000));
      }),
    );
  });
});
