import { constants, crc32, deflateRawSync } from 'node:zlib';
import { type Cell, type FileColumn, type Slice, timesIn, type Written } from './slice.js';
import { beginning, directory, sizesAfter, storedFiles } from './zip.js';

/** The rows of data that a sheet holds below its header, and the characters of a cell. */
export const sheetLimits = { rows: 1_048_575, characters: 32_767 } as const;

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const schemas = 'http://schemas.openxmlformats.org';
const main = `xmlns="${schemas}/spreadsheetml/2006/main"`;
const links = `xmlns="${schemas}/package/2006/relationships"`;
const relationKinds = `${schemas}/officeDocument/2006/relationships`;
const sheetTypes = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const sheetName = 'xl/worksheets/sheet1.xml';

const statics = storedFiles({
  '[Content_Types].xml': `${declaration}<Types xmlns="${schemas}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${sheetTypes}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${sheetTypes}.styles+xml"/><Override PartName="/${sheetName}" ContentType="${sheetTypes}.worksheet+xml"/></Types>`,
  '_rels/.rels': `${declaration}<Relationships ${links}><Relationship Id="rId1" Type="${relationKinds}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `${declaration}<workbook ${main} xmlns:r="${relationKinds}"><sheets><sheet name="Export" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `${declaration}<Relationships ${links}><Relationship Id="rId1" Type="${relationKinds}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${relationKinds}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `${declaration}<styleSheet ${main}><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
});
/** Everything before the rows: they are the last file of the archive, so that it can be written from beginning to end. */
const opening = Buffer.concat([statics.bytes, beginning(sheetName)]);
const sheetStart = `${declaration}<worksheet ${main}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;
const sheetEnd = '</sheetData></worksheet>';

/**
 * An XLSX workbook, an archive of XML, in slices: the sheet is one file of it, a stream of compressed blocks, of which each
 * slice adds some. Only checksum and sizes are carried from slice to slice.
 */
function xlsxOf({ columns, rows, zone, state, last }: Slice): Written {
  const isFirst = state.bytes === 0;
  const xml = `${isFirst ? sheetStart + headerOf(columns) : ''}${sheetRows(columns, rows, zone, state.rows + 2)}${last ? sheetEnd : ''}`;
  const raw = Buffer.from(xml);
  const finishFlush = last ? constants.Z_FINISH : constants.Z_FULL_FLUSH;
  const packed = deflateRawSync(raw, { finishFlush });
  // Node's crc32 forgets what came before where there are no bytes
  const crc = raw.length === 0 ? state.crc : crc32(raw, state.crc);
  const rawBytes = state.rawBytes + raw.length;
  const content = Buffer.concat([isFirst ? opening : Buffer.alloc(0), packed]);
  const [count, bytes] = [state.rows + rows.length, state.bytes + content.length];
  if (!last) return { content, rows: count, bytes, crc, rawBytes };
  const sheet = { crc, packed: bytes - opening.length, size: rawBytes };
  const sizes = sizesAfter(sheet);
  const entry = { name: sheetName, stored: false, offset: statics.bytes.length, ...sheet };
  const end = directory([...statics.entries, entry], bytes + sizes.length);
  const whole = Buffer.concat([content, sizes, end]);
  return { content: whole, rows: count, bytes: state.bytes + whole.length, crc, rawBytes };
}

const headerOf = (columns: readonly FileColumn[]) =>
  rowAt(
    1,
    letters(columns),
    columns.map(({ name }) => `s="1" ${textCell(name)}`),
  );

function sheetRows(columns: readonly FileColumn[], rows: Slice['rows'], zone: string, first: number): string {
  const timeOf = timesIn(zone);
  const named = letters(columns);
  const writers = columns.map(({ kind }) => {
    if (kind === 'time') return (value: Cell) => textCell(timeOf(Number(value)));
    return kind === 'text' ? (value: Cell) => textCell(String(value)) : (value: Cell) => `><v>${value}</v>`;
  });
  return rows
    .map((row, index) =>
      rowAt(
        first + index,
        named,
        writers.map((write, at) => write(row[at] ?? '')),
      ),
    )
    .join('');
}

/** A row of cells, each from its attributes on. Not every reader counts cells that have no address. */
const rowAt = (row: number, named: readonly string[], cells: readonly string[]) =>
  `<row r="${row}">${cells.map((cell, at) => `<c r="${named[at]}${row}" ${cell}</c>`).join('')}</row>`;

/** The names of columns in a sheet: A to Z, AA to ZZ. */
const letters = (columns: readonly FileColumn[]): string[] =>
  columns.map((_, at) => (at < 26 ? letter(at) : letter(Math.floor(at / 26) - 1) + letter(at % 26)));
const letter = (at: number) => String.fromCharCode(65 + at);

const textCell = (text: string) =>
  text === '' ? '>' : `t="inlineStr"><is><t xml:space="preserve">${escaped(cut(text))}</t></is>`;

/** Text of a cell, without half a surrogate pair at its end. */
const cut = (text: string) =>
  text.length <= sheetLimits.characters ? text : text.slice(0, sheetLimits.characters).replace(/[\uD800-\uDBFF]$/, '');

const markup: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };
/** Characters that XML forbids are left out. */
const escaped = (text: string) =>
  // biome wants no control characters in patterns: they stand as ranges of code units
  /[^\u0020-\u0025\u0027-\u003B\u003D\u003F-\uFFFD]/.test(text)
    ? text.replace(/[^\t\n\u0020-\u0025\u0027-\u003B\u003D\u003F-\uFFFD]/g, found => markup[found] ?? '')
    : text;

/** Text that a spreadsheet would take for a formula. */
const formula = /^[=+\-@\t\r\n]/;
const special = /[",\r\n]/;

/**
 * CSV after RFC 4180 in UTF-8, with a byte order mark, by which spreadsheets know the encoding, and a header row. Text that
 * would be run as a formula has an apostrophe before it.
 */
function csvOf({ columns, rows, zone, state }: Slice): Written {
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

/** The bytes of the next rows of a file; the first ones begin it. */
export const encodeSlice = (slice: Slice): Written => (slice.format === 'csv' ? csvOf(slice) : xlsxOf(slice));
