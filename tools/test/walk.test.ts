import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';

const root = checkoutRoot();

/** Tables of functions in the order in which they are called: their page, the folder of their files, and the most rows. */
const walks = [
  ['docs/architecture.md', "A reader's walk", '', 14],
  ['docs/lives.md', 'A first purchase', 'apps/billing/src/', 18],
  ['docs/lives.md', 'A renewal', 'apps/billing/src/', 20],
  ['docs/lives.md', 'A change of plan', 'apps/billing/src/', 18],
  ['docs/lives.md', 'A declined card', 'apps/billing/src/', 18],
  ['docs/lives.md', 'The end of an unpaid subscription', 'apps/billing/src/', 18],
  ['docs/lives.md', 'A refund', 'apps/billing/src/', 18],
] as const;

interface Station {
  name: string;
  file: string;
}

/** The stations of a walk: the rows of the table under its heading. */
function stationsIn(page: string, heading: string, folder: string): Station[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| \d+ +\| `(\w+)` +\| `([\w./-]+)` +\|/gm);
  return [...rows].map(([, name = '', file = '']) => ({ name, file: folder + file }));
}

/** Whether a source defines a function or method of that name. */
const defines = (source: string, name: string) =>
  [
    `^(?:export )?(?:async )?function ${name}\\b`,
    `^(?:export )?const ${name}\\b.*(?:=>|function|=$)`,
    `^ {2}(?:private |protected )?(?:async )?${name}(?:<[^>(]*>)?\\(`,
  ].some(pattern => new RegExp(pattern, 'm').test(source));

const textOf = (file: string) => {
  const at = path.join(root, file);
  return existsSync(at) ? readFileSync(at, 'utf8') : '';
};

function problems(stations: readonly Station[], most: number): string[] {
  const files = stations.map(({ file }) => file);
  return [
    ...(stations.length > most ? [`${stations.length} stations`] : []),
    ...files.filter((file, at) => files.indexOf(file) !== at).map(file => `${file} is visited twice`),
    ...stations.flatMap(({ name, file }) => (defines(textOf(file), name) ? [] : [`${file} has no function ${name}`])),
  ];
}

describe.each(walks)('%s: %s', (page, heading, folder, most) => {
  const stations = stationsIn(readFileSync(path.join(root, page), 'utf8'), heading, folder);

  it(`leads through ${stations.length} functions that are where it says, no file twice`, () => {
    expect(stations.length).toBeGreaterThan(6);
    expect(problems(stations, most)).toEqual([]);
  });
});

it('every table of functions on these pages is a walk', () => {
  const pages = [...new Set(walks.map(([page]) => page))];
  const headings = pages.flatMap(page => {
    const sections = readFileSync(path.join(root, page), 'utf8').split('\n## ').slice(1);
    return sections.filter(text => /^\| 1 +\| `\w+`/m.test(text)).map(text => text.split('\n')[0]);
  });
  expect(headings).toEqual(walks.map(([, heading]) => heading));
});

it("a reader's walk leads from HTTP to the webhook", () => {
  const [[page, heading, folder]] = walks;
  const stations = stationsIn(readFileSync(path.join(root, page), 'utf8'), heading, folder);
  expect(stations[0]?.file).toMatch(/^apps\/gateway\//);
  expect(stations.at(-1)?.file).toMatch(/^apps\/notification\//);
});

it('a walk that leads astray, in circles or on and on is found', () => {
  const first = { name: 'admit', file: 'apps/gateway/src/http/admission.ts' };
  expect(problems([first], 1)).toEqual([]);
  expect(problems([{ ...first, name: 'nowhere' }], 1)).toEqual([`${first.file} has no function nowhere`]);
  expect(problems([first, first], 2)).toEqual([`${first.file} is visited twice`]);
  expect(problems([{ name: first.name, file: 'nowhere.ts' }], 1)).toHaveLength(1);
  expect(problems(Array(15).fill(first), 14)).toContain('15 stations');
  expect(defines('  const admit = 1;\n  this.admit(\n// admit(', 'admit')).toBe(false);
});
