import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  type ErrorKind,
  errors,
  events,
  newRole,
  operations,
  updateEndpoint,
  webhookEventNames,
} from '@recur/contracts';
import { bodyOf } from '../../apps/notification/src/deliveries/fan-out.js';
import { apiReference, withTables } from '../docs/apiReference.js';
import { examples } from '../docs/examples.js';
import { inputTable } from '../docs/fields.js';
import { formatted } from '../docs/formatted.js';
import { packed } from '../docs/packed.js';
import { statusPage } from '../docs/statuses.js';
import { checkoutRoot } from '../local/home.js';
import { sources } from './sources.js';

const root = checkoutRoot();
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const apps = readdirSync(path.join(root, 'apps'));
const inDocs = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.md'))
  .map(file => `docs/${file}`);
const pages = [
  'README.md',
  'CHANGELOG.md',
  ...inDocs,
  'libs/client/README.md',
  'libs/contracts/README.md',
  'libs/kernel/README.md',
].concat(apps.map(app => `apps/${app}/README.md`));

describe('docs/api-reference.md', () => {
  it('is what the contracts say: after a change, run the two commands of docs/api.md', () => {
    const committed = read('docs/api-reference.md');
    const made = (page: string) => formatted(page, 'docs/api-reference.md');
    expect(made(apiReference(operations.slice(1))) === committed).toBe(false);
    expect(committed).toBe(made(apiReference()));
  });

  it('names the words that a field takes; of events their list does', () => {
    expect(inputTable(newRole)).toContain('"billable-metric" or "discount-code"');
    expect(inputTable(newRole)).not.toContain('event name');
    expect(inputTable(updateEndpoint)).toContain('[event name](#event-names)');
  });

  it('shows bodies of the shape that is sent', () => {
    for (const { body } of examples) {
      const { type, merchantId, sequence: version, data } = body;
      const { data: shape } = events[type as keyof typeof events];
      expect(shape.safeParse({ ...data, merchantId: 'planted' }).success).toBe(false);
      expect(shape.parse(data)).toEqual(data);
      const event = {
        id: '',
        type,
        merchantId,
        aggregate: '',
        aggregateId: '',
        version,
        requestId: '',
        traceparent: '',
      };
      const actor = { kind: 'system', id: '', display: '' } as const;
      const sent = bodyOf({ ...event, actor, at: Date.parse(body.timestamp) / 1000, data });
      expect(JSON.parse(packed(body))).toEqual(JSON.parse(sent));
      expect(Object.keys(body)).toEqual(Object.keys(JSON.parse(sent)));
    }
  });

  it('lists no event that nothing emits', () => {
    const sources = apps.flatMap(app =>
      readdirSync(path.join(root, 'apps', app, 'src'), { recursive: true, encoding: 'utf8' })
        .filter(file => file.endsWith('.ts'))
        .map(file => read(`apps/${app}/src/${file}`)),
    );
    // the name is an argument of step or emit: after the aggregate and its state, or first
    const emitted = sources.flatMap(text =>
      [...text.matchAll(/\.(?:step|emit)\(([^;]*)/g)].flatMap(([, args = '']) =>
        [...args.matchAll(/['`]([a-z]\w*\.[\w.]*)/g)].map(([, name = '']) => name),
      ),
    );
    expect(emitted).toContain('invoice.paid');
    // the two of an endpoint are one emit, whose name ends in a variable
    const isEmitted = (name: string) => emitted.includes(name) || emitted.includes(name.replace(/\w+$/, ''));
    expect(webhookEventNames.filter(name => !isEmitted(name))).toEqual([]);
  });
});

/** The codes of api.md's table with their statuses: `51 400`. */
const codesIn = (page: string) =>
  [...page.matchAll(/^\| (\d\d) +\| ((?:\d+, )*\d+(?: or \d+)?) +\|/gm)].flatMap(([, code, statuses = '']) =>
    statuses.split(/, | or /).map(status => `${code} ${status}`),
  );

/** The words that a `main.js` takes: those of every service, and each one's own. */
const words = [
  ...[...read('libs/platform/src/service/service.ts').matchAll(/word === '(\w+)'/g)].map(([, word = '']) => word),
  ...apps
    .map(app => `apps/${app}/src/service.ts`)
    .filter(file => existsSync(path.join(root, file)))
    .flatMap(file => /\bcommands: \{ ([\w, ]+) \}/.exec(read(file))?.[1]?.split(', ') ?? []),
];

/** Names in a page of things that are not there: files, links and their headings, commands, quoted code. */
function broken(file: string, text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  const near = (target: string) =>
    [root, path.join(root, path.dirname(file))].some(at => existsSync(path.join(at, target)));
  const files = [...prose.matchAll(/`((?:apps|libs|tools|docs|deploy|src|test|\.ci)\/[\w./-]+)`/g)].map(
    ([, name = '']) => name,
  );
  const links = [...prose.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => link);
  const commands = [...text.matchAll(/npm (?:run )?(start|test|(?<=run )[a-z][a-z-]*)/g)].map(([, name = '']) => name);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const ofApps = [...text.matchAll(/dist\/main\.js (\w+)/g)].map(([, name = '']) => name);
  const quoted = [...text.matchAll(/^```ts (\S+)\n([\s\S]*?)^```/gm)];
  return [
    ...files.filter(name => !near(name)),
    ...links.filter(link => !leads(file, text, link)),
    ...commands.filter(name => !(name in scripts)),
    ...ofApps.filter(name => !words.includes(name)),
    ...quoted.flatMap(([, source = '', code = '']) =>
      code.split('\n').filter(line => !(existsSync(path.join(root, source)) && read(source).includes(line.trim()))),
    ),
  ];
}

const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function leads(file: string, text: string, link: string): boolean {
  const [target = '', anchor] = link.split('#');
  const page = target === '' ? file : path.join(path.dirname(file), target);
  if (!existsSync(path.join(root, page))) return false;
  const headings = [...(target === '' ? text : read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    slug(heading),
  );
  return anchor === undefined || headings.filter(heading => heading === anchor).length === 1;
}

describe('what people read', () => {
  it('has the codes of the error registry', () => {
    const registered = Object.values<ErrorKind>(errors).map(({ code, http }) => `${code} ${http}`);
    expect(codesIn('| 51 | 400, 413 or 415 | x |')).toEqual(['51 400', '51 413', '51 415']);
    expect(codesIn(read('docs/api.md')).sort()).toEqual([...new Set(registered)].sort());
  });

  it('names files, headings, commands and code that exist', () => {
    const planted =
      '`tools/nowhere.ts` [x](nowhere.md) [y](#nowhere) npm run nowhere node dist/main.js eat\n```ts package.json\nnowhere\n```\n';
    expect(broken('README.md', planted)).toEqual([
      'tools/nowhere.ts',
      'nowhere.md',
      '#nowhere',
      'nowhere',
      'eat',
      'nowhere',
    ]);
    expect(pages.flatMap(page => broken(page, read(page)).map(what => `${page}: ${what}`))).toEqual([]);
  });
});

/** Folders that a README explains: first in a line of its map or of its table, with a slash. */
const explained = (readme: string) =>
  [...readme.matchAll(/^(?:\| `(?:apps\/\w+\/src\/)?)?([a-z-]+)\/(?: |`)/gm)].map(([, folder = '']) => folder);

/** Sources that open a connection to the outside; the client itself, and a writer of files, do not. */
const opens = /new (?:Outbound|Stripe|OTLPTraceExporter)\(|createTransport\(\{$/m;

describe('what pages list', () => {
  it('are the apps, and the wings of each', () => {
    const rows = (page: string) => [...page.matchAll(/^\| (\w+) +\|[^\n]*README\.md\)/gm)].map(([, name = '']) => name);
    expect(rows(read('docs/architecture.md')).sort()).toEqual(apps.toSorted());
    expect(explained('| `a/` | x |\n| `apps/x/src/b/` | x |\nc-d/  x\n  sub/ x\nsrc/ in x')).toEqual([
      'a',
      'b',
      'c-d',
      'src',
    ]);
    for (const app of apps) {
      const wings = readdirSync(path.join(root, 'apps', app, 'src'), { withFileTypes: true })
        .filter(entry => entry.isDirectory())
        .map(({ name }) => name);
      const named = explained(read(`apps/${app}/README.md`)).filter(name => name !== 'src');
      expect({ app, wings: named.toSorted() }).toEqual({ app, wings: wings.toSorted() });
    }
  });

  it('are files that exist', () => {
    const named = (page: string) =>
      [...page.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.tsx?)`/g)].map(
        ([, file = '']) => file,
      );
    const all = ['libs', 'apps', 'tools'].flatMap(folder => sources(folder)).map(({ file }) => file);
    const isThere = (file: string) => existsSync(path.join(root, file)) || all.some(one => one.endsWith(`/${file}`));
    const missing = (page: string, text: string) =>
      named(text).flatMap(file => (isThere(file) ? [] : [`${page}: ${file}`]));
    expect(missing('apps/billing/README.md', '`pricing/price.ts`, `pricing/eaten.ts`')).toEqual([
      'apps/billing/README.md: pricing/eaten.ts',
    ]);
    expect(pages.flatMap(page => missing(page, read(page)))).toEqual([]);
  });

  it('are all connections to the outside', () => {
    const table = read('docs/security.md');
    const sources = ['libs/platform', ...apps.map(app => `apps/${app}`)].flatMap(folder =>
      readdirSync(path.join(root, folder, 'src'), { recursive: true, encoding: 'utf8' })
        .filter(file => file.endsWith('.ts'))
        .map(file => `${folder}/src/${file}`),
    );
    const opening = sources.filter(file => opens.test(read(file)));
    expect(opens.test('const server = createTransport({\n')).toBe(true);
    const named = [...table.matchAll(/^\|.*\| `((?:apps|libs)\/[\w./-]+)` +\|$/gm)].map(([, file = '']) => file);
    expect(named.toSorted()).toEqual(opening.toSorted());
  });

  it('are the webhook events, both ways', () => {
    const named = [...read('docs/api.md').matchAll(/^\| `([a-z_.]+)` +\|/gm)].map(([, name = '']) => name);
    const events = named.filter(name => /^(subscription|user|invoice|payment|refund|webhook)\./.test(name));
    expect(events).toEqual(webhookEventNames);
    expect(read('docs/api.md')).toBe(formatted(withTables(read('docs/api.md')), 'docs/api.md'));
  });

  it('name operations that exist', () => {
    const paths = new Set(operations.map(({ path: at }) => at.replace(/^\/merchant\/|^\//, '')));
    const groups = new Set([...paths].map(at => at.split('/')[0]));
    const named = (page: string) =>
      [...page.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`\/?(?:merchant\/)?([a-z_]+(?:\/[a-zA-Z_]+)+)[`?]/g)]
        .map(([, at = '']) => at)
        .filter(at => groups.has(at.split('/')[0]));
    expect(named('`metric/event/list` and `GET /merchant/x/y`, `/merchant/plan/eat?x`')).toEqual([
      'metric/event/list',
      'plan/eat',
    ]);
    // those of the hosted pages are named without their first word where they alone are meant
    const isThere = (at: string, page: string) =>
      paths.has(page.includes('portal') ? `portal/${at}` : at) || paths.has(at);
    const unknown = pages.flatMap(page =>
      named(read(page)).flatMap(at => (isThere(at, page) ? [] : [`${page}: ${at}`])),
    );
    expect(unknown).toEqual([]);
  });

  it('are all statuses, with what they mean', () => {
    expect(read('docs/guides/statuses.md')).toBe(formatted(statusPage(), 'docs/guides/statuses.md'));
    const source = read('tools/docs/statuses.ts');
    const names = [...read('libs/contracts/src/codes.ts').matchAll(/^export const (\w+Status)\b/gm)].map(
      ([, name]) => name,
    );
    // not in a field `status`: explained where they stand
    const elsewhere = ['sendStatus', 'authorizeStatus', 'chargeStatus'];
    expect(names.filter(name => !source.includes(`, ${name}, {`)).toSorted()).toEqual(elsewhere.toSorted());
  });

  it('are the commands of package.json, each once', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const table = read('README.md').split('## Commands')[1]?.split('\n## ')[0] ?? '';
    const named = [...table.matchAll(/^\| (.+?) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`npm (?:run )?([a-z-]+)(?: --[^`]*)?`/g)].map(([, name = '']) => name),
    );
    expect(named.toSorted()).toEqual(Object.keys(scripts).toSorted());
  });
});
