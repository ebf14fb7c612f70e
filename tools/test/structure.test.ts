import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';
import { importsOf, type Source, sources, srcFolders, workersOf } from './sources.js';

const all = [...srcFolders, 'tools'].flatMap(folder => sources(folder));

/** Files that import each other in a circle, each circle once. */
function circles(of: readonly Source[]): string[] {
  const arrows = new Map(of.map(source => [source.file, importsOf(source)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, above: readonly string[]): void => {
    const at = above.indexOf(file);
    if (at >= 0) found.push([...above.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const next of arrows.get(file) ?? []) visit(next, [...above, file]);
    done.add(file);
  };
  for (const file of arrows.keys()) visit(file, []);
  return found;
}

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
    language: [],
    credits: ['pricing', 'customers'],
    discounts: ['pricing', 'customers'],
    tax: ['pricing', 'customers'],
    mail: ['language'],
    usage: ['pricing', 'customers'],
    invoicing: ['credits', 'discounts', 'tax', 'usage', 'pricing', 'gateways', 'customers'],
    subscriptions: ['invoicing', 'usage', 'discounts', 'credits', 'tax', 'gateways', 'pricing', 'customers', 'mail'],
    documents: ['invoicing', 'gateways', 'mail', 'pricing', 'language'],
    'test-clock': ['invoicing'],
    search: ['subscriptions', 'invoicing', 'customers'],
    tasks: ['subscriptions', 'invoicing', 'usage', 'discounts', 'credits', 'customers'],
    portal: ['subscriptions', 'documents', 'invoicing', 'usage', 'credits', 'gateways', 'customers'],
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

/**
 * Imports of a wing's tables from another wing: verbs are the way to another wing's rows. In catalog a wing may import
 * the type of a row.
 */
function foreignTables(of: readonly Source[]): string[] {
  return of.flatMap(source => {
    const wing = /^apps\/(?:catalog|billing)\/src\/([\w-]+)\//.exec(source.file)?.[1];
    if (wing === undefined || wing === 'migrations') return [];
    const isType = (to: string) =>
      source.file.startsWith('apps/catalog/') &&
      new RegExp(`import type [^;]*${to.split('/').slice(-2).join('/').replace('.ts', '')}`).test(source.text);
    return importsOf(source)
      .filter(to => new RegExp(`^apps/[\\w-]+/src/(?!${wing}/)[\\w-]+/tables\\.ts$`).test(to))
      .filter(to => !isType(to))
      .map(to => `${source.file} imports ${to}`);
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
    { file: 'apps/billing/src/pricing/x.ts', text: "import { invoiceView } from '../invoicing/views.js';" },
    { file: 'apps/billing/src/gateways/x.ts', text: "import type { I } from '../invoicing/domain/invoice.js';" },
  ];
  expect(wrongArrows(planted)).toEqual([
    'apps/catalog/src/products/x.ts imports apps/catalog/src/plans/tables.ts',
    'libs/platform/src/store/x.ts imports libs/platform/src/bus/bus.ts',
    'apps/billing/src/pricing/x.ts imports apps/billing/src/invoicing/views.ts',
    'apps/billing/src/gateways/x.ts imports apps/billing/src/invoicing/domain/invoice.ts',
  ]);
  expect(wrongArrows(all)).toEqual([]);
});

it('every wing and room is in the table', () => {
  expect(unlisted([{ file: 'apps/billing/src/unknown/x.ts', text: '' }])).toEqual(['apps/billing/src/unknown']);
  expect(unlisted(all)).toEqual([]);
});

it('a wing imports the verbs of another, never its tables', () => {
  const planted = [
    { file: 'apps/catalog/src/plans/x.ts', text: "import { metrics } from '../metrics/tables.js';" },
    { file: 'apps/billing/src/invoicing/x.ts', text: "import type { Gateway } from '../gateways/tables.js';" },
  ];
  expect(foreignTables(planted)).toEqual([
    'apps/catalog/src/plans/x.ts imports apps/catalog/src/metrics/tables.ts',
    'apps/billing/src/invoicing/x.ts imports apps/billing/src/gateways/tables.ts',
  ]);
  expect(foreignTables(all)).toEqual([]);
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
