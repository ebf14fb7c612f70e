import { createHash, randomBytes } from 'node:crypto';
import type { Actor, In, Operation, Out, Slug } from '@recur/contracts';
import type { Issue } from '@recur/kernel';
import pg from 'pg';
import type { QueryRunner } from 'typeorm';
import type { Bus, CommandHandler } from '../bus/bus.js';
import { callerIn, headersOf, type Reply } from '../bus/message.js';
import type { Caller, Sender } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { ServiceConfig } from '../runtime/config.js';
import { createLog } from '../runtime/log.js';
import { patient } from '../runtime/patience.js';
import { assemble, type Parts, type ServiceDefinition } from '../service/service.js';
import { type Event, eventIn } from '../store/event.js';
import { createPool, type Row } from '../store/pool.js';
import { migrate, type Schema } from '../store/schema/migrate.js';
import { schemaDifference } from './drift.js';
import { record } from './record.js';
import { withoutMerchantText } from './tenant-keys.js';

/** A clock that a test moves: merchant time and wall time are one. */
export class MovableClock implements Clock {
  constructor(private ms = Date.UTC(2026, 0, 15, 12)) {}
  now(): number {
    return Math.floor(this.ms / 1000);
  }
  wall(): number {
    return this.ms;
  }
  advance(seconds: number): void {
    this.ms += seconds * 1000;
  }
}

/**
 * The only stand-in of service tests: commands go from one service under test to another in memory. The transport, and
 * Nest behind it, are the ones that run.
 */
export class MemoryBus {
  readonly up = true;
  private readonly services = new Map<string, CommandHandler>();

  answer(service: string, answer: CommandHandler): void {
    this.services.set(service, answer);
  }
  async serve(service: string, answer: CommandHandler): Promise<() => Promise<void>> {
    this.answer(service, answer);
    return async () => undefined;
  }
  /** Takes a service away. */
  remove(service: string): void {
    this.services.delete(service);
  }
  async request(subject: string, payload: string, caller: Caller): Promise<Reply> {
    const [, service = '', ...command] = subject.split('.');
    const answer = this.services.get(service);
    if (!answer) {
      const { Rejected } = await import('@recur/kernel');
      throw new Rejected('dependency_away', `The ${service} service is away; nothing was done`);
    }
    return answer(command.join('.'), payload, received(caller));
  }
  onReconnect(): void {}
  onSignal(): void {}
  signal(): void {}
}

/** A caller as it arrives: in the headers of its command. */
const received = (caller: Caller) => callerIn(headersOf(caller), caller.deadline);

export type Result<O> =
  | { ok: true; data: O; replayOf?: string }
  | { ok: false; slug: Slug; message?: string; issues: Issue[] };

export interface TestCaller {
  merchantId?: number;
  actor?: Actor;
  session?: string;
  idempotencyKey?: string;
  requestId?: string;
  sender?: Sender;
}

const adminUrl = () => {
  const url = process.env.TEST_PG_ADMIN_URL;
  if (!url) throw new Error('TEST_PG_ADMIN_URL is not set: npm test starts a PostgreSQL and sets it');
  return url;
};

async function asAdmin<T>(run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(adminUrl());
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

const urlOf = (database: string, role?: string) => {
  const url = new URL(adminUrl());
  url.pathname = `/${database}`;
  if (role) {
    url.username = role;
    url.password = 'test';
  }
  return url.toString();
};

/** Everything that the migrations would run. */
async function statementsOf({ migrations }: Schema): Promise<string> {
  const statements: string[] = [];
  const query = async (text: string) => {
    statements.push(text);
    return [];
  };
  const recorder = { query } as unknown as QueryRunner;
  for (const Migration of migrations) await new Migration().up(recorder);
  return statements.join('\n');
}

/** A database with the service's schema, made once per schema and server; every test's database is a copy of it. */
async function template({ name, schema }: ServiceDefinition): Promise<string> {
  const digest = createHash('sha256')
    .update(await statementsOf(schema))
    .digest('hex')
    .slice(0, 12);
  const database = `template_${name}_${digest}`;
  await asAdmin(async client => {
    await client.query(`select pg_advisory_lock(hashtext('recur test templates'))`);
    for (const role of [`${name}_owner`, `${name}_app`]) {
      const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
      if (!rowCount) await client.query(`create role ${role} login password 'test' nosuperuser nobypassrls`);
    }
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [database]);
    if (rowCount) return;
    const making = `${database}_${randomBytes(4).toString('hex')}`;
    await client.query(`create database ${making} owner ${name}_owner`);
    await migrate(urlOf(making, `${name}_owner`), name, schema);
    await client.query(`alter database ${making} rename to ${database}`);
  });
  return database;
}

const emittedTypes = 'select distinct type from outbox';

