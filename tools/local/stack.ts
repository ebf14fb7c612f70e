import { rmSync } from 'node:fs';
import path from 'node:path';
import { appServer, apps, type ExtraEnv, isApp, merchantCommand, migration } from './apps.js';
import { obtain } from './binaries.js';
import { forgetFacts, type StackFacts, saveFacts } from './facts.js';
import { Failure } from './failure.js';
import type { Home } from './home.js';
import type { ProcessIdentity } from './identity.js';
import { natsServer } from './nats.js';
import { choosePorts, choosePublicPort } from './ports.js';
import { startPostgres } from './postgres.js';
import { type Running, runToEnd, startServer, stopProcess } from './processes.js';
import { type Say, step } from './progress.js';
import { alive, forget } from './record.js';
import { redisServer } from './redis.js';
import {
  type App,
  type Dependency,
  type Merchant,
  type PartName,
  type PortName,
  readSettings,
  type Settings,
  saveSettings,
  services,
} from './settings.js';
import { strays } from './strays.js';

export const dependencies: readonly Dependency[] = ['postgres', 'nats', 'redis'];

export interface StackOptions {
  tell: Say;
  /** The public port that was asked for (PORT), if any; 'any' for a private stack, which leaves 3000 to others. */
  port?: string | undefined;
  /** More environment for single apps, for example a crash point. */
  env?: Partial<Record<App, ExtraEnv>>;
  /** Hears of every process that is ready. */
  onStart?: (name: PartName, running: Running) => void;
  /** Ends the start between two steps; whoever aborts also calls stopStack, which ends what is being waited for. */
  signal?: AbortSignal;
}

const patience = { dependency: 30_000, app: 35_000 } as const;

/**
 * Starts everything of a home and waits until it is ready: dependencies, migrations, the demo merchant (the first
 * time), the five apps. What a former run left behind is stopped first. On failure nothing stays running.
 * @throws Failure with the reason and the end of the log concerned.
 */
export async function startStack(home: Home, options: StackOptions): Promise<StackFacts> {
  const { tell, signal } = options;
  const left = await stopStack(home);
  if (left.length > 0) tell(`  · stopped what an earlier run had left running: ${left.join(', ')}`);
  try {
    const settings = readSettings(home);
    if (options.port === 'any') await choosePortsOf(home, settings, ['gateway']);
    else settings.ports.gateway = await choosePublicPort(options.port, settings.ports.gateway);
    await startDependencies(home, settings, options);
    await choosePortsOf(home, settings, [...services, 'gatewayOps']);
    await step(tell, 'databases and streams migrated', () => migrateAll(home, settings));
    signal?.throwIfAborted();
    if (settings.demo === undefined) await step(tell, 'demo merchant created', () => createDemo(home, settings));
    signal?.throwIfAborted();
    await step(tell, 'five apps ready', () =>
      startAll(home, options, app => startServer(home, appServer(home, settings, app, options.env?.[app])), apps),
    );
    signal?.throwIfAborted();
    return saveFacts(home, settings);
  } catch (error) {
    await stopStack(home);
    throw error;
  }
}

/** The migrate step of every service. */
export async function migrateAll(home: Home, settings: Settings): Promise<void> {
  await Promise.all(services.map(service => runToEnd(home, migration(home, settings, service))));
}

/** Starts PostgreSQL, with the services' databases unless `bare`, NATS and Redis of a home. */
export async function startDependencies(
  home: Home,
  settings: Settings,
  options: StackOptions,
  bare = false,
): Promise<void> {
  const programs = await step(options.tell, 'nats-server and redis-server found', async () =>
    obtain(home, ['nats-server', 'redis-server'], options.tell),
  );
  options.signal?.throwIfAborted();
  await choosePortsOf(home, settings, dependencies);
  const start = {
    postgres: () => startPostgres(home, settings, !bare),
    nats: () => startServer(home, natsServer(home, settings, programs['nats-server'])),
    redis: () => startServer(home, redisServer(home, settings, programs['redis-server'])),
  };
  await step(options.tell, 'PostgreSQL, NATS and Redis ready', () =>
    startAll(home, options, name => start[name](), dependencies),
  );
  options.signal?.throwIfAborted();
}

/** Starts parts side by side. The first failure ends the others too, so that its reason is told at once. */
async function startAll<N extends PartName>(
  home: Home,
  options: StackOptions,
  start: (name: N) => Promise<Running>,
  names: readonly N[],
): Promise<void> {
  const starts = names.map(async name => {
    const running = await start(name);
    options.onStart?.(name, running);
  });
  try {
    await Promise.all(starts);
  } catch (error) {
    await stopStack(home);
    await Promise.allSettled(starts);
    throw error;
  }
}

/** Ports are kept from run to run where they are still free. */
async function choosePortsOf(home: Home, settings: Settings, names: readonly PortName[]): Promise<void> {
  Object.assign(settings.ports, await choosePorts(names, settings.ports));
  saveSettings(home, settings);
}

async function createDemo(home: Home, settings: Settings): Promise<void> {
  settings.demoAttempts += 1;
  saveSettings(home, settings);
  const email = settings.demoAttempts > 1 ? `owner+${settings.demoAttempts}@demo.example` : 'owner@demo.example';
  settings.demo = await createMerchant(home, settings, 'Demo', email);
  saveSettings(home, settings);
}

/** Makes a merchant in the running stack's database: the only way to one, since there is no operation for it. */
export async function createMerchant(home: Home, settings: Settings, name: string, email: string): Promise<Merchant> {
  const words = ['create', '--name', name, '--email', email, '--json'];
  const output = await runToEnd(home, merchantCommand(home, settings, words));
  // the key that was printed is kept by whoever asked for it, not by a log
  rmSync(path.join(home.logs, 'merchant.log'), { force: true });
  const line = output.split('\n').find(text => text.startsWith('{') && text.includes('"apiKey"'));
  if (line === undefined) throw new Failure(`making a merchant printed no API key. It printed: ${output.trim()}`);
  return JSON.parse(line) as Merchant;
}

/**
 * Stops everything of the home that runs, apps first so that they can finish their work: recorded processes, and parts
 * that were started again by hand or by a supervisor. Returns the names stopped.
 */
export async function stopStack(home: Home): Promise<string[]> {
  const running = [...[...alive(home)].map(([name, identity]) => ({ name, identity })), ...strays(home)];
  const isDependency = (name: string) => dependencies.some(dependency => dependency === name);
  const groups = [
    running.filter(({ name }) => name === 'gateway'),
    running.filter(({ name }) => isApp(name) && name !== 'gateway'),
    running.filter(({ name }) => !isApp(name) && !isDependency(name)),
    running.filter(({ name }) => isDependency(name)),
  ];
  for (const group of groups) await Promise.all(group.map(({ name, identity }) => stopPartAs(home, name, identity)));
  forgetFacts(home);
  return [...new Set(running.map(({ name }) => name))];
}

/** Asks one recorded part to end; does nothing when it is not running. */
export async function stopPart(home: Home, name: string): Promise<void> {
  const identity = alive(home).get(name);
  if (identity !== undefined) await stopPartAs(home, name, identity);
}

/** Asks a part to end. SIGINT is PostgreSQL's fast shutdown: clients are cut off, nothing is lost. */
async function stopPartAs(home: Home, name: string, identity: ProcessIdentity): Promise<void> {
  const ask = name === 'postgres' ? 'SIGINT' : 'SIGTERM';
  await stopProcess(identity, ask, isApp(name) ? patience.app : patience.dependency);
  forget(home, name, identity);
}
