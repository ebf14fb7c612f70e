import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ignoredFields, validate } from '../src/index.js';

const schema = z.object({
  name: z.string(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  lines: z.array(z.object({ quantity: z.int().default(1) })).default([]),
});
function ignored(input: unknown) {
  const checked = validate(schema, input);
  if (!checked.ok) throw new Error('it was refused');
  return ignoredFields(input, checked.value);
}

describe('ignored fields', () => {
  it('are those that no schema has, at any depth, but within free-form objects', () => {
    const found = ignored({
      name: 'x',
      nmae: 1,
      metadata: { anything: { goes: 1 } },
      NAME: 'y',
      lines: [{ quantity: 2 }, { quantity: 1, 'a/b': { c: 1 } }],
    });
    expect(found).toEqual([
      { path: '/nmae', message: 'nmae is not a field of this operation' },
      { path: '/NAME', message: 'NAME is not a field of this operation' },
      { path: '/lines/1/a~1b', message: 'lines[1].a/b is not a field of this operation' },
    ]);
  });

  it('are no fields that are null, nor those spelt in another case, and 20 at most', () => {
    expect(ignored({ NAME: 'x', lines: null, metadata: null })).toEqual([]);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`field${at}`, at]));
    expect(ignored({ name: 'x', ...many })).toHaveLength(20);
    expect(ignored(JSON.parse('{"name":"x","__proto__":{"a":1},"constructor":1}')).map(({ path }) => path)).toEqual([
      '/__proto__',
      '/constructor',
    ]);
  });
});
