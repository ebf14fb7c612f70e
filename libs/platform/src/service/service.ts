import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { type INestApplicationContext, Module, type Provider, type Type } from '@nestjs/common';
import type { Service } from '@recur/contracts';
import { idGenerator, Rejected } from '@recur/kernel';
import type { z } from 'zod';
import { Bus, type Reply } from '../bus/bus.js';
import { Consumer, type Consumption } from '../events/consumer.js';
import { Copies, type Copy, SnapshotSource } from '../events/copies.js';
import type { Event, EventKinds } from '../events/envelope.js';
import { Relay, type Written } from '../events/relay.js';
import { type Caller, systemCaller } from '../runtime/caller.js';
import { type Clock, systemClock } from '../runtime/clock.js';
import { parseConfig, type ServiceConfig } from '../runtime/config.js';
import { armCrash } from '../runtime/crash.js';
import { tuneEngine } from '../runtime/engine.js';
import { serveHealth, told } from '../runtime/health.js';
import { createLog, type Log } from '../runtime/log.js';
import { pooledRandom } from '../runtime/random.js';
import { Keyring } from '../runtime/secrets.js';
import { Db } from '../store/db.js';
import { migrate, type Schema, schemaProblem } from '../store/migrate.js';
import { createPool } from '../store/session.js';
import type { Aggregate } from '../store/tx.js';
import { Janitor, type Removal } from '../work/janitor.js';
import type { Work } from '../work/work.js';
import { WorkRunner } from '../work/work-runner.js';
import { Dispatcher, handlersOf } from './handle.js';

