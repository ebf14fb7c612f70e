import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const src = path.join(import.meta.dirname, '../src');

/** Wings that each wing may import; files at the root of src wire the wings together and may import all. */
const allowed: Record<string, readonly string[]> = {
  invoicing: ['pricing', 'gateways', 'customers', 'credits', 'config'],
  credits: ['pricing', 'customers'],
  pricing: [],
  gateways: [],
  customers: [],
  migrations: [],
};

interface Source {
  /** Relative to src, with forward slashes. */
  file: string;
  text: string;
}

const sources: Source[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => ({ file, text: readFileSync(path.join(src, file), 'utf8') }));

const wingOf = (file: string) => (file.split('/')[0] ?? '').replace(/\.(ts|js)$/, '');

const importsOf = ({ file, text }: Source) =>
  [...text.matchAll(/from '(\.{1,2}\/[^']+)'/g)].map(([, target = '']) => path.join(path.dirname(file), target));

/** Imports against the arrows, and imports of another wing's tables. */
function violations(source: Source): string[] {
  const wing = wingOf(source.file);
  if (!source.file.includes('/')) return [];
  return importsOf(source)
    .filter(target => wingOf(target) !== wing)
    .filter(target => !allowed[wing]?.includes(wingOf(target)) || target.endsWith('/tables.js'))
    .map(target => `${source.file} imports ${target}`);
}

/** Files that lie on a cycle of imports. */
function cycles(all: readonly Source[]): string[] {
  const edges = new Map(all.map(source => [source.file, importsOf(source).map(to => to.replace(/\.js$/, '.ts'))]));
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (edges.get(from) ?? []).some(next => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))));
  return [...edges.keys()].filter(file => reaches(file, file));
}

describe('the wings of billing', () => {
  it('import along the arrows only, and never the tables of another wing', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(
      [...new Set(sources.filter(({ file }) => file.includes('/')).map(({ file }) => wingOf(file)))].sort(),
    ).toEqual(Object.keys(allowed).sort());
    expect(sources.flatMap(violations)).toEqual([]);
  });

  it('have no circular imports between files', () => {
    expect(cycles(sources)).toEqual([]);
  });

  it.each([
    ['pricing/x.ts', `import { invoiceView } from '../invoicing/views.js';`],
    ['gateways/x.ts', `import type { Invoice } from '../invoicing/domain/invoice.js';`],
    ['invoicing/x.ts', `import { gateways } from '../gateways/tables.js';`],
    ['unknown/x.ts', `import { price } from '../pricing/price.js';`],
  ])('the guard catches %s: %s', (file, text) => {
    expect(violations({ file, text })).toHaveLength(1);
  });

  it('the guard catches a circular import', () => {
    const a = { file: 'invoicing/a.ts', text: `import { b } from './b.js';` };
    const b = { file: 'invoicing/b.ts', text: `import { a } from './a.js';` };
    expect(cycles([a, b])).toEqual(['invoicing/a.ts', 'invoicing/b.ts']);
  });
});
