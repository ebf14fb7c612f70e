import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));

/** The modules that a source text imports, but for zod and files beside it. */
const foreignImports = (text: string) =>
  [...text.matchAll(/(?:from|import|require)\s*\(?\s*['"]([^'"]+)['"]/g)]
    .map(([, name = '']) => name)
    .filter(name => name !== 'zod' && !/^\.\.?\/(?!\.\.)/.test(name));

describe('contracts import only zod', () => {
  it.each(files)('%s', file => {
    expect(foreignImports(readFileSync(`${source}${file}`, 'utf8'))).toEqual([]);
  });

  it.each([
    ["import { readFile } from 'node:fs';", 'node:fs'],
    ["import { Rejected } from '@recur/kernel';", '@recur/kernel'],
    ["export * from '../../kernel/src/index.js';", '../../kernel/src/index.js'],
    ["import 'reflect-metadata';", 'reflect-metadata'],
    ["const pg = await import('pg');", 'pg'],
  ])('catches a planted %s', (text, name) => {
    expect(foreignImports(text)).toEqual([name]);
  });
});
