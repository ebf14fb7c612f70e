import { crc32 } from 'node:zlib';

/** A file of an archive. Its sizes are in bytes; `offset` is where its header stands. */
export interface ZipEntry {
  name: string;
  stored: boolean;
  crc: number;
  packed: number;
  size: number;
  offset: number;
}

/** The first moment of the format, 1980-01-01: files of equal content are equal. */
const date = 0x21;
const versions = { made: 20, needed: 20 } as const;
/** Names are in UTF-8; sizes that are not known when a file begins follow it. */
const flags = { utf8: 0x800, sizesFollow: 0x8 } as const;

const flagsOf = ({ stored }: Pick<ZipEntry, 'stored'>) => flags.utf8 | (stored ? 0 : flags.sizesFollow);

/** The fields that the headers of a file have in common. */
function commonHeader({ stored, crc, packed, size, name }: ZipEntry): Buffer {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(versions.needed, 0);
  header.writeUInt16LE(flagsOf({ stored }), 2);
  header.writeUInt16LE(stored ? 0 : 8, 4);
  header.writeUInt16LE(date, 8);
  header.writeUInt32LE(crc, 10);
  header.writeUInt32LE(packed, 14);
  header.writeUInt32LE(size, 18);
  header.writeUInt16LE(Buffer.byteLength(name), 22);
  return header;
}

const signature = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

/** The beginning of a file whose sizes are not known yet. */
export const beginning = (name: string): Buffer =>
  Buffer.concat([
    signature(0x04034b50),
    commonHeader({ name, stored: false, crc: 0, packed: 0, size: 0, offset: 0 }),
    Buffer.from(name),
  ]);

/** Files as they are, one after the other, from the beginning of an archive. */
export function storedFiles(files: Readonly<Record<string, string>>): { bytes: Buffer; entries: ZipEntry[] } {
  const parts: Buffer[] = [];
  const entries: ZipEntry[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const size = content.length;
    const entry = { name, stored: true, crc: crc32(content), packed: size, size, offset };
    const bytes = Buffer.concat([signature(0x04034b50), commonHeader(entry), Buffer.from(name), content]);
    parts.push(bytes);
    entries.push(entry);
    offset += bytes.length;
  }
  return { bytes: Buffer.concat(parts), entries };
}

/** The sizes of a file that began without them. */
export function sizesAfter({ crc, packed, size }: Pick<ZipEntry, 'crc' | 'packed' | 'size'>): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(0x08074b50, 0);
  bytes.writeUInt32LE(crc, 4);
  bytes.writeUInt32LE(packed, 8);
  bytes.writeUInt32LE(size, 12);
  return bytes;
}

/** The end of an archive: the directory of its files, which begins at `offset`. */
export function directory(entries: readonly ZipEntry[], offset: number): Buffer {
  const listed = Buffer.concat(
    entries.map(entry => {
      const [made, rest] = [Buffer.alloc(2), Buffer.alloc(14)];
      made.writeUInt16LE(versions.made);
      rest.writeUInt32LE(entry.offset, 10);
      return Buffer.concat([signature(0x02014b50), made, commonHeader(entry), rest, Buffer.from(entry.name)]);
    }),
  );
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([listed, end]);
}