/** Starts a service on a fresh real database, without network: `call` goes through its transport. */
export async function testService<C extends ServiceConfig>(
  definition: ServiceDefinition<C>,
  {
    bus = new MemoryBus(),
    clock = new MovableClock(),
    env = {},
    committed = () => undefined,
  }: { bus?: MemoryBus; clock?: Clock; env?: Record<string, string>; committed?: Parts['committed'] } = {},
) {
  const source = await template(definition as unknown as ServiceDefinition);
  const database = `test_${definition.name}_${randomBytes(6).toString('hex')}`;
  await asAdmin(client =>
    client.query(`create database ${database} template ${source} owner ${definition.name}_owner`),
  );
  const config = definition.config.parse({
    RECUR_ENV: 'sandbox',
    NATS_URL: 'none',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    DATABASE_URL: urlOf(database, `${definition.name}_app`),
    SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    CALLER_KEY: Buffer.alloc(32, 8).toString('base64'),
    ...env,
  });
  const pool = createPool(config.DATABASE_URL, config.DATABASE_POOL);
  const log = createLog(definition.name, config.LOG_LEVEL);
  const running = await assemble(definition as unknown as ServiceDefinition, {
    config,
    clock,
    log,
    bus: bus as unknown as Bus,
    pool,
    committed,
  });
  await running.app.listen();
  const admin = new pg.Pool({ connectionString: urlOf(database), max: 2 });
  // dropping the database ends what is still connected to it
  admin.on('error', () => undefined);
  const replicas: { running: typeof running; pool: typeof pool }[] = [];
  let requests = 0;
  let seen = 0;

  const callerOf = ({
    merchantId = 15,
    actor,
    session,
    idempotencyKey,
    requestId,
    sender,
  }: TestCaller = {}): Caller => ({
    merchantId,
    actor: actor ?? { kind: 'key', id: 'key', display: 'key_...test' },
    requestId: requestId ?? `req_${++requests}`,
    traceparent: '',
    deadline: clock.wall() + patient(8_000),
    ...(session && { session }),
    ...(idempotencyKey && { idempotencyKey }),
    ...(sender && { sender }),
  });

  return {
    ...running,
    bus,
    clock,
    callerOf,
    /** Runs an operation; an answer that does not fit its contract fails the test. */
    async call<Op extends Operation>(operation: Op, input: unknown, caller?: TestCaller): Promise<Result<Out<Op>>> {
      const reply = await running.server.dispatch(operation.name, JSON.stringify(input), received(callerOf(caller)));
      const answer = JSON.parse(reply.bytes.toString());
      if (!reply.ok) {
        record('error', `${operation.name} ${answer.slug}`);
        return { ok: false, issues: [], ...answer };
      }
      operation.output.parse(answer);
      return { ok: true, data: answer as Out<Op>, ...(reply.replayOf && { replayOf: reply.replayOf }) };
    },
    /** Like `call`, for what must succeed. */
    async done<Op extends Operation>(operation: Op, input: In<Op> | object, caller?: TestCaller): Promise<Out<Op>> {
      const result = await this.call(operation, input, caller);
      if (!result.ok) throw new Error(`${operation.name} was refused: ${JSON.stringify(result)}`);
      return result.data;
    },
    /** The events written since the last time this was asked, in order. */
    async emitted(): Promise<Event[]> {
      const { rows } = await admin.query('select seq, envelope from outbox where seq > $1 order by seq', [seen]);
      seen = Number(rows.at(-1)?.seq ?? seen);
      return rows.map(({ envelope }) => eventIn(envelope, definition.events) as Event);
    },
    /** Lets the service consume events, as if they came from their stream. */
    async deliver(from: string, events: readonly Event[]): Promise<void> {
      for (const consumer of running.consumers) {
        if (consumer.what.from !== from) continue;
        const pattern = new RegExp(
          `^${consumer.what.subject.replaceAll('.', '\\.').replace('>', '.+').replaceAll('*', '[^.]+')}$`,
        );
        for (const event of events) {
          if (pattern.test(event.type)) await consumer.receive(event.merchantId, [event]);
        }
      }
    },
    /** Starts another replica of the service on the same database. */
    async replica(): Promise<typeof running> {
      const own = createPool(config.DATABASE_URL, config.DATABASE_POOL);
      const parts = { config, clock, log, bus: bus as unknown as Bus, pool: own, committed };
      const another = await assemble(definition as unknown as ServiceDefinition, parts);
      replicas.push({ running: another, pool: own });
      return another;
    },
    /** Looks at the database as its superuser, past row-level security. */
    async rows(text: string, values: unknown[] = []): Promise<Row[]> {
      return (await admin.query(text, values)).rows;
    },
    /** A connection of the role that owns the tables; whoever asks for it ends it. */
    async owner(): Promise<pg.Client> {
      const client = new pg.Client(urlOf(database, `${definition.name}_owner`));
      await client.connect();
      return client;
    },
    /** Statements by which the database differs from the declared tables; empty when there is no drift. */
    drift(): Promise<string[]> {
      return schemaDifference(urlOf(database), definition.schema);
    },
    /** Indexes and foreign keys of tenant tables that do not begin with the merchant; there have to be none. */
    async withoutMerchant(): Promise<string[]> {
      const { rows } = await admin.query<{ name: string }>(withoutMerchantText);
      return rows.map(({ name }) => name);
    },
    async close(): Promise<void> {
      const { rows } = await admin.query(emittedTypes);
      for (const { type } of rows) record('event', type);
      for (const each of [...replicas, { running, pool }]) {
        await each.running.app.close();
        await each.running.db.close();
        await each.pool.end();
      }
      await admin.end();
      await asAdmin(client => client.query(`drop database ${database} with (force)`));
    },
  };
}

export type TestService = Awaited<ReturnType<typeof testService>>;

export { makeStreams } from '../events/stream.js';
export { operationsOf } from '../service/handle.js';
export type { ServiceDefinition } from '../service/service.js';
export { snapshotController } from '../service/snapshot-controller.js';
export { migrate, type Schema } from '../store/schema/migrate.js';
export { blockedBy, merchantState, ownProcess, type Race, unserializable } from './at-once.js';
export { schemaDifference } from './drift.js';
export { emptyTable } from './empty-table.js';
export { freePort, TestNats } from './nats.js';
export { canary, closed, http, type Listening, tcp } from './servers.js';
export { wordGaps } from './words.js';
