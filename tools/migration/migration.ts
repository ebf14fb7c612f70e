import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as platform from '@recur/platform';
import { migrate, type Schema, schemaDifference } from '@recur/platform/testing';
import { Failure } from '../local/failure.js';
import { checkoutRoot, type Home } from '../local/home.js';
import { choosePorts } from '../local/ports.js';
import { startPostgres } from '../local/postgres.js';
import { say } from '../local/progress.js';
import { databaseUrl, readSettings, type Service, services } from '../local/settings.js';
import { openTemporaryHome, removeHome } from '../local/temporary.js';
import { type NewMigration, writeMigration } from './file.js';

const usage = `npm run migration -- generate <${services.join('|')}> <name>, with a name such as plan-colors`;

interface Definition {
  name: Service;
  schema: Schema;
}

/**
 * `npm run migration -- generate <service> <name>`: writes a migration with the difference between the declared tables of
 * a service and a database with its existing migrations.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { service, name } = named(args);
  const definition = await definitionOf(service);
  const sources = path.join(checkoutRoot(), 'apps', service, 'src');
  const made = await generate(definition, { sources, name, now: Date.now() });
  if (made === undefined) {
    say(`The declared tables of ${service} and its ${definition.schema.migrations.length} migrations agree.`);
    return 0;
  }
  say(`${path.relative(checkoutRoot(), made.file)} is written:\n`);
  for (const statement of made.statements) say(`  ${statement};`);
  say(
    made.registeredIn
      ? `\n${made.className} is registered in ${path.relative(checkoutRoot(), made.registeredIn)}.`
      : `\nAdd ${made.className} to the migrations of the service's schema.`,
  );
  say('Read it before it is committed: expand first, contract in a later version, and raise worksFrom if need be.');
  return 0;
}

/** Writes the migration, against a temporary PostgreSQL. Undefined when there is no difference. */
export async function generate(
  { name: service, schema }: Definition,
  where: { sources: string; name: string; now: number },
): Promise<NewMigration | undefined> {
  const statements = await withDatabase(service, async url => {
    await migrate(url, service, schema);
    return schemaDifference(url, schema);
  });
  if (statements.length === 0) return undefined;
  return writeMigration({ ...where, statements, schema, secure: newestSecure() });
}

/** The newest platform helper that gives a table its row-level security. */
function newestSecure(): string {
  const versions = Object.keys(platform).filter(key => /^secure(V\d+)?$/.test(key));
  const [newest = 'secure'] = versions.toSorted((a, b) => Number(b.slice(7)) - Number(a.slice(7)));
  return newest;
}

async function withDatabase<T>(service: Service, use: (ownerUrl: string) => Promise<T>): Promise<T> {
  const home: Home = await openTemporaryHome();
  try {
    const settings = readSettings(home);
    Object.assign(settings.ports, await choosePorts(['postgres'], settings.ports));
    await startPostgres(home, settings, true);
    return await use(databaseUrl(settings, `${service}_owner`, `recur_${service}`));
  } finally {
    await removeHome(home);
  }
}

function named(args: readonly string[]): { service: Service; name: string } {
  const [command, asked, name = '', ...more] = args;
  const service = services.find(known => known === asked);
  if (command !== 'generate' || service === undefined || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || more.length) {
    throw new Failure(`usage: ${usage}.`, 64);
  }
  return { service, name };
}

/** The service as it was built. */
async function definitionOf(service: Service): Promise<Definition> {
  const file = path.join(checkoutRoot(), 'apps', service, 'dist/service.js');
  const exported = (await import(pathToFileURL(file).href)) as Record<string, Definition>;
  const definition = exported[service];
  if (definition === undefined) throw new Error(`${file} exports no ${service}`);
  return definition;
}
