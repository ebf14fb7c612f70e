import { isUtf8 } from 'node:buffer';
import { importLimits } from '@recur/contracts';
import { CsvError, parse } from 'csv-parse/sync';
import { unzipSync, zipSync } from 'fflate';
import { readSheet } from 'read-excel-file/universal';
import { type FileRow, type FileTable, UnreadableFile } from './slice.js';

/** Characters of all cells, columns, and bytes of an unpacked workbook. */
const limits = { characters: 2_000_000, columns: 100, unpacked: 32_000_000 } as const;

/** The first table of a csv or an xlsx file. Rejects UnreadableFile, in words for who made the file. */
export async function tableIn(bytes: Uint8Array): Promise<FileTable> {
  const begins = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (begins === '\xd0\xcf\x11\xe0') throw new UnreadableFile('The file is an old .xls: save it as .xlsx or .csv');
  const isXlsx = begins === 'PK\x03\x04';
  const [first = [], ...others] = isXlsx ? await sheetIn(bytes) : csvIn(bytes);
  const header = withoutBlankEnd(first).map(name => name.trim());
  if (header.length === 0) throw new UnreadableFile('The file has no header: its first row names the columns');
  const rows = others
    .map((cells, at) => ({ row: at + 2, cells: withoutBlankEnd(cells).map(unguarded) }))
    .filter(({ cells }) => cells.length > 0);
  assertSmall(header, rows);
  return { format: isXlsx ? 'xlsx' : 'csv', header, rows };
}

function assertSmall(header: readonly string[], rows: readonly FileRow[]): void {
  if (rows.length > importLimits.rows) {
    throw new UnreadableFile(`The file has ${rows.length} rows: at most ${importLimits.rows} are taken at once`);
  }
  if (header.length > limits.columns) throw new UnreadableFile(`The file has more than ${limits.columns} columns`);
  const long = rows.find(({ cells }) => cells.length > header.length);
  if (long) throw new UnreadableFile(`Row ${long.row} has more cells than the header`);
  let characters = 0;
  for (const { cells } of rows) for (const cell of cells) characters += cell.length;
  if (characters > limits.characters) throw new UnreadableFile('The file has more than 2 million characters');
}

function csvIn(bytes: Uint8Array): string[][] {
  if (!isUtf8(bytes)) throw new UnreadableFile('The file is neither xlsx nor text in UTF-8: save it as "CSV UTF-8"');
  const text = Buffer.from(bytes).toString();
  const [firstLine = ''] = text.split(/\r?\n/, 1);
  const count = (delimiter: string) => firstLine.split(delimiter).length;
  const delimiter = [',', ';', '\t'].reduce((most, one) => (count(one) > count(most) ? one : most));
  try {
    return parse(text, { bom: true, delimiter, relax_column_count: true, skip_empty_lines: false });
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableFile(`The file is no valid CSV: ${error.message}`);
    throw error;
  }
}

/** The cells of the first sheet. Whatever an archive says of its sizes, no more than that is unpacked. */
async function sheetIn(bytes: Uint8Array): Promise<string[][]> {
  try {
    let unpacked = 0;
    const entries = unzipSync(bytes, {
      filter: ({ originalSize }) => {
        unpacked += originalSize;
        if (unpacked > limits.unpacked) throw new UnreadableFile('The file is larger than 32 MB when it is unpacked');
        return true;
      },
    });
    const rows = await readSheet(new Uint8Array(zipSync(entries, { level: 0 })).buffer);
    return rows.map(row => row.map(cellText));
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    throw new UnreadableFile('The file is no workbook that can be read: save it as .xlsx or .csv');
  }
}

/** A cell of a workbook as csv would have it. */
function cellText(value: unknown): string {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString().slice(0, 19).replace('T', ' ');
  return String(value);
}

/** Exports put an apostrophe before what a spreadsheet would take for a formula. */
const unguarded = (cell: string) => cell.trim().replace(/^'(?=[=+\-@\t\r\n])/, '');

function withoutBlankEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex(cell => cell.trim() !== '') + 1);
}
