import { describe, expect, it } from '@jest/globals';
import { type House, houseOf } from './house.js';
import { sources } from './sources.js';

/** The most of each number; of `median`, the least. */
const bounds: Record<string, House> = {
  'apps/billing/src': { files: 285, median: 110, small: 26, upward: 0, registries: 0, shared: 6, spreads: 0 },
  'apps/catalog/src': { files: 47, median: 56, small: 22, upward: 0, registries: 0, shared: 5, spreads: 0 },
  'apps/gateway/src': { files: 50, median: 60, small: 16, upward: 0, registries: 0, shared: 2, spreads: 1 },
  'apps/identity/src': { files: 95, median: 52, small: 34, upward: 0, registries: 0, shared: 3, spreads: 0 },
  'apps/notification/src': { files: 47, median: 56, small: 16, upward: 0, registries: 0, shared: 1, spreads: 0 },
  'libs/platform/src': { files: 120, median: 72, small: 35, upward: 0, registries: 0, shared: 1, spreads: 2 },
};

/** Numbers that are beyond their bound, with both. */
const beyond = (house: House, bound: House): string[] =>
  (Object.keys(bound) as (keyof House)[])
    .filter(name => (name === 'median' ? house[name] < bound[name] : house[name] > bound[name]))
    .map(name => `${name}: ${house[name]}, not ${bound[name]}`);

describe.each(Object.entries(bounds))('%s', (folder, bound) => {
  const house = houseOf(sources(folder));

  it(`is built well: ${JSON.stringify(house)}`, () => {
    expect(beyond(house, bound)).toEqual([]);
  });
});

it('a house that is built badly is found', () => {
  const planted = [
    { file: 'apps/x/src/w/a.ts', text: "import { b } from './b/c.js';\nexport const one = { ...{ a } };\n" },
    { file: 'apps/x/src/w/b/c.ts', text: "import { a } from '../a.js';\nconst one = 1;\n  register(name) {}\n" },
    { file: 'apps/x/src/migrations/1.ts', text: 'const one = 1;\n' },
  ];
  const house = houseOf(planted);
  expect(house).toEqual({ files: 2, median: 3, small: 2, upward: 2, registries: 1, shared: 1, spreads: 1 });
  const none = { files: 1, median: 4, small: 1, upward: 0, registries: 0, shared: 0, spreads: 0 };
  expect(beyond(house, none)).toHaveLength(7);
});
