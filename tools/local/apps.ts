import path from 'node:path';
import type { Home } from './home.js';
import { natsUrl } from './nats.js';
import type { Part, Server } from './processes.js';
import { redisUrl } from './redis.js';
import { type App, databaseUrl, portOf, type Service, type Settings, services } from './settings.js';

/** Settings of the apps that a person may choose in the shell that starts the stack. */
export type ExtraEnv = NodeJS.ProcessEnv;

export const apps: readonly App[] = [...services, 'gateway'];

export function isApp(name: string): name is App {
  return apps.some(app => app === name);
}

export function baseUrl(settings: Settings): string {
  return `http://127.0.0.1:${portOf(settings, 'gateway')}`;
}

/** Where an app serves operators: /livez, /readyz and /metrics. */
export function opsUrlOf(settings: Settings, app: App): string {
  return `http://127.0.0.1:${opsPortOf(settings, app)}`;
}

const opsPortOf = (settings: Settings, app: App) => portOf(settings, app === 'gateway' ? 'gatewayOps' : app);

/**
 * As the image runs them. What is young has twice the room that it has by itself: most of what a command makes is gone
 * before it fills, and the less often it does, the less is copied that is gone a moment later. Half of that room it keeps
 * in quiet times. By itself the engine takes all but 1 MiB away, and the next commands grow old while it gives it back.
 */
export const roomForTheYoung = ['--min-semi-space-size=16', '--max-semi-space-size=32'];

/** A serving app; `extra` is set last, so that a test can name a crash point or another limit. */
export function appServer(home: Home, settings: Settings, app: App, extra: ExtraEnv = {}): Server {
  const part = appPart(home, app, [], { ...environment(home, settings, app), ...extra });
  return {
    ...part,
    args: [...roomForTheYoung, ...part.args],
    isReady: () => isReady(`${opsUrlOf(settings, app)}/readyz`),
    readyWithinMs: 60_000,
  };
}

/** The migrate step of a service; `extra` is set last. */
export function migration(home: Home, settings: Settings, service: Service, extra: ExtraEnv = {}): Part {
  const owner = {
    DATABASE_OWNER_URL: databaseUrl(settings, `${service}_owner`, `recur_${service}`),
    NATS_MIGRATOR_URL: natsUrl(settings, 'migrator'),
  };
  const part = appPart(home, service, ['migrate'], { ...environment(home, settings, service), ...owner, ...extra });
  return { ...part, name: `migrate-${service}` };
}

/** The command of identity that makes merchants and keeps their API keys; see its README. */
export function merchantCommand(home: Home, settings: Settings, words: readonly string[]): Part {
  return {
    ...appPart(home, 'identity', ['merchant', ...words], environment(home, settings, 'identity')),
    name: 'merchant',
  };
}

/** The command of catalog that takes over exchange rates from a file; see its README. */
export function ratesCommand(home: Home, settings: Settings, words: readonly string[]): Part {
  return { ...appPart(home, 'catalog', ['rates', ...words], environment(home, settings, 'catalog')), name: 'rates' };
}

/** The command of identity that tells whether the operation log is as it was written; see its README. */
export function logCommand(home: Home, settings: Settings, words: readonly string[]): Part {
  return { ...appPart(home, 'identity', ['log', ...words], environment(home, settings, 'identity')), name: 'log' };
}

/** Where the local stack's e-mails are: `npm run mails` shows them. */
export const mailFolder = (home: Home) => path.join(home.state, 'mail');

function appPart(home: Home, app: App, args: string[], env: NodeJS.ProcessEnv): Part {
  const main = mainOf(home, app);
  return { name: app, command: process.execPath, args: [main, ...args], env, cwd: path.resolve(main, '../..') };
}

/** The file that an app is started with. */
export function mainOf(home: Home, app: App): string {
  return path.join(home.root, 'apps', app, 'dist/main.js');
}

const sendsMails = (app: App) => app === 'billing' || app === 'identity';

function environment(home: Home, settings: Settings, app: App): NodeJS.ProcessEnv {
  return {
    ...inherited(),
    RECUR_ENV: 'sandbox',
    HOST: '127.0.0.1',
    OPS_PORT: String(opsPortOf(settings, app)),
    BASE_URL: baseUrl(settings),
    PORTAL_BASE: `${baseUrl(settings)}/portal`,
    NATS_URL: natsUrl(settings, app),
    ...(app === 'gateway' ? ofGateway(settings) : ofService(settings, app)),
    ...(sendsMails(app) ? { MAIL_FOLDER: process.env.MAIL_FOLDER ?? mailFolder(home) } : {}),
    ...(app === 'identity' ? { OAUTH_ALLOW_LOOPBACK: 'true' } : {}),
    ...(app === 'notification' ? { REDIS_URL: redisUrl(settings), WEBHOOK_ALLOW_LOOPBACK: 'true' } : {}),
  };
}

function ofService(settings: Settings, service: Service): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: databaseUrl(settings, `${service}_app`, `recur_${service}`),
    SECRET_KEYS: settings.secretKeys,
    CALLER_KEY: settings.callerKeys[service],
  };
}

const ofGateway = (settings: Settings): NodeJS.ProcessEnv => ({
  PORT: String(portOf(settings, 'gateway')),
  CALLER_KEYS: callerKeysOf(settings),
});

/** The setting CALLER_KEYS of the gateway. */
export const callerKeysOf = ({ callerKeys }: Settings): string =>
  services.map(service => `${service}:${callerKeys[service]}`).join(',');

/** The shell's environment, so that LOG_LEVEL or RATE_PER_SECOND can be given, without what npm adds to it. */
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$|DATABASE_)/i.test(name)));
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), redirect: 'error' });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
