import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));

/** Modules that a source imports, except zod and files of this library; `file` is relative to the source folder. */
const foreignImports = (text: string, file: string) =>
  [...text.matchAll(/\b(?:from|import|require)\s*\(?\s*['"]([^'"]+)['"]/g)]
    .map(([, name = '']) => name)
    .filter(name => name !== 'zod' && !isOwn(name, file));

const isOwn = (name: string, file: string) =>
  name.startsWith('.') && !path.join(path.dirname(file), name).startsWith('..');

describe('contracts import only zod', () => {
  it.each(files)('%s', file => {
    expect(foreignImports(readFileSync(`${source}${file}`, 'utf8'), file)).toEqual([]);
  });

  it.each([
    ["import { readFile } from 'node:fs';", 'node:fs'],
    ["import { Rejected } from '@recur/kernel';", '@recur/kernel'],
    ["export * from '../../kernel/src/index.js';", '../../kernel/src/index.js'],
    ["import 'reflect-metadata';", 'reflect-metadata'],
    ["const pg = await import('pg');", 'pg'],
  ])('catches a planted %s', (text, name) => {
    expect(foreignImports(text, 'billing/x.ts')).toEqual([name]);
  });
});

type Imports = ReadonlyMap<string, readonly string[]>;

/** The files that each file imports, relative to the source folder. */
const importsOf = (name: string): string[] =>
  [...readFileSync(`${source}${name}`, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)].map(
    ([, target = '']) => `${path.join(path.dirname(name), target)}.ts`,
  );

/** A chain of imports that leads back to its first file, or undefined. */
function circleIn(imports: Imports): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, above: string[]): string[] | undefined => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of imports.get(file) ?? []) {
      const circle = visit(next, [...above, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = visit(file, []);
    if (circle) return circle;
  }
  return undefined;
}

/** Folders with more files than a reader takes in at a glance. */
const crowded = (names: readonly string[]) => {
  const folders = names.map(name => path.dirname(name));
  return [...new Set(folders)].filter(folder => folders.filter(one => one === folder).length > 15);
};

describe('the rooms of contracts', () => {
  it('have at most 15 files each', () => {
    expect(crowded(files)).toEqual([]);
    expect(crowded(Array.from({ length: 16 }, (_, at) => `billing/${at}.ts`))).toEqual(['billing']);
  });

  it('import nothing in a circle', () => {
    expect(circleIn(new Map(files.map(file => [file, importsOf(file)])))).toBeUndefined();
    const planted = new Map(Object.entries({ a: ['b'], b: ['c'], c: ['b'] }));
    expect(circleIn(planted)).toEqual(['b', 'c', 'b']);
  });
});
