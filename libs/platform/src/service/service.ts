import 'reflect-metadata';
import { type INestApplicationContext, type INestMicroservice, Module, type ModuleMetadata } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { keptBy, type Service, snapshotOperations, type Told, toldBy } from '@recur/contracts';
import { idGenerator } from '@recur/kernel';
import type { z } from 'zod';
import { Bus } from '../bus/bus.js';
import { NatsServer } from '../bus/nats-server.js';
import { RejectionFilter } from '../bus/rejection-filter.js';
import { keysIn } from '../bus/signature.js';
import { Consumer } from '../events/consumer.js';
import { consumerOfCopy } from '../events/consumption.js';
import { type AllKeptBy, askOwner, Copies, SnapshotSource } from '../events/copies.js';
import { Keepers } from '../events/keepers.js';
import { Questions } from '../events/questions.js';
import { Relay } from '../events/relay.js';
import { systemCaller } from '../runtime/caller.js';
import { type Clock, systemClock } from '../runtime/clock.js';
import { parseConfig, type ServiceConfig } from '../runtime/config.js';
import { armCrash } from '../runtime/crash.js';
import { collectWhenIdle, tuneEngine } from '../runtime/engine.js';
import { serveHealth, told } from '../runtime/health.js';
import { createLog, fatal, type Log, unavailable } from '../runtime/log.js';
import { patient } from '../runtime/patience.js';
import { pooledRandom } from '../runtime/random.js';
import { Keyring } from '../runtime/secrets.js';
import { startTracing, stopTracing } from '../runtime/tracing.js';
import type { Aggregate } from '../store/aggregate.js';
import { Db } from '../store/db.js';
import type { Event, EventKinds } from '../store/event.js';
import { fastPaths } from '../store/paths/fast-paths.js';
import { plainPaths } from '../store/paths/paths.js';
import { createPool, ofAnyServer } from '../store/pool.js';
import { schemaProblem } from '../store/schema/migrate.js';
import { Janitor, type Removal } from '../work/janitor.js';
import { MerchantWalk } from '../work/merchant-walk.js';
import type { Work } from '../work/work.js';
import { WorkRunner } from '../work/work-runner.js';
import { Backlog } from './backlog.js';
import { type Migrated, migrateService } from './migration.js';
import { snapshotController } from './snapshot-controller.js';

