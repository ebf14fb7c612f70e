import { rmSync } from 'node:fs';
import path from 'node:path';
import { apps, baseUrl, opsUrlOf } from './apps.js';
import type { Home } from './home.js';
import { natsUrl } from './nats.js';
import { alive } from './record.js';
import { redisUrl } from './redis.js';
import { type App, databaseUrl, type PartName, portOf, readJson, type Settings, writePrivately } from './settings.js';

/** Addresses of an app; `opsUrl` is its port for operators, the only one that a service has. */
interface AppFacts {
  port: number;
  url: string;
  opsUrl: string;
  databaseUrl?: string;
}

/** Content of .local/stack.json, which only its owner can read. */
export interface StackFacts {
  baseUrl: string;
  apiKey: string;
  merchantId: number | string;
  services: {
    postgres: { host: string; port: number; url: string };
    nats: { port: number; url: string };
    redis: { port: number; url: string };
  } & Record<App, AppFacts>;
  pids: Record<string, number>;
}

/** Writes what a running stack is to stack.json. */
export function saveFacts(home: Home, settings: Settings): StackFacts {
  const { demo } = settings;
  if (demo === undefined) throw new Error('a running stack has a demo merchant');
  const port = (name: PartName) => portOf(settings, name);
  const ofApps = apps.map(app => {
    const database = app === 'gateway' ? {} : { databaseUrl: databaseUrl(settings, `${app}_app`, `recur_${app}`) };
    const url = `http://127.0.0.1:${port(app)}`;
    return [app, { port: port(app), url, opsUrl: opsUrlOf(settings, app), ...database }];
  });
  const facts: StackFacts = {
    baseUrl: baseUrl(settings),
    apiKey: demo.apiKey,
    merchantId: demo.merchantId,
    services: {
      postgres: { host: '127.0.0.1', port: port('postgres'), url: databaseUrl(settings, 'postgres', 'postgres') },
      nats: { port: port('nats'), url: natsUrl(settings, 'operator') },
      redis: { port: port('redis'), url: redisUrl(settings) },
      ...(Object.fromEntries(ofApps) as Record<App, AppFacts>),
    },
    pids: Object.fromEntries([...alive(home)].map(([name, { pid }]) => [name, pid])),
  };
  writePrivately(factsFile(home), facts);
  return facts;
}

/** The facts of a stack that was started and not stopped; it may have been killed since. */
export function readFacts(home: Home): StackFacts | undefined {
  return readJson<StackFacts>(factsFile(home));
}

/** True when all eight parts of the stack are alive. */
export function isWhole(home: Home): boolean {
  const running = alive(home);
  return [...apps, 'postgres', 'nats', 'redis'].every(name => running.has(name)) && readFacts(home) !== undefined;
}

/** Without its facts a stack counts as stopped. */
export function forgetFacts(home: Home): void {
  rmSync(factsFile(home), { force: true });
}

function factsFile(home: Home): string {
  return path.join(home.state, 'stack.json');
}
