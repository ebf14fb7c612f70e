import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';

const root = checkoutRoot();
const mostStations = 14;

interface Station {
  name: string;
  file: string;
}

/** The stations of "A reader's walk": the rows of its table. */
function stationsIn(page: string): Station[] {
  const [, section = ''] = page.split("## A reader's walk");
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| \d+ +\| `(\w+)` +\| `([\w./-]+)` +\|/gm);
  return [...rows].map(([, name = '', file = '']) => ({ name, file }));
}

/** Whether a source defines a function or method of that name. */
const defines = (source: string, name: string) =>
  [
    `^(?:export )?(?:async )?function ${name}\\b`,
    `^(?:export )?const ${name}\\b.*(?:=>|function)`,
    `^ {2}(?:private |protected )?(?:async )?${name}(?:<[^>(]*>)?\\(`,
  ].some(pattern => new RegExp(pattern, 'm').test(source));

const textOf = (file: string) => {
  const at = path.join(root, file);
  return existsSync(at) ? readFileSync(at, 'utf8') : '';
};

function problems(stations: readonly Station[]): string[] {
  const files = stations.map(({ file }) => file);
  return [
    ...(stations.length > mostStations ? [`${stations.length} stations`] : []),
    ...files.filter((file, at) => files.indexOf(file) !== at).map(file => `${file} is visited twice`),
    ...stations.flatMap(({ name, file }) => (defines(textOf(file), name) ? [] : [`${file} has no function ${name}`])),
  ];
}

describe("the reader's walk of docs/architecture.md", () => {
  const stations = stationsIn(readFileSync(path.join(root, 'docs/architecture.md'), 'utf8'));

  it('leads from HTTP to the webhook through functions that are where it says, no file twice', () => {
    expect(stations.length).toBeGreaterThan(9);
    expect(stations[0]?.file).toMatch(/^apps\/gateway\//);
    expect(stations.at(-1)?.file).toMatch(/^apps\/notification\//);
    expect(problems(stations)).toEqual([]);
  });

  it('would be found to lead astray, in circles or on and on', () => {
    const [first = { name: '', file: '' }] = stations;
    expect(problems([{ ...first, name: 'nowhere' }])).toEqual([`${first.file} has no function nowhere`]);
    expect(problems([first, first])).toEqual([`${first.file} is visited twice`]);
    expect(problems([{ name: first.name, file: 'nowhere.ts' }])).toHaveLength(1);
    expect(problems(Array(mostStations + 1).fill(first))).toContain(`${mostStations + 1} stations`);
    expect(defines('  const admit = 1;\n  this.admit(\n// admit(', 'admit')).toBe(false);
  });
});
