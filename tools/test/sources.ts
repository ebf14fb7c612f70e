import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';

/** A source file, its path relative to the checkout. */
export interface Source {
  file: string;
  text: string;
}

const root = checkoutRoot();

/** The files of a folder with this ending, without build output and dependencies. */
export function sources(folder: string, ending = '.ts'): Source[] {
  const entries = readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith(ending))
    .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter(file => !/node_modules|\/dist\//.test(file))
    .map(file => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));
}

/** The src folders of all libs and apps. */
export const srcFolders = ['libs', 'apps'].flatMap(group =>
  readdirSync(path.join(root, group)).map(name => `${group}/${name}/src`),
);

/** Relative imports and re-exports of a source, as paths of files; package imports are left out. */
export const importsOf = (source: Source) => filesNamed(source, /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g);

/** Files that a source starts as threads of their own. */
export const workersOf = (source: Source) =>
  filesNamed(source, /new URL\('(\.{1,2}\/[^']+\.js)', import\.meta\.url\)/g);

function filesNamed({ file, text }: Source, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, to = '']) => path.join(path.dirname(file), to).replace(/\.js$/, '.ts'));
}
