import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** What reaches outside of a pure function: the clock, chance, the process, the network, timers. */
const impure = /^(Date|performance|crypto|process|fetch|console|require|globalThis|set(Timeout|Interval|Immediate))$/;

/** Imports of pure files: siblings, another domain folder, and billing's pricing, which is pure as a whole. */
const pure = /^(\.|(\.\.\/)+([\w-]+\/)*(domain|pricing))\/[\w-]+\.js$/;

/** A node of swc's syntax tree, whose members are its parts. */
type Node = Readonly<Record<string, unknown>>;

/** Reasons why a source file is not pure: imports outside its own and the other pure folders and `allowed`, impure globals. */
function impurities(source: string, allowed: readonly string[]): string[] {
  const imports: string[] = [];
  const found: string[] = [];
  const visit = (node: Node, parent: Node): void => {
    const text = String(node.value);
    if (node.type === 'StringLiteral' && isImported(node, parent)) imports.push(text);
    if (node.type === 'Identifier' && impure.test(text) && !isOwnName(node, parent)) found.push(`uses ${text}`);
    if (node.type === 'Identifier' && text === 'random' && nameOf(parent.object) === 'Math')
      found.push('uses Math.random');
    for (const part of Object.values(node).flat()) {
      if (typeof part === 'object' && part !== null) visit(part as Node, node.type === undefined ? parent : node);
    }
  };
  visit({ body: parseSync(source, { syntax: 'typescript', decorators: true }).body }, {});
  const foreign = imports.filter(name => !pure.test(name) && !allowed.includes(name));
  return [...foreign.map(name => `imports ${name}`), ...found];
}

const nameOf = (node: unknown) => (node as Node | undefined)?.value;

/** After `from`, in `import()`, in the type `import('pg').Pool`. */
const isImported = (node: Node, { type, source, argument, callee }: Node) =>
  source === node || (type === 'TsImportType' && argument === node) || (callee as Node | undefined)?.type === 'Import';

/** `invoice.process`, `{ process: 1 }`, `process?: string`: a member of that name, not the global. */
const isOwnName = (node: Node, { type, property, key }: Node) =>
  ['MemberExpression', 'KeyValueProperty', 'TsPropertySignature'].includes(String(type)) && (property ?? key) === node;

function sources(folder: string): { path: string; source: string }[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => ({ path: join(folder, name), source: readFileSync(join(root, folder, name), 'utf8') }));
}

const problems = (folder: string, allowed: readonly string[]) =>
  sources(folder).flatMap(({ path, source }) => impurities(source, allowed).map(problem => `${path} ${problem}`));

/** Imports of the domain: kernel, the shapes and codes of contracts, and deep comparison of plain values. */
const allowed = ['@recur/kernel', '@recur/contracts', 'node:util'];

describe('pure code', () => {
  it('kernel imports nothing outside itself, and no clock or chance', () => {
    expect(sources('libs/kernel/src').length).toBeGreaterThan(3);
    expect(problems('libs/kernel/src', ['temporal-polyfill'])).toEqual([]);
  });

  it('kernel depends on one package, for dates in time zones', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'libs/kernel/package.json'), 'utf8'));
    expect(manifest).toHaveProperty('dependencies', { 'temporal-polyfill': expect.any(String) });
    expect(manifest).not.toHaveProperty('peerDependencies');
  });

  it('every domain folder, and pricing, imports only kernel, contracts and pure folders', () => {
    const domains = readdirSync(join(root, 'apps'), { recursive: true, encoding: 'utf8' })
      .filter(folder => /^[\w-]+\/src\/([\w-]+\/)*domain$/.test(folder) || folder === 'billing/src/pricing')
      .map(folder => join('apps', folder));
    expect(domains).toEqual(expect.arrayContaining(['apps/catalog/src/domain', 'apps/catalog/src/plans/domain']));
    expect(domains).toEqual(expect.arrayContaining(['apps/billing/src/invoices/domain', 'apps/billing/src/pricing']));
    for (const folder of domains) expect(sources(folder).length).toBeGreaterThan(0);
    expect(domains.flatMap(folder => problems(folder, allowed))).toEqual([]);
  });

  it.each([
    [`import { z } from 'zod';`, 'imports zod'],
    [`import type { Clock } from '@recur/platform';`, 'imports @recur/platform'],
    [`import { randomBytes } from 'node:crypto';`, 'imports node:crypto'],
    [`export * from '../views.js';`, 'imports ../views.js'],
    [`import { plans } from '../../plans/tables.js';`, 'imports ../../plans/tables.js'],
    [`const late = () => import('pg');`, 'imports pg'],
    [`type Pool = import('pg').Pool;`, 'imports pg'],
    [`const now = Date.now();`, 'uses Date'],
    [`const now = new Date();`, 'uses Date'],
    [`const dice = Math.random();`, 'uses Math.random'],
    [`const both = { fetch };`, 'uses fetch'],
    [`const one = members[process];`, 'uses process'],
    [`const home = process.env.HOME;`, 'uses process'],
    [`const id = globalThis.crypto.randomUUID();`, 'uses globalThis'],
  ])('the guard catches %s', (source, problem) => {
    expect(impurities(source, allowed)).toEqual([problem]);
  });

  it('the guard lets pure code pass', () => {
    const source = `import { sum } from '@recur/kernel'; import { price } from './invoice.js';
      import { idList } from '../../domain/id-list.js'; import { total } from '../../pricing/price.js';
      export const f = (o: { process: number }) => Math.max(o.process, Number(sum([])), { fetch: price }.fetch.length);`;
    expect(impurities(source, allowed)).toEqual([]);
  });
});
