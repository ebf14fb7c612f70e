import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';
import { arrowsBetweenRooms } from './house.js';
import { importsOf, type Source, sources, srcFolders, workersOf } from './sources.js';

const all = [...srcFolders, 'tools'].flatMap(folder => sources(folder));

type Arrows = ReadonlyMap<string, readonly string[]>;

/** Circles of arrows, each once. */
function circlesIn(arrows: Arrows): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (from: string, above: readonly string[]): void => {
    const at = above.indexOf(from);
    if (at >= 0) found.push([...above.slice(at), from].join(' → '));
    if (at >= 0 || done.has(from)) return;
    for (const next of arrows.get(from) ?? []) visit(next, [...above, from]);
    done.add(from);
  };
  for (const from of arrows.keys()) visit(from, []);
  return found;
}

/** Files that import each other in a circle. */
const circles = (of: readonly Source[]): string[] =>
  circlesIn(new Map(of.map(source => [source.file, importsOf(source)])));

/** Rooms of one wing that import each other in a circle. */
const innerCircles = (of: readonly Source[]): string[] => circlesIn(arrowsBetweenRooms(of));

/** Rooms of which each may import all before it. */
const inLine = (...names: string[]): Record<string, readonly string[]> =>
  Object.fromEntries(names.map((name, at) => [name, names.slice(0, at)]));

/**
 * Permitted imports between the rooms of a src folder: room → rooms it may import. Every folder is a room, except pure
 * rules and migrations; files directly in src may import and be imported by all.
 */
const rooms: Record<string, Record<string, readonly string[]>> = {
  'libs/platform/src': {
    ...inLine('runtime', 'store', 'bus', 'events', 'work', 'service', 'testing'),
    outbound: ['runtime'],
  },
  'apps/catalog/src': {
    products: [],
    metrics: [],
    checkouts: [],
    currencies: [],
    plans: ['products', 'metrics', 'checkouts'],
  },
  'apps/billing/src': {
    customers: [],
    gateways: ['customers'],
    pricing: [],
    credits: ['pricing', 'customers'],
    discounts: ['pricing', 'customers'],
    tax: ['pricing', 'customers'],
    usage: ['pricing', 'customers'],
    invoices: ['credits', 'discounts', 'tax', 'usage', 'pricing', 'gateways', 'customers'],
    refunds: ['invoices', 'credits', 'pricing', 'gateways', 'customers'],
    collection: ['refunds', 'invoices', 'pricing', 'gateways', 'customers'],
    documents: ['invoices', 'gateways', 'pricing', 'customers'],
    subscriptions: [
      'documents',
      'collection',
      'invoices',
      'usage',
      'credits',
      'discounts',
      'tax',
      'gateways',
      'pricing',
      'customers',
    ],
    'test-clock': [],
    search: ['subscriptions', 'invoices', 'customers'],
    tasks: ['subscriptions', 'collection', 'invoices', 'usage', 'discounts', 'credits', 'customers'],
    portal: ['subscriptions', 'documents', 'collection', 'invoices', 'usage', 'credits', 'gateways', 'customers'],
    migrations: [],
  },
};

/** Imports against the table of rooms. `domain` is a room for all: shared pure rules. */
function wrongArrows(of: readonly Source[]): string[] {
  return of.flatMap(source =>
    importsOf(source).flatMap(to => {
      const src = Object.keys(rooms).find(folder => source.file.startsWith(`${folder}/`));
      if (src === undefined || !to.startsWith(`${src}/`)) return [];
      const [from, target] = [source.file, to].map(file => file.slice(src.length + 1).split('/'));
      const [room = '', into = ''] = [from?.[0], target?.[0]];
      const allowed = rooms[src]?.[room];
      if (allowed === undefined || rooms[src]?.[into] === undefined || room === into) return [];
      return allowed.includes(into) ? [] : [`${source.file} imports ${to}`];
    }),
  );
}

/** Folders of the src folders above that are not in the table. */
function unlisted(of: readonly Source[]): string[] {
  const folders = Object.entries(rooms).flatMap(([src, listed]) =>
    of
      .filter(({ file }) => file.startsWith(`${src}/`))
      .map(({ file }) => file.slice(src.length + 1).split('/'))
      .filter(
        ([room = '', ...rest]) => rest.length > 0 && !(room in listed || room === 'domain' || room === 'migrations'),
      )
      .map(([room]) => `${src}/${room}`),
  );
  return [...new Set(folders)];
}

/** Wings whose rows are locked and written together: their tables are those of the first one. */
const sameBooks = ['invoices', 'refunds', 'collection'];
const isOfBooks = (wing: string, of: string) => of === sameBooks[0] && sameBooks.includes(wing);
const wingOf = (file: string) => /^apps\/(?:catalog|billing)\/src\/([\w-]+)\//.exec(file)?.[1];

