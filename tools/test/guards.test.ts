import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as contracts from '@recur/contracts';
import { commonErrors, errors, internalOperations } from '@recur/contracts';
import { checkoutRoot } from '../local/home.js';
import { type Source, sources } from './sources.js';

const root = checkoutRoot();
const apps = readdirSync(path.join(root, 'apps'));
const appSources = apps.flatMap(app => sources(`apps/${app}/src`));
const allSources = [...sources('apps'), ...sources('libs'), ...sources('tools')];
const testSources = allSources.filter(({ file }) => file.includes('/test/'));

/** A guard reads the sources and says what is wrong, one sentence each; `planted` is a violation it must catch. */
interface Guard {
  over: readonly Source[];
  find(source: Source): string[];
  planted: Source;
}

/** The declared tables that are no infrastructure. */
const tenantTables = new Set(
  appSources.flatMap(({ text }) =>
    [...text.matchAll(/\btable<[^(]*\('(\w+)', \{.*?^\}\)/gms)]
      .filter(([declared]) => !declared.includes('infrastructure: true'))
      .map(([, name = '']) => name),
  ),
);

const businessWords =
  /\b(invoices?|payments?|plans?|products?|subscriptions?|credits?|discounts?|refunds?|webhooks?|checkouts?|gateways?)\b/gi;
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

/** True for an internal operation of this name, which the contract has this service ask. */
function isAskedBy(name: string, app: string): boolean {
  const operation = Object.entries<unknown>(contracts).find(([exported]) => exported === name)?.[1];
  return internalOperations.some(each => each === operation && each.askedBy?.some(service => service === app));
}

/** True for the files that list what Nest makes: a service, or a wing of one. */
const isListing = ({ file }: Source) => /\/(?:service|wing)\.ts$/.test(file);
const classNames = (text = '') => text.match(/\b[A-Z]\w*/g) ?? [];

/** The classes of a list of a service or wing, without those that a factory or another class stands for. */
const listedIn = ({ text }: Source, list: 'controllers' | 'providers'): readonly string[] =>
  classNames(
    new RegExp(`^  ${list}: \\[(.*?)\\],\\n(?=  \\w|\\})`, 'ms')
      .exec(text)?.[1]
      ?.replace(/\{ provide.*?\}(?=,?\n|,? [A-Z{]|$)|\{\n +provide:.*?\n {4}\}/gs, ''),
  );

/** Classes that a service, a wing or a module of Nest names. */
const listed = new Set(
  appSources
    .filter(({ text }) => /^ +(?:controllers|providers|provide): /m.test(text))
    .flatMap(({ text }) => classNames(text)),
);

/** Classes that constructors, factories and lists of work name. */
const askedFor = new Set(
  appSources.flatMap(({ text }) => [
    ...[...text.matchAll(/^ {2}constructor\((.*?)\) \{/gms)].flatMap(([, parameters]) => classNames(parameters)),
    ...[...text.matchAll(/\b(?:get|of|via)\((\w+)|inject: \[([^\]]*)\]|use(?:Existing|Class): (\w+)/g)].flatMap(found =>
      classNames(found.slice(1).join(' ')),
    ),
  ]),
);

/** Names that files import from files of apps, as "file name"; "file *" for all of them. */
const imported = new Set(
  allSources.flatMap(({ file, text }) =>
    [
      ...text.matchAll(
        /(?:import|export) (?:type )?(?:\{([^}]*)\}|\*(?: as \w+)?) from '(\.[^']+)'|import\('(\.[^']+)'\)/g,
      ),
    ].flatMap(([, names, from = '', loaded = '']) => {
      const to = path.join(path.dirname(file), from || loaded).replace(/\.js$/, '.ts');
      const each = names?.split(',').map(
        name =>
          name
            .trim()
            .replace(/^type /, '')
            .split(' as ')[0],
      );
      return (each ?? ['*']).map(name => `${to} ${name}`);
    }),
  ),
);

/** A code that is written as a number; the statuses of HTTP have three digits. */
const codeByNumber =
  /\b(?:status|bizType|billingType|discountType|userScope|planApplyType|chargeType|chargeStatus|rechargeStatus): (?:[1-9]|[1-5]0)\b/g;

const guards: Record<string, Guard> = {
  'the platform holds no business word': {
    over: sources('libs/platform/src'),
    find: ({ file, text }) =>
      // the plans of a database are none of ours
      [...withoutComments(text).replace("'discard plans'", '').matchAll(businessWords)].map(
        ([word]) => `${file}: ${word}`,
      ),
    planted: { file: 'x.ts', text: 'const invoice = 1;' },
  },
  'an app imports no other app': {
    over: appSources,
    find: ({ file, text }) =>
      [
        ...text.matchAll(
          /from '((?:@recur\/|(?:\.\.\/)+)(?:apps\/)?(?:gateway|identity|catalog|billing|notification)\b[^']*)'/g,
        ),
      ].map(([, from]) => `${file} imports ${from}`),
    planted: { file: 'apps/billing/src/x.ts', text: "import { plans } from '../../catalog/src/tables.js';" },
  },
  'only the gateway asks others over the bus: a service has copies, and questions': {
    over: appSources.filter(({ file }) => !file.startsWith('apps/gateway/')),
    find: ({ file, text }) =>
      /\bbus\.request\(|\bnc\.request\(|import \{[^}]*\b(ask|NatsClient)\b[^}]*\} from '@recur\/platform'/.test(text)
        ? [`${file} sends a request`]
        : [],
    planted: { file: 'apps/billing/src/x.ts', text: 'await this.bus.request(subject, payload, caller)' },
  },
  'a service asks another one only what the contract says that it asks': {
    over: appSources.filter(({ file }) => !file.startsWith('apps/gateway/')),
    find: ({ file, text }) => {
      const [, app = ''] = file.split('/');
      const asked = [...text.matchAll(/\bquestions\.ask\(\s*(\w+)/g)].map(([, name = '']) => name);
      return asked.filter(name => !isAskedBy(name, app)).map(name => `${file} asks ${name}`);
    },
    planted: { file: 'apps/catalog/src/x.ts', text: 'await this.questions.ask(usersByKey, { key, most }, caller)' },
  },
  'events leave through the outbox alone': {
    over: [...appSources, ...sources('libs/platform/src')].filter(
      ({ file }) => !/platform\/src\/(events\/relay|bus\/bus|bus\/reply-mux)\.ts$/.test(file),
    ),
    find: ({ file, text }) =>
      /\b(js|nc|bus|jetstream\([^)]*\))\s*\.publish\(/.test(text) ? [`${file} publishes`] : [],
    planted: {
      file: 'apps/billing/src/x.ts',
      text: "this.bus.publish([{ subject: 'evt.billing.invoice.paid', id, payload }])",
    },
  },
  'TypeORM and undici are loaded by who uses them: what serves imports their types alone': {
    over: [...appSources, ...sources('libs/platform/src')],
    find: ({ file, text }) => (/import (?!type\b)[^;]*from '(typeorm|undici)'/.test(text) ? [`${file} loads it`] : []),
    planted: { file: 'apps/billing/src/x.ts', text: "import { EntitySchema } from 'typeorm';" },
  },
  'the time comes from the clock': {
    over: [...appSources, ...sources('libs/platform/src')].filter(
      ({ file }) => !/platform\/src\/(runtime\/clock|testing)/.test(file),
    ),
    find: ({ file, text }) =>
      [...withoutComments(text).matchAll(/\bDate\.now\(\)|\bnew Date\(\)/g)].map(([word]) => `${file}: ${word}`),
    planted: { file: 'apps/billing/src/x.ts', text: 'const now = Date.now();' },
  },
  'money is never a float': {
    over: [...appSources, ...sources('libs')],
    find: ({ file, text }) =>
      [...withoutComments(text).matchAll(/\bparseFloat\(|\.toFixed\(|[^*]\* 100\b|\/ 100\b/g)].map(
        ([word]) => `${file}: ${word}`,
      ),
    planted: { file: 'apps/billing/src/x.ts', text: 'const cents = amount * 100;' },
  },
  'every error that is thrown is registered': {
    over: [...appSources, ...sources('libs/kernel/src'), ...sources('libs/platform/src')],
    find: ({ file, text }) =>
      [...text.matchAll(/new Rejected\(\s*'([^']+)'/g)]
        .filter(([, slug = '']) => !(slug in errors))
        .map(([, slug]) => `${file} throws ${slug}`),
    planted: { file: 'apps/billing/src/x.ts', text: "throw new Rejected('invoice_eaten')" },
  },
  'nothing is skipped, focused or left for later': {
    over: allSources.filter(({ file }) => !file.endsWith('guards.test.ts')),
    find: ({ file, text }) =>
      [...text.matchAll(/\b(?:it|test|describe)\.(?:skip|only|todo)\b|\bx(?:it|describe)\(|\bTODO\b|\bFIXME\b/g)].map(
        ([word]) => `${file}: ${word}`,
      ),
    planted: { file: 'apps/billing/test/x.test.ts', text: "it.skip('pays', () => {})" },
  },
  'types and rules are not switched off': {
    over: allSources.filter(({ file }) => !file.endsWith('guards.test.ts')),
    find: ({ file, text }) =>
      [...text.matchAll(/@ts-(?:ignore|nocheck|expect-error)|biome-ignore|eslint-disable|\bas any\b|: any\b/g)].map(
        ([word]) => `${file}: ${word}`,
      ),
    planted: { file: 'apps/billing/src/x.ts', text: 'const row = value as any;' },
  },
  'a migration uses nothing of the platform but what is frozen by version': {
    over: appSources.filter(({ file }) => file.includes('/migrations/')),
    find: ({ file, text }) =>
      [...text.matchAll(/import (?!type\b)\{([^}]*)\} from '@recur\/platform'/g)]
        .flatMap(([, names = '']) => names.split(','))
        .map(name => name.trim())
        // hydrate and Keyring read rows and secrets, and make no SQL
        .filter(name => name !== '' && !/^type |V\d+$|^(hydrate|Keyring)$/.test(name))
        .map(name => `${file} imports ${name}`),
    planted: { file: 'apps/billing/src/migrations/x.ts', text: "import { secureV1, secure } from '@recur/platform';" },
  },
  'a class is a controller or a provider, and not both: Nest would make two of it': {
    over: appSources.filter(isListing),
    find: source => {
      const providers = listedIn(source, 'providers');
      return listedIn(source, 'controllers')
        .filter(name => providers.includes(name))
        .map(name => `${source.file} lists ${name} twice`);
    },
    planted: {
      file: 'apps/billing/src/service.ts',
      text: '{\n  controllers: [A, B],\n  providers: [\n    C,\n    B,\n  ],\n}',
    },
  },
  'a class that Nest makes is listed by its service': {
    over: appSources,
    find: ({ file, text }) =>
      [...text.matchAll(/^@(?:Injectable|Controller)\(\)\nexport (?:abstract )?class (\w+)/gm)]
        .filter(([, name = '']) => !listed.has(name))
        .map(([, name]) => `${file} has ${name}, which is listed nowhere`),
    planted: { file: 'apps/billing/src/x.ts', text: '@Injectable()\nexport class Forgotten {' },
  },
  'a provider is asked for by another class, or has work to do: what nothing reaches is dead': {
    over: appSources.filter(isListing),
    find: source =>
      listedIn(source, 'providers')
        .filter(name => !askedFor.has(name))
        .map(name => `${source.file} lists ${name}, which nothing asks for`),
    planted: { file: 'apps/billing/src/x/wing.ts', text: '{\n  providers: [Forgotten],\n}' },
  },
  'a function or value that is exported is imported by another file': {
    // the pages of the portal are .tsx; classes of Nest are exported as they are listed
    over: appSources.filter(({ file }) => !/^apps\/portal\/|\/migrations\//.test(file)),
    find: ({ file, text }) =>
      [...text.matchAll(/^(@.*\n)?export (?:async )?(?:const|function|class) (\w+)/gm)]
        .filter(
          ([, decorator, name = '']) => !decorator && !imported.has(`${file} ${name}`) && !imported.has(`${file} *`),
        )
        .map(([, , name]) => `${file} exports ${name}, which no file imports`),
    planted: { file: 'apps/billing/src/x.ts', text: 'export const forgotten = 1;' },
  },
  "a handler that writes without a transaction is listed in its app's test/appends.test.ts": {
    over: appSources,
    find: ({ file, text }) => {
      const [, app = '', inside = ''] = /^apps\/(\w+)\/src\/(.+)$/.exec(file) ?? [];
      const listing = testSources.find(test => test.file === `apps/${app}/test/appends.test.ts`)?.text ?? '';
      return /\bdb\s*\.append\b/.test(text) && !listing.includes(inside) ? [`${file} appends`] : [];
    },
    planted: { file: 'apps/billing/src/x.ts', text: 'return this.db.append(caller, run);' },
  },
  'a statement on a tenant table names the merchant, so that it stays on one server where they are distributed': {
    over: appSources.filter(({ file }) => !file.includes('/migrations/')),
    find: ({ file, text }) =>
      [...withoutComments(text).matchAll(/`[^`]*`|'[^'\n]*'/g)]
        .filter(([sql]) => /\b(select|insert|update|delete)\b/.test(sql) && !sql.includes('merchant_id'))
        .flatMap(([sql]) => [...sql.matchAll(/\b(?:from|join|into|update)\s+([a-z_]+)/g)])
        .map(([, name = '']) => name)
        .filter(name => tenantTables.has(name))
        .map(name => `${file}: ${name}`),
    planted: { file: 'apps/billing/src/x.ts', text: "'update invoices set status = 2 where invoice_id = $1'" },
  },
  'the title of a test says what it shows in words, without a tag of a page that is not here': {
    over: testSources.filter(({ file }) => file.endsWith('.test.ts') && !file.endsWith('guards.test.ts')),
    find: ({ file, text }) =>
      [...text.matchAll(/\b(?:describe|it)\(\s*(['"`])(.*)\1/g)]
        .filter(([, , title = '']) => /\b[CDGMTU]\d{1,2}\b/.test(title))
        .map(([, , title]) => `${file}: ${title}`),
    planted: { file: 'apps/billing/test/x.test.ts', text: "describe('M2 discount', () => {" },
  },
  'a test of billing calls the codes of the API by their names': {
    over: testSources.filter(({ file }) => file.startsWith('apps/billing/')),
    find: ({ file, text }) => [...text.matchAll(codeByNumber)].map(([code]) => `${file}: ${code}`),
    planted: { file: 'apps/billing/test/x.test.ts', text: 'expect(invoice).toMatchObject({ status: 3 });' },
  },
  'no test waits for a state of the network that a page with frames may never have again': {
    over: testSources.filter(({ file }) => !file.endsWith('guards.test.ts')),
    find: ({ file, text }) => (text.includes("'networkidle'") ? [`${file}: networkidle, where isQuiet tells`] : []),
    planted: { file: 'tools/journeys/test/x.ts', text: "await page.waitForLoadState('networkidle');" },
  },
  'a file is one idea': {
    over: allSources,
    find: ({ file, text }) => (text.split('\n').length > 500 ? [`${file} has more than 500 lines`] : []),
    planted: { file: 'apps/billing/src/x.ts', text: '\n'.repeat(501) },
  },
};

describe('guards', () => {
  it.each(Object.entries(guards))('%s', (_, { over, find, planted }) => {
    expect(find(planted)).not.toEqual([]);
    expect(over.length).toBeGreaterThan(0);
    expect(over.flatMap(find)).toEqual([]);
  });

  // errors of operations and events are compared with what tests provoked: tools/suite/provoked.ts
  it('every error that any operation can answer is named by a test', () => {
    const tested = testSources
      .filter(({ file }) => !file.endsWith('guards.test.ts'))
      .map(({ text }) => text)
      .join('\n');
    const untested = (slugs: readonly string[]) => slugs.filter(slug => !tested.includes(`'${slug}'`));
    expect(untested(['invoice_eaten'])).toEqual(['invoice_eaten']);
    expect(untested(commonErrors)).toEqual([]);
  });
});