/** Something that runs beside the commands: started when the service is, stopped before it ends. */
export interface Worker {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

/** Does one thing and answers the exit code. */
export type Command = (app: INestApplicationContext, words: readonly string[]) => Promise<number>;

/** A service as a value: what `startService` runs and tests start on a fresh database. */
export interface ServiceDefinition<C extends ServiceConfig = ServiceConfig> {
  name: Service;
  config: z.ZodType<C>;
  schema: Schema;
  aggregates: Readonly<Record<string, Aggregate>>;
  /** The registry of events, from contracts. */
  events: EventKinds;
  copies?: readonly Copy[];
  /** Injectable classes whose methods are marked with @Handle; they may inject Db, Bus, Keyring, CLOCK, CONFIG and providers. */
  handlers: readonly Type[];
  providers?: readonly Provider[];
  consumptions?(app: INestApplicationContext): Consumption[];
  workers?(app: INestApplicationContext): Worker[];
  /** What is done when it falls due; see `work`. */
  work?(app: INestApplicationContext): Work[];
  /** What the janitor removes from the service's own infrastructure tables. */
  removals?: readonly Removal[];
  /** What /readyz tells beside its checks, by name. It never makes the service unready. */
  details?(app: INestApplicationContext): Record<string, () => Promise<string>>;
  /** Questions that other parts of recur ask over the bus, beside the platform's own: `cmd.<service>.platform.<name>`. */
  questions?(app: INestApplicationContext): Record<string, (input: never, caller: Caller) => Promise<object>>;
  /** Words after the app's name on the command line that do one thing and exit. */
  commands?: Record<string, Command>;
}

export const CLOCK = Symbol('clock');
export const CONFIG = Symbol('config');
export const LOG = Symbol('log');

/** As in sysexits.h: what is needed is away. A command's own 1 means something else. */
const unavailable = 69;

/** Who asks /readyz waits for some seconds at most. */
const probe = { text: 'select 1', query_timeout: 1_000 };

/** How many lists of one replica the database makes at once, among others; the rest wait their turn. */
const READ_POOL_SIZE = 4;

/** The parts of a running service; `assemble` makes them alike for a process and for a test. */
export interface Parts {
  config: ServiceConfig;
  clock: Clock;
  log: Log;
  bus: Bus;
  pool: ReturnType<typeof createPool>;
  committed(written?: Written): void;
}

export async function assemble(definition: ServiceDefinition, parts: Parts) {
  const { config, clock, log, bus, pool } = parts;
  const clocksMove = config.RECUR_ENV === 'sandbox';
  const keyring = new Keyring(config.SECRET_KEYS);
  const db = new Db({
    pool,
    readPool: createPool(config.DATABASE_URL, READ_POOL_SIZE),
    clock,
    clocksMove,
    keyring,
    aggregates: definition.aggregates,
    events: definition.events,
    newId: idGenerator(() => clock.wall(), pooledRandom),
    random: Math.random,
    committed: parts.committed,
  });
  const copies = new Copies(definition.copies ?? [], db, bus, clock);
  db.refresh = (copy, id, caller) => copies.refresh(copy, id, caller);
  class App {}
  Module({
    providers: [
      { provide: Db, useValue: db },
      { provide: Bus, useValue: bus },
      { provide: Keyring, useValue: keyring },
      { provide: CLOCK, useValue: clock },
      { provide: CONFIG, useValue: config },
      { provide: LOG, useValue: log },
      ...(definition.providers ?? []),
      ...definition.handlers,
    ],
  })(App);
  // the migrate step needs none of it
  const { NestFactory } = await import('@nestjs/core');
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const handlers = definition.handlers.flatMap(type => handlersOf(app.get(type)));
  const commandLimits = { atOnce: config.COMMANDS_AT_ONCE, waiting: config.COMMANDS_WAITING, budgetMs: 5_000 };
  const dispatcher = new Dispatcher(handlers, clock, log, commandLimits, keyring);
  const owner = new SnapshotSource(db, definition.aggregates, definition.events, awaitedOf(definition));
  const questions = { ...owner.questions(), ...definition.questions?.(app) };
  const ackSeconds = config.EVENT_ACK_SECONDS;
  const { events } = definition;
  const consumerParts = { ackSeconds, db, bus, clock, log, events, missing: askMissing(bus, clock) };
  const consumers = [...copies.consumptions(definition.name), ...(definition.consumptions?.(app) ?? [])].map(
    consumption => new Consumer(consumerParts, consumption),
  );
  const janitor = new Janitor(db, clock, log, definition.removals);
  const work = new WorkRunner({ db, clock, log, random: Math.random, clocksMove }, definition.work?.(app) ?? []);
  db.onDue = (merchantId, kind) => work.wake(merchantId, kind);
  const workers: Worker[] = [...(definition.workers?.(app) ?? []), work, janitor];
  return { app, db, keyring, copies, dispatcher, questions, consumers, janitor, work, workers };
}

/** What the service's events tell of and it does not keep yet. */
const awaitedOf = ({ name, events, aggregates }: ServiceDefinition) =>
  new Set(
    Object.values(events).flatMap(({ owner, aggregate }) =>
      owner === name && !(aggregate in aggregates) ? [aggregate] : [],
    ),
  );

/**
 * Runs a service as a process: `main.js` serves, `main.js migrate` migrates, `main.js resume` has parked events and
 * parked work tried again, other words are its own commands.
 */
export async function startService(definition: ServiceDefinition, argv = process.argv.slice(2)): Promise<void> {
  tuneEngine();
  const config = parseConfig(definition.config);
  const [word, ...words] = argv;
  // what a command prints may be read by a program
  const log = createLog(definition.name, config.LOG_LEVEL, word === undefined ? 'stdout' : 'stderr');
  if (word === 'migrate') return migrateAndReport(definition, config, log);
  if (config.CRASH_AT && config.RECUR_ENV === 'production') fatal(log, 'CRASH_AT is for tests, not for production');
  armCrash(config.CRASH_AT);
  const pool = createPool(config.DATABASE_URL, config.DATABASE_POOL);
  const problem = await schemaProblem(pool, definition.schema).catch(error =>
    fatal(log, `the database cannot be asked: ${error.message}`, unavailable),
  );
  if (problem) fatal(log, problem);
  // nothing is under way yet; and the first process of a container is not ended by a signal that it does not handle
  const leave = () => process.exit(0);
  process.once('SIGTERM', leave);
  const bus = await connect(definition.name, config, log, word === undefined);
  const relay = new Relay({ service: definition.name, pool, bus, clock: systemClock, log });
  const parts = {
    config,
    clock: systemClock,
    log,
    bus,
    pool,
    committed: (written?: Written) => relay.committed(written),
  };
  const running = await assemble(definition, parts);
  if (word !== undefined) {
    const command = word === 'resume' ? resume(running.consumers, running.work) : definition.commands?.[word];
    if (!command) fatal(log, `${definition.name} has no command ${word}`);
    const code = await command(running.app, words);
    await running.db.close();
    await pool.end();
    await bus.close();
    process.exit(code);
  }
  let serving = false;
  const health = await serveHealth(config.HOST, config.PORT, async () => ({
    database: await pool.query(probe).then(
      () => true,
      () => false,
    ),
    serving,
    bus: bus.up ? 'connected' : 'away',
    ...(await told(definition.details?.(running.app) ?? {})),
  })).catch(error => fatal(log, `cannot listen on ${config.HOST}:${config.PORT}: ${error.message}`));
  const unsubscribe = await bus.serve(definition.name, (command, payload, caller) =>
    command.startsWith('platform.')
      ? answerQuestion(running.questions, command, payload, caller)
      : running.dispatcher.dispatch(command, payload, caller),
  );
  relay.start();
  for (const part of [...running.consumers, ...running.workers]) await part.start();
  void buildCopies(running.copies, log);
  serving = true;
  log.info({ port: config.PORT }, 'ready');

  process.off('SIGTERM', leave);
  process.once('SIGTERM', async () => {
    serving = false;
    log.info('draining');
    await unsubscribe();
    await Promise.all([...running.consumers, ...running.workers].map(part => part.stop()));
    await relay.stop();
    await bus.close().catch(() => undefined);
    await running.db.close();
    await pool.end();
    await running.app.close();
    health.close();
    log.info('drained');
    process.exit(0);
  });
  process.once('SIGINT', () => process.kill(process.pid, 'SIGTERM'));
}

function connect(name: string, config: ServiceConfig, log: Log, patient: boolean): Promise<Bus> {
  return Bus.connect(config.NATS_URL, name, systemClock, log, patient).catch(error =>
    fatal(log, `NATS at ${config.NATS_URL} cannot be reached: ${error.message}`, unavailable),
  );
}

/** The `resume` command: parked events are applied again, and parked work is due again. */
const resume =
  (consumers: readonly Consumer[], work: WorkRunner): Command =>
  async () => {
    for (const consumer of consumers) {
      process.stdout.write(`${consumer.what.name}: ${await consumer.resume()} events taken up again\n`);
    }
    for (const [kind, items] of Object.entries(await work.resume())) {
      process.stdout.write(`${kind}: ${items} items of work due again\n`);
    }
    return 0;
  };

async function migrateAndReport({ name, schema }: ServiceDefinition, config: ServiceConfig, log: Log): Promise<void> {
  if (!config.DATABASE_OWNER_URL) return fatal(log, 'DATABASE_OWNER_URL is missing: migrations run as the owner role');
  const run = await migrate(config.DATABASE_OWNER_URL, name, schema).catch(error => {
    if (error.name === 'QueryFailedError') throw error;
    return fatal(log, `the database cannot be asked: ${error.message}`, unavailable);
  });
  log.info({ run }, run.length > 0 ? 'migrated' : 'the schema is up to date');
}

/** Copies that were never filled get a snapshot; until their owner answers, single objects are asked for as needed. */
async function buildCopies(copies: Copies, log: Log): Promise<void> {
  for (let wait = 500; ; wait = Math.min(wait * 2, 30_000)) {
    try {
      return await copies.build();
    } catch (error) {
      log.debug({ err: error }, 'copies cannot be built yet');
      await pause(wait);
    }
  }
}

/** Answers what another part of recur asks; a failure is told, since only recur listens. */
export async function answerQuestion(
  questions: Record<string, (input: never, caller: Caller) => Promise<object>>,
  command: string,
  payload: string,
  caller: Caller,
): Promise<Reply> {
  try {
    const answer = questions[command.slice('platform.'.length)];
    if (!answer) throw new Error(`nobody answers ${command}`);
    return { ok: true, bytes: JSON.stringify(await answer(JSON.parse(payload) as never, caller)) };
  } catch (error) {
    return { ok: false, bytes: JSON.stringify({ slug: 'internal_error', message: String(error) }) };
  }
}

const askMissing = (bus: Bus, clock: Clock) => async (service: string, event: Event, from: number) => {
  const { merchantId, requestId, aggregate, aggregateId, version } = event;
  const caller = systemCaller(merchantId, requestId, clock.wall() + 4_000);
  const input = JSON.stringify({ aggregate, aggregateId, from, to: version });
  const reply = await bus.request(`cmd.${service}.platform.events`, input, caller);
  const answer = JSON.parse(Buffer.from(reply.bytes).toString());
  if (!reply.ok) throw new Rejected('dependency_away', `${service} could not say what is missing: ${answer.message}`);
  return answer.events as Event[];
};

function fatal(log: Log, why: string, exitCode = 1): never {
  log.fatal(why);
  return process.exit(exitCode);
}
