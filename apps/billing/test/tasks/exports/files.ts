import { crc32, inflateRawSync } from 'node:zlib';

// Readers of exported files, written from the formats' own documents: RFC 4180, PKWARE's APPNOTE, and ECMA-376.

/** The rows of a CSV file after RFC 4180, its header first. */
export function csvRows(bytes: Buffer): string[][] {
  const text = bytes.toString();
  if (!text.startsWith('\uFEFF')) throw new Error('no byte order mark');
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 1;
  while (at < text.length) {
    const [cell, end] = text[at] === '"' ? quoted(text, at + 1) : plain(text, at);
    row.push(cell);
    at = end;
    if (text[at] === ',') at += 1;
    else if (text.startsWith('\r\n', at)) {
      rows.push(row);
      row = [];
      at += 2;
    } else throw new Error(`no end of a cell at ${at}: ${JSON.stringify(text.slice(at, at + 20))}`);
  }
  if (row.length > 0) throw new Error('the last line has no end');
  return rows;
}

function quoted(text: string, from: number): [string, number] {
  let cell = '';
  for (let at = from; ; ) {
    const end = text.indexOf('"', at);
    if (end < 0) throw new Error('a quote is not closed');
    cell += text.slice(at, end);
    if (text[end + 1] !== '"') return [cell, end + 1];
    cell += '"';
    at = end + 2;
  }
}

function plain(text: string, from: number): [string, number] {
  const end = text.slice(from).search(/[,\r]/) + from;
  const cell = text.slice(from, end);
  if (end < from || /["\n]/.test(cell)) throw new Error('a cell is neither plain nor quoted');
  return [cell, end];
}

/** The files of an archive by name, as its directory lists them; sizes and checksums are compared. */
export function filesIn(bytes: Buffer): ReadonlyMap<string, string> {
  const end = bytes.length - 22;
  if (bytes.readUInt32LE(end) !== 0x06054b50) throw new Error('no end of a directory');
  const files = new Map<string, string>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    if (bytes.readUInt32LE(at) !== 0x02014b50) throw new Error('no entry of a directory');
    const [method, crc] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 16)];
    const [packed, size] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)];
    const [nameLength, offset] = [bytes.readUInt16LE(at + 28), bytes.readUInt32LE(at + 42)];
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    if (bytes.readUInt32LE(offset) !== 0x04034b50) throw new Error(`${name} is not where it should be`);
    const begin = offset + 30 + bytes.readUInt16LE(offset + 26);
    const stored = bytes.subarray(begin, begin + packed);
    const content = method === 0 ? stored : inflateRawSync(stored);
    if (content.length !== size || crc32(content) !== crc) throw new Error(`${name} is damaged`);
    files.set(name, content.toString());
    at += 46 + nameLength;
  }
  if (at !== end) throw new Error('the directory is longer than it says');
  return files;
}

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#13;': '\r' };
const cells =
  /<c r="[A-Z]+\d+"(?: s="1")? ?(?:><\/c>|t="inlineStr"><is><t(?: xml:space="preserve")?>([^<]*)<\/t><\/is><\/c>|><v>([^<]*)<\/v><\/c>)/g;

/** The rows of the sheet of an XLSX file, its header first: texts, and numbers as numbers. */
export function xlsxRows(bytes: Buffer): (string | number)[][] {
  const files = filesIn(bytes);
  const sheet = files.get('xl/worksheets/sheet1.xml') ?? '';
  const [, data = ''] = /<sheetData>(.*)<\/sheetData><\/worksheet>$/s.exec(sheet) ?? [];
  if (data.replace(/<row r="\d+">(.*?)<\/row>/gs, (_, row: string) => row.replace(cells, '')) !== '')
    throw new Error('no rows');
  return [...data.matchAll(/<row r="\d+">(.*?)<\/row>/gs)].map(([, row = '']) =>
    [...row.matchAll(cells)].map(([, text, number]) =>
      number === undefined
        ? (text ?? '').replace(/&(?:amp|lt|gt|#13);/g, found => entities[found] ?? '')
        : Number(number),
    ),
  );
}
