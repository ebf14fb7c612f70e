import { describe, expect, it } from '@jest/globals';
import { zipSync } from 'fflate';
import { encodeSlice } from '../../../src/tasks/format/formats.js';
import { tableIn } from '../../../src/tasks/format/reading.js';

const table = (text: string) => tableIn(Buffer.from(text));

/** A workbook of rows, as exports write it. */
const workbook = (header: readonly string[], rows: readonly (string | number)[][]) =>
  encodeSlice({
    format: 'xlsx',
    zone: 'UTC',
    last: true,
    state: { rows: 0, bytes: 0, crc: 0, rawBytes: 0 },
    rows,
    columns: header.map((name, at) => ({ name, kind: typeof rows[0]?.[at] === 'number' ? 'integer' : 'text' })),
  }).content;

/** The parts of a workbook with one sheet, whose cells are these elements. */
const parts = (cells: string, styles = '') => ({
  '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
  'xl/workbook.xml':
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
  'xl/styles.xml': `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs><xf numFmtId="0"/>${styles}</cellXfs></styleSheet>`,
  'xl/worksheets/sheet1.xml': `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${cells}</sheetData></worksheet>`,
});
const zipped = (entries: Record<string, string>) =>
  zipSync(Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, Buffer.from(text)])));

describe('a csv file', () => {
  const rows = [
    { row: 2, cells: ['a@example.com', 'Ada, "the first"'] },
    { row: 4, cells: ['b@example.com'] },
  ];

  it.each([
    ['commas', 'Email,Name\r\na@example.com,"Ada, ""the first"""\r\n,\r\nb@example.com,\r\n'],
    ['semicolons and a byte order mark', '\uFEFFEmail;Name\na@example.com;"Ada, ""the first"""\n;\nb@example.com;'],
    ['tabs', 'Email\tName\t\na@example.com\t"Ada, ""the first"""\n\nb@example.com\n\n'],
  ])('is read with %s; blank rows are numbered and left out', async (_, text) => {
    expect(await table(text)).toEqual({ format: 'csv', header: ['Email', 'Name'], rows });
  });

  it('has its text without the apostrophe that exports put before a formula', async () => {
    const { rows: read } = await table("A,B\n'=1+1,'tis\n");
    expect(read).toEqual([{ row: 2, cells: ['=1+1', "'tis"] }]);
  });

  it.each([
    ['is empty', '', 'The file has no header'],
    ['has an open quote', 'A\n"x', 'The file is no valid CSV'],
    ['has a cell more than the header', 'A\nx\ny,z\n', 'Row 3 has more cells than the header'],
    ['has too many rows', `A\n${'x\n'.repeat(5_001)}`, 'The file has 5001 rows: at most 5000 are taken at once'],
    ['has too many columns', `${'x,'.repeat(100)}y\n1\n`, 'The file has more than 100 columns'],
    [
      'has too much text',
      `A\n${`${'x'.repeat(1_000)}\n`.repeat(2_001)}`,
      'The file has more than 2 million characters',
    ],
  ])('that %s says so', async (_, text, message) => {
    await expect(table(text)).rejects.toThrow(message);
  });

  it('in another encoding, or of an old format, says how to save it', async () => {
    await expect(tableIn(Buffer.from('M\xfcller', 'latin1'))).rejects.toThrow('save it as "CSV UTF-8"');
    await expect(tableIn(Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0]))).rejects.toThrow('old .xls');
  });
});

describe('a workbook', () => {
  it('is read as exports write it', async () => {
    const read = await tableIn(
      workbook(
        ['Email', 'Count'],
        [
          ['a@example.com', 3],
          ['=x', 4],
        ],
      ),
    );
    expect(read).toEqual({
      format: 'xlsx',
      header: ['Email', 'Count'],
      rows: [
        { row: 2, cells: ['a@example.com', '3'] },
        { row: 3, cells: ['=x', '4'] },
      ],
    });
  });

  it('has times, numbers and truths as text', async () => {
    const header =
      '<row r="1"><c r="A1" t="inlineStr"><is><t>When</t></is></c><c r="B1" t="inlineStr"><is><t>What</t></is></c></row>';
    const cells =
      '<row r="3"><c r="A3" s="1"><v>46354.5</v></c><c r="B3"><v>12.5</v></c></row><row r="4"><c r="B4" t="b"><v>1</v></c></row>';
    const { rows } = await tableIn(zipped(parts(header + cells, '<xf numFmtId="22" applyNumberFormat="1"/>')));
    expect(rows).toEqual([
      { row: 3, cells: ['2026-11-28 12:00:00', '12.5'] },
      { row: 4, cells: ['', 'true'] },
    ]);
  });

  it('that unpacks to more than it may is refused before it is unpacked', async () => {
    const bomb = zipped(parts(' '.repeat(40_000_000)));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(tableIn(bomb)).rejects.toThrow('larger than 32 MB');
  });

  it('that is none, or that lies about its sizes, is refused', async () => {
    await expect(tableIn(Buffer.from('PK\x03\x04 and no more'))).rejects.toThrow('no workbook that can be read');
    const bytes = Buffer.from(zipped(parts(' '.repeat(4_000_000))));
    for (let at = bytes.indexOf('PK\x01\x02'); at >= 0; at = bytes.indexOf('PK\x01\x02', at + 1))
      bytes.writeUInt32LE(10, at + 24);
    await expect(tableIn(bytes)).rejects.toThrow('no workbook that can be read');
  });
});
