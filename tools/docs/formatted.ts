import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';

/** A page in the repository's format, so that the linter accepts generated pages. */
export function formatted(page: string, file: string): string {
  const root = checkoutRoot();
  const biome = path.join(root, 'node_modules/.bin/biome');
  const options = { cwd: root, input: page, encoding: 'utf8', maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr } = spawnSync(biome, ['format', `--stdin-file-path=${file}`], options);
  if (status !== 0) throw new Error(`${file} could not be formatted: ${stderr}`);
  return stdout;
}

/** A page with the part of that name, which stands between two comments, made anew. Throws Error where it has none. */
export function withPart(page: string, name: string, made: string): string {
  const begin = `<!-- ${name}: made by tools/docs/write.ts -->`;
  const end = `<!-- /${name} -->`;
  const [before, rest = ''] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`the page has no place for its ${name}: ${begin} … ${end}`);
  return `${before}${begin}\n\n${made}\n\n${end}${after}`;
}
