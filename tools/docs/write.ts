import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { services } from '@recur/contracts';
import type { ServiceDefinition } from '@recur/platform';
import { z } from 'zod';
import { checkoutRoot } from '../local/home.js';
import { apiReference, withTables } from './apiReference.js';
import { formatted } from './formatted.js';
import { natsUsers, withRights } from './natsRights.js';
import { withSettings } from './settings.js';
import { statusPage } from './statuses.js';

const root = checkoutRoot();
const write = (file: string, page: string) => writeFileSync(path.join(root, file), formatted(page, file));

/** The settings of an app as it was built: the one schema that its config exports. */
async function schemaOf(app: string): Promise<[app: string, schema: z.ZodType]> {
  const exported: object = await import(pathToFileURL(path.join(root, 'apps', app, 'dist/config.js')).href);
  const schema = Object.values(exported).find(value => value instanceof z.ZodType);
  if (schema === undefined) throw new Error(`apps/${app}/src/config.ts exports no schema`);
  return [app, schema];
}

/** A service's definition as it was built. */
async function definitionOf(service: string): Promise<ServiceDefinition> {
  const built = await import(pathToFileURL(path.join(root, 'apps', service, 'dist/service.js')).href);
  return built[service];
}

// the hosted pages are files: they have no settings
const apps = readdirSync(path.join(root, 'apps')).filter(app =>
  existsSync(path.join(root, 'apps', app, 'src/config.ts')),
);
const schemas = Object.fromEntries(await Promise.all(apps.map(schemaOf)));
const deployment = 'docs/deployment.md';
write('docs/api-reference.md', apiReference());
write('docs/guides/statuses.md', statusPage());
const api = 'docs/api.md';
write(api, withTables(readFileSync(path.join(root, api), 'utf8')));
write(deployment, withSettings(readFileSync(path.join(root, deployment), 'utf8'), schemas));
const definitions = await Promise.all(services.map(definitionOf));
const security = 'docs/security.md';
write(security, withRights(readFileSync(path.join(root, security), 'utf8'), definitions));
writeFileSync(path.join(root, 'deploy/nats-users.conf'), natsUsers(definitions));
