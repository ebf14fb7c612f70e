import { randomUUID } from 'node:crypto';
import { appServer, type ExtraEnv, isApp } from './apps.js';
import { find, type ProgramName } from './binaries.js';
import { readFacts, type StackFacts, saveFacts } from './facts.js';
import { Failure } from './failure.js';
import { type Home, openHome } from './home.js';
import { signal } from './identity.js';
import { natsServer, wipeJetStream } from './nats.js';
import { startPostgres } from './postgres.js';
import { endsWithin, startServer } from './processes.js';
import { alive } from './record.js';
import { flushRedis, redisServer } from './redis.js';
import { type Merchant, type PartName, readSettings } from './settings.js';
import { createMerchant, migrateAll, stopPart } from './stack.js';

const killedWithinMs = 5_000;

/** A running stack in the hands of a test or a chaos run: single parts are ended, started again, or made to forget. */
export interface Stack {
  home: Home;
  facts(): StackFacts;
  /** SIGKILL, and waits until the process is gone. Returns false when it was not running. */
  kill(part: PartName): Promise<boolean>;
  /** Asks the part to end, as an orderly restart would, and waits. Stops nothing that is not running. */
  stop(part: PartName): Promise<void>;
  /** Starts a stopped or killed part on its old port and waits until it is ready. `env` is for an app. */
  start(part: PartName, env?: ExtraEnv): Promise<void>;
  restart(part: PartName, env?: ExtraEnv): Promise<void>;
  /** Stops NATS, removes everything JetStream keeps, starts NATS again, and runs the migrate step, which makes the streams. */
  wipeJetStream(): Promise<void>;
  /** NATS takes over the users of a checkout, and goes on serving. */
  reloadNats(from: Home): void;
  flushRedis(): Promise<void>;
  /** Waits until the part has ended by itself, at a crash point for example. Throws when it has not in time. */
  ended(part: PartName, withinMs?: number): Promise<void>;
  /** Another merchant with an API key of its own. */
  merchant(name: string): Promise<Merchant>;
}

/** The stack of a home, by default the one of this checkout. @throws Failure when none was started. */
export function openStack(home: Home = openHome()): Stack {
  const factsNow = () => {
    const facts = readFacts(home);
    if (facts === undefined)
      throw new Failure('no stack of this checkout is running: start one with "npm run up".', 69);
    return facts;
  };
  factsNow();
  const stack: Stack = {
    home,
    facts: factsNow,
    async kill(part) {
      const identity = alive(home).get(part);
      if (identity === undefined || !signal(identity, 'SIGKILL')) return false;
      if (!(await endsWithin(identity, killedWithinMs))) throw new Error(`${part} outlived SIGKILL`);
      return true;
    },
    stop: part => stopPart(home, part),
    async start(part, env) {
      if (alive(home).has(part)) throw new Error(`${part} is running already`);
      await startPart(home, part, env);
      saveFacts(home, readSettings(home));
    },
    async restart(part, env) {
      await stack.stop(part);
      await stack.start(part, env);
    },
    async wipeJetStream() {
      await stack.stop('nats');
      wipeJetStream(home);
      await stack.start('nats');
      await migrateAll(home, readSettings(home));
    },
    reloadNats(from) {
      const settings = readSettings(home);
      // writes the configuration anew
      natsServer(from, settings, program(home, 'nats-server'));
      const identity = alive(home).get('nats');
      if (identity === undefined || !signal(identity, 'SIGHUP')) throw new Error('NATS is not running');
    },
    flushRedis: () => flushRedis(readSettings(home)),
    async ended(part, withinMs = 30_000) {
      const identity = alive(home).get(part);
      if (identity === undefined || (await endsWithin(identity, withinMs))) return;
      throw new Error(`${part} has not ended within ${withinMs} ms`);
    },
    merchant: name => createMerchant(home, readSettings(home), name, `owner-${randomUUID()}@example.com`),
  };
  return stack;
}

async function startPart(home: Home, part: PartName, env: ExtraEnv = {}): Promise<void> {
  const settings = readSettings(home);
  if (isApp(part)) await startServer(home, appServer(home, settings, part, env));
  else if (part === 'postgres') await startPostgres(home, settings, true);
  else if (part === 'nats') await startServer(home, natsServer(home, settings, program(home, 'nats-server')));
  else await startServer(home, redisServer(home, settings, program(home, 'redis-server')));
}

function program(home: Home, name: ProgramName): string {
  const found = find(home, name);
  if (found === undefined)
    throw new Failure(`${name} has been removed from this machine since the stack was started.`, 69);
  return found;
}