/** A background part of a service: started with it, stopped before it ends. */
export interface Worker {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

/** A command-line command; resolves to the exit code. */
export type Command = (app: INestApplicationContext, words: readonly string[]) => Promise<number>;

/**
 * A service as a value: a Nest module, and what the platform adds to it. `startService` runs it as a microservice, tests
 * start it on a fresh database. Controllers handle operations with @Handle; they may inject Db, Bus, Keyring,
 * MerchantWalk, CLOCK, CONFIG, LOG and the service's providers. Guards, interceptors and filters are Nest's own (`APP_GUARD`, `@UseGuards`).
 */
export interface ServiceDefinition<C extends ServiceConfig = ServiceConfig>
  extends Pick<ModuleMetadata, 'imports' | 'controllers' | 'providers'>,
    Migrated {
  config: z.ZodType<C>;
  aggregates: Readonly<Record<string, Aggregate>>;
  /** The registry of events, from contracts. */
  events: EventKinds;
  workers?(app: INestApplicationContext): Worker[];
  /** The work that it does when it falls due; see `work`. */
  work?(app: INestApplicationContext): Work[];
  /** Rows that the janitor removes from the service's own infrastructure tables. */
  removals?: readonly Removal[];
  /** Facts that /readyz shows beside its checks, by name. They never make the service unready. */
  details?(app: INestApplicationContext): Record<string, () => Promise<string>>;
  /** Words after the app's name on the command line that do one thing and exit. */
  commands?: Record<string, Command>;
}

export const CLOCK = Symbol('clock');
export const CONFIG = Symbol('config');
export const LOG = Symbol('log');

/** Short, because probes of /readyz time out after a few seconds. */
const probe = { text: 'select 1', query_timeout: patient(1_000) };

/** Connections for lists and other reads that a command waits for beside its own. */
const READ_POOL_SIZE = 4;

/** The parts of a running service; `assemble` makes them alike for a process and for a test. */
export interface Parts {
  config: ServiceConfig;
  clock: Clock;
  log: Log;
  bus: Bus;
  pool: ReturnType<typeof createPool>;
  /** The services that compute with copies of others; a service that is tested by itself follows nobody. */
  keptBy?: AllKeptBy;
  /** Aggregates that others are told of; undefined: all. */
  told?: Told;
  committed(): void;
}

export async function assemble(definition: ServiceDefinition, parts: Parts) {
  const { config, clock, log, bus, pool, keptBy } = parts;
  const clocksMove = config.RECUR_ENV === 'sandbox';
  const keyring = new Keyring(config.SECRET_KEYS);
  const db = new Db({
    pool,
    readPool: createPool(config.DATABASE_URL, READ_POOL_SIZE),
    clock,
    clocksMove,
    keyring,
    events: definition.events,
    paths: config.STORE_FAST ? fastPaths : plainPaths,
    newId: idGenerator(() => clock.wall(), pooledRandom),
    random: Math.random,
    committed: parts.committed,
  });
  const copies = new Copies(definition.copies ?? [], db, bus, clock);
  db.refresh = (copy, id, caller) => copies.refresh(copy, id, caller);
  const own = keptBy?.[definition.name];
  const keepers = own && new Keepers(bus, definition.name, own, clock);
  if (keepers) db.expect = (caller, events) => keepers.expect(caller, events);
  const callerKeys = config.UNSIGNED_CALLERS ? undefined : keysIn(config.CALLER_KEY);
  const limits = { atOnce: config.COMMANDS_AT_ONCE, waiting: config.COMMANDS_WAITING, budgetMs: patient(5_000) };
  const server = new NatsServer({ service: definition.name, bus, clock, log, keyring, callerKeys, limits });
  const source = new SnapshotSource(db, definition.aggregates, definition.events, awaitedOf(definition), parts.told);
  const walk = new MerchantWalk({ db, clock, log, random: Math.random, clocksMove });
  class App {}
  Module({
    imports: definition.imports ?? [],
    controllers: [snapshotController(definition.name), ...(definition.controllers ?? [])],
    providers: [
      { provide: Db, useValue: db },
      { provide: Bus, useValue: bus },
      { provide: Questions, useValue: new Questions(bus) },
      { provide: Keyring, useValue: keyring },
      { provide: CLOCK, useValue: clock },
      { provide: CONFIG, useValue: config },
      { provide: LOG, useValue: log },
      { provide: SnapshotSource, useValue: source },
      { provide: MerchantWalk, useValue: walk },
      // first, so that the filters of a service are asked before it
      { provide: APP_FILTER, useClass: RejectionFilter },
      ...(definition.providers ?? []),
    ],
  })(App);
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(App, {
    strategy: server,
    logger: false,
    abortOnError: false,
  });
  await app.init();
  const { events } = definition;
  const consumerParts = { db, bus, clock, log, events, missing: askMissing(bus, clock) };
  const consumers = [
    ...copies.consumptions(definition.name, keptBy ?? {}),
    ...(definition.consumptions?.(app) ?? []),
  ].map(consumption => new Consumer(consumerParts, consumption));
  const byName = new Map(consumers.map(consumer => [consumer.what.name, consumer]));
  if (keptBy) db.lags = copy => byName.get(consumerOfCopy(definition.name, copy))?.lags ?? false;
  const janitor = new Janitor(db, clock, log, definition.removals);
  const works = definition.work?.(app) ?? [];
  walk.declare(works);
  const work = new WorkRunner({ db, clock, log, random: Math.random, clocksMove }, works);
  db.onDue = (merchantId, kind) => work.wake(merchantId, kind);
  const workers: Worker[] = [
    ...(definition.workers?.(app) ?? []),
    work,
    janitor,
    new Backlog(db, pool, consumers, log),
  ];
  return { app: app as INestMicroservice, server, db, keyring, copies, consumers, janitor, work, workers };
}

/** Aggregates that the service's events name and it does not keep yet. */
const awaitedOf = ({ name, events, aggregates }: ServiceDefinition) =>
  new Set(
    Object.values(events).flatMap(({ owner, aggregate }) =>
      owner === name && !(aggregate in aggregates) ? [aggregate] : [],
    ),
  );

/**
 * Runs a service as a process: `main.js` serves, `main.js migrate` migrates, `main.js resume` applies parked events
 * again, other words are its own commands.
 */
export async function startService(definition: ServiceDefinition, argv = process.argv.slice(2)): Promise<void> {
  tuneEngine();
  const config = parseConfig(definition.config);
  const [word, ...words] = argv;
  // commands log to stderr, since a program may read their stdout
  const log = createLog(definition.name, config.LOG_LEVEL, word === undefined ? 'stdout' : 'stderr');
  if (word === 'migrate') return migrateService(definition, config, log);
  if (config.CRASH_AT && config.RECUR_ENV === 'production') fatal(log, 'CRASH_AT is for tests, not for production');
  armCrash(config.CRASH_AT);
  await startTracing(definition.name, config);
  const pool = createPool(config.DATABASE_URL, config.DATABASE_POOL);
  const asked = ofAnyServer(config.DATABASE_URL, () => schemaProblem(pool, definition.schema));
  const problem = await asked.catch(error => fatal(log, `the database cannot be asked: ${error.message}`, unavailable));
  if (problem) fatal(log, problem);
  // exits at once while starting; as process 1 of a container it would otherwise ignore the signal
  const leave = () => process.exit(0);
  process.once('SIGTERM', leave);
  const bus = await connect(definition.name, config, log, word === undefined);
  const { name: service } = definition;
  const relay = new Relay({ service, pool, bus, clock: systemClock, log });
  const committed = () => relay.committed();
  const parts = { config, clock: systemClock, log, bus, pool, keptBy, told: toldBy(definition.name), committed };
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
  const readiness = async () => ({
    database: await pool.query(probe).then(
      () => true,
      () => false,
    ),
    serving,
    bus: bus.up ? 'connected' : 'away',
    ...(await told(definition.details?.(running.app) ?? {})),
  });
  const { HOST, OPS_PORT } = config;
  const health = await serveHealth(HOST, OPS_PORT, readiness, systemClock).catch(error =>
    fatal(log, `cannot listen on ${HOST}:${OPS_PORT}: ${error.message}`),
  );
  await running.app.listen();
  relay.start();
  for (const part of [...running.consumers, ...running.workers]) await part.start();
  void running.copies.build(log);
  serving = true;
  collectWhenIdle();
  log.info({ port: OPS_PORT }, 'ready');

  process.off('SIGTERM', leave);
  process.once('SIGTERM', async () => {
    serving = false;
    log.info('draining');
    await running.server.close();
    await Promise.all([...running.consumers, ...running.workers].map(part => part.stop()));
    await relay.stop();
    await bus.close().catch(() => undefined);
    await running.db.close();
    await pool.end();
    await running.app.close();
    await stopTracing();
    health.close();
    log.info('drained');
    process.exit(0);
  });
  process.once('SIGINT', () => process.kill(process.pid, 'SIGTERM'));
}

function connect(name: string, config: ServiceConfig, log: Log, patient: boolean): Promise<Bus> {
  return Bus.connect(config.NATS_URL, name, systemClock, log, patient).catch(error =>
    fatal(log, error.message, unavailable),
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

const askMissing = (bus: Bus, clock: Clock) => async (service: Service, event: Event, from: number) => {
  const { merchantId, requestId, aggregate, aggregateId, version } = event;
  const caller = systemCaller(merchantId, requestId, clock.wall() + patient(4_000));
  const range = { aggregate, aggregateId, from, to: version };
  return (await askOwner(bus, snapshotOperations(service).events, range, caller)).events;
};