/**
 * Imports of a wing's tables from another wing: verbs are the way to another wing's rows. In catalog a wing may import
 * the type of a row.
 */
function foreignTables(of: readonly Source[]): string[] {
  return of.flatMap(source => {
    const wing = wingOf(source.file);
    if (wing === undefined || wing === 'migrations') return [];
    const isType = (to: string) =>
      source.file.startsWith('apps/catalog/') &&
      new RegExp(`import type [^;]*${to.split('/').slice(-2).join('/').replace('.ts', '')}`).test(source.text);
    return importsOf(source)
      .filter(to => /\/(\w+-)?tables\.ts$/.test(to))
      .filter(to => ![undefined, wing].includes(wingOf(to)) && !isOfBooks(wing, wingOf(to) ?? ''))
      .filter(to => !isType(to))
      .map(to => `${source.file} imports ${to}`);
  });
}

/** Statements on a table of another wing, by its name in SQL text. */
function foreignStatements(of: readonly Source[]): string[] {
  const app = (file: string) => file.split('/')[1];
  const owners = new Map(
    of.flatMap(({ file, text }) =>
      [...text.matchAll(/\btable<[^(]*\('(\w+)'/g)].map(([, name]) => [`${app(file)} ${name}`, wingOf(file) ?? '']),
    ),
  );
  return of.flatMap(({ file, text }) => {
    const wing = wingOf(file);
    if (wing === undefined || wing === 'migrations') return [];
    return [...text.matchAll(/\b(?:from|join|into|update)\s+([a-z_]+)/g)]
      .map(([, name = '']) => ({ name, owner: owners.get(`${app(file)} ${name}`) }))
      .filter(({ owner }) => owner !== undefined && owner !== wing && !isOfBooks(wing, owner))
      .map(({ name }) => `${file} names ${name}`);
  });
}

/** Kernel imports no contracts, contracts no platform. */
function upwardLibs(of: readonly Source[]): string[] {
  const above: Record<string, RegExp> = {
    'libs/kernel/': /from '@recur\//,
    'libs/contracts/': /from '@recur\/(?!kernel')/,
    'libs/platform/': /from '@recur\/(?!kernel'|contracts')/,
    'libs/client/': /from '@recur\/(?!contracts')/,
  };
  return of
    .filter(({ file, text }) =>
      Object.entries(above).some(([lib, pattern]) => file.startsWith(lib) && pattern.test(text)),
    )
    .map(({ file }) => `${file} imports a lib above it`);
}

/** Files of apps that their main file does not lead to: only tests call what they hold. */
function unreached(of: readonly Source[]): string[] {
  const texts = new Map(of.map(source => [source.file, source]));
  const reached = new Set<string>();
  const visit = (file: string): void => {
    const source = texts.get(file);
    if (source === undefined || reached.has(file)) return;
    reached.add(file);
    for (const to of [...importsOf(source), ...workersOf(source)])
      for (const each of [to, to.replace(/\.ts$/, '.tsx')]) visit(each);
  };
  for (const file of texts.keys()) if (/^apps\/\w+\/src\/main\.tsx?$/.test(file)) visit(file);
  return [...texts.keys()].filter(file => !reached.has(file));
}

it('no files import each other in a circle', () => {
  const planted = [
    { file: 'apps/x/src/a.ts', text: "import { b } from './b.js';" },
    { file: 'apps/x/src/b.ts', text: "export { a } from './a.js';" },
  ];
  expect(circles(planted)).toEqual(['apps/x/src/a.ts → apps/x/src/b.ts → apps/x/src/a.ts']);
  expect(circles(all)).toEqual([]);
});

it('no wing or room is imported by one below it', () => {
  const planted = [
    { file: 'apps/catalog/src/products/x.ts', text: "import { plans } from '../plans/tables.js';" },
    { file: 'libs/platform/src/store/x.ts', text: "import { Bus } from '../bus/bus.js';" },
    { file: 'apps/billing/src/pricing/x.ts', text: "import { invoiceView } from '../invoices/views.js';" },
    { file: 'apps/billing/src/gateways/x.ts', text: "import type { I } from '../invoices/domain/invoice.js';" },
  ];
  expect(wrongArrows(planted)).toEqual([
    'apps/catalog/src/products/x.ts imports apps/catalog/src/plans/tables.ts',
    'libs/platform/src/store/x.ts imports libs/platform/src/bus/bus.ts',
    'apps/billing/src/pricing/x.ts imports apps/billing/src/invoices/views.ts',
    'apps/billing/src/gateways/x.ts imports apps/billing/src/invoices/domain/invoice.ts',
  ]);
  expect(wrongArrows(all)).toEqual([]);
});

