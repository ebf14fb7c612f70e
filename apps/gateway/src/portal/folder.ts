import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** Most files and bytes of the folder: it is kept in memory. */
const limits = { files: 1_000, bytes: 33_554_432, compressedFrom: 1_024 } as const;

const assetTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
const compressible = /^text\/|\/json|svg/;

/** A file as it is sent. */
export interface PageFile {
  bytes: Buffer;
  /** Absent where it would not be shorter. */
  gzipped?: Buffer;
  type: string;
  etag: string;
}

/** Files by their path in the folder, such as `assets/index-1a2b3c.js`. */
export type Folder = ReadonlyMap<string, PageFile>;

/** Reads a folder of static files; undefined without an index.html. Throws Error where it has too many or too large ones. */
export async function readFolder(root: string): Promise<Folder | undefined> {
  if (!(await stat(path.join(root, 'index.html')).catch(() => undefined))?.isFile()) return undefined;
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const names = entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort();
  if (names.length > limits.files) throw new Error(`${root} has more than ${limits.files} files`);
  const files = new Map<string, PageFile>();
  let left: number = limits.bytes;
  for (const name of names) {
    const bytes = await readFile(path.join(root, name));
    left -= bytes.length;
    if (left < 0) throw new Error(`${root} has more than ${limits.bytes} bytes`);
    files.set(name, fileOf(name, bytes));
  }
  return files;
}

function fileOf(name: string, bytes: Buffer): PageFile {
  const type = assetTypes[path.extname(name).toLowerCase()] ?? 'application/octet-stream';
  const isShortened = compressible.test(type) && bytes.length >= limits.compressedFrom;
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { bytes, type, etag, ...(isShortened && { gzipped: gzipSync(bytes, { level: 9 }) }) };
}
