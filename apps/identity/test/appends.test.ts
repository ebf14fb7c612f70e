import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { identity } from '../src/service.js';

const src = path.join(import.meta.dirname, '../src');

/** Handlers that write without a transaction, and the unique indexes that decide what must be certain. */
const decidedBy: Record<string, readonly string[]> = {
  'users/users.ts newUser': ['users_email', 'users_external'],
};

/** `<file> <operation>` of every call of `db.append`. */
function appends(file: string, text: string): string[] {
  const handlers = [...text.matchAll(/@Handle\((\w+)\)/g)];
  return [...text.matchAll(/\bdb\s*\.append\b/g)].map(({ index }) => {
    const handler = handlers.filter(match => match.index < index).at(-1);
    return `${file} ${handler?.[1] ?? '?'}`;
  });
}

const textOf = (file: string) => readFileSync(path.join(src, file), 'utf8');
const unique = identity.schema.tables.flatMap(({ entity }) =>
  (entity.indices ?? []).flatMap(index => (index.unique ? [index.name] : [])),
);

it('handlers that write without a transaction are known, each with unique indexes that it names', () => {
  expect(appends('a.ts', '@Handle(x)\nmake() {\n  return this.db.append(caller, run);\n}')).toEqual(['a.ts x']);
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
  expect(files.flatMap(file => appends(file, textOf(file))).sort()).toEqual(Object.keys(decidedBy).sort());
  for (const [handler, indices] of Object.entries(decidedBy)) {
    const text = textOf(handler.split(' ')[0] ?? '');
    for (const index of indices) {
      expect(unique).toContain(index);
      expect(text).toContain(`onConflict('${index}'`);
    }
  }
});