it('no rooms of a wing import each other in a circle', () => {
  const planted = [
    { file: 'apps/x/src/wing/a.ts', text: "import { b } from './b/c.js';" },
    { file: 'apps/x/src/wing/b/c.ts', text: "import { d } from './d.js';" },
    { file: 'apps/x/src/wing/b/d.ts', text: "import { a } from '../a.js';" },
  ];
  expect(innerCircles(planted)).toEqual(['apps/x/src/wing/a → apps/x/src/wing/b → apps/x/src/wing/a']);
  expect(innerCircles(all)).toEqual([]);
});

it('every wing and room is in the table', () => {
  expect(unlisted([{ file: 'apps/billing/src/unknown/x.ts', text: '' }])).toEqual(['apps/billing/src/unknown']);
  expect(unlisted(all)).toEqual([]);
});

it('a wing imports the verbs of another, never its tables', () => {
  const planted = [
    { file: 'apps/catalog/src/plans/x.ts', text: "import { metrics } from '../metrics/tables.js';" },
    { file: 'apps/billing/src/invoices/x.ts', text: "import type { Gateway } from '../gateways/tables.js';" },
  ];
  expect(foreignTables(planted)).toEqual([
    'apps/catalog/src/plans/x.ts imports apps/catalog/src/metrics/tables.ts',
    'apps/billing/src/invoices/x.ts imports apps/billing/src/gateways/tables.ts',
  ]);
  expect(foreignTables(all)).toEqual([]);
});

it('no statement is on a table of another wing', () => {
  const planted = [
    { file: 'apps/billing/src/gateways/tables.ts', text: "export const gateways = table<Gateway>('gateways', {});" },
    { file: 'apps/billing/src/credits/x.ts', text: "'select 1 from gateways where merchant_id = $1'" },
  ];
  expect(foreignStatements(planted)).toEqual(['apps/billing/src/credits/x.ts names gateways']);
  expect(foreignStatements(all)).toEqual([]);
});

it('no lib imports one above it', () => {
  const planted = { file: 'libs/kernel/src/x.ts', text: "import { errors } from '@recur/contracts';" };
  expect(upwardLibs([planted])).toEqual(['libs/kernel/src/x.ts imports a lib above it']);
  expect(upwardLibs(srcFolders.flatMap(folder => sources(folder)))).toEqual([]);
});

it('every file of an app is reached from its main file', () => {
  const planted = [
    {
      file: 'apps/x/src/main.ts',
      text: "import { a } from './a.js'; const worker = new URL('./w.js', import.meta.url);",
    },
    { file: 'apps/x/src/a.ts', text: '' },
    { file: 'apps/x/src/w.ts', text: '' },
    { file: 'apps/x/src/b.ts', text: "import { a } from './a.js';" },
  ];
  expect(unreached(planted)).toEqual(['apps/x/src/b.ts']);
  expect(unreached([...sources('apps'), ...sources('apps', '.tsx')].filter(isSource))).toEqual([]);
});

const isSource = ({ file }: Source) => /^apps\/\w+\/src\//.test(file);

/** Folders of tools that are compiled, but whose change would not make a build run again. */
function unwatched(folders: readonly string[]): string[] {
  const read = (file: string) => JSON.parse(readFileSync(path.join(checkoutRoot(), file), 'utf8'));
  const inputs: readonly string[] = read('turbo.json').tasks.build.inputs;
  return [...read('tools/tsconfig.json').include, ...folders].filter(folder => !inputs.includes(`${folder}/**`));
}

it('every folder of tools that is compiled is an input of the build', () => {
  expect(unwatched(['planted'])).toEqual(['planted']);
  expect(unwatched([])).toEqual([]);
});

/** Tables of copies that read a view as it was kept: fields that it has got since would be missing. */
const asKept = (of: readonly Source[]): string[] =>
  of.flatMap(({ file, text }) =>
    [...text.matchAll(/table<\w+>\('(\w+_copies)'.*?^\}\);/gms)]
      .filter(([declared]) => /\b(document|optionalDocument)\b/.test(declared))
      .map(([, name]) => `${file}: ${name}`),
  );

it('a copy is read with every field that its shape has now', () => {
  const planted =
    "export const plans = table<PlanCopy>('plan_copies', {\n  columns: { data: document<Plan>() },\n});\n";
  expect(asKept([{ file: 'x.ts', text: planted }])).toEqual(['x.ts: plan_copies']);
  expect(asKept(srcFolders.flatMap(folder => sources(folder)))).toEqual([]);
});
