import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';

const bin = path.join(checkoutRoot(), 'node_modules', '.bin', 'biome');
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'recur-lint-'));
  const plugins = [path.join(checkoutRoot(), 'tools', 'lint', 'spread-literals.grit')];
  writeFileSync(path.join(folder, 'biome.json'), JSON.stringify({ root: true, plugins }));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** What the linter says of an expression. */
function findings(expression: string): string {
  writeFileSync(path.join(folder, 'x.ts'), `export const x = ${expression};\n`);
  const { stdout, stderr } = spawnSync(bin, ['lint', '--colors=off', 'x.ts'], { cwd: folder, encoding: 'utf8' });
  const said = stdout + stderr;
  expect(said).toContain('Checked 1 file');
  return said;
}

it.each(['({ ...{ a, b }, c })', '[...[a, b], c]', 'f(...[a, b])'])('%s spreads a literal, which is an error', text => {
  expect(findings(text)).toContain('A literal is spread');
});

it('a value that may be absent can be spread', () => {
  expect(findings('({ ...(a && { b }), ...c, list: [...d] })')).not.toContain('A literal is spread');
});
