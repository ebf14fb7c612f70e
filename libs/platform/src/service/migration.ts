import type { INestApplicationContext } from '@nestjs/common';
import type { Service } from '@recur/contracts';
import { Bus } from '../bus/bus.js';
import { type Consumption, followingOf } from '../events/consumption.js';
import type { Copy } from '../events/copy.js';
import { makeStreams } from '../events/stream.js';
import { systemClock } from '../runtime/clock.js';
import type { ServiceConfig } from '../runtime/config.js';
import { fatal, type Log, unavailable } from '../runtime/log.js';
import { migrate, type Schema } from '../store/schema/migrate.js';

/** The part of a service that takes events of others. */
export interface Subscriber {
  name: Service;
  copies?: readonly Copy[];
  /**
   * Consumptions beside those of the copies. The migrate step asks for them too, without an app: parts of that may be got
   * when events are applied, not before.
   */
  consumptions?(app: Pick<INestApplicationContext, 'get'>): Consumption[];
}

/** The part of a service that the migrate step makes. */
export interface Migrated extends Subscriber {
  schema: Schema;
}

/** Stands for the app where only the names of consumptions are asked for. */
const noApp = {
  get: () => {
    throw new Error('a consumption may get its parts when it applies events, not before');
  },
};

/** The events of other services, and of its own, that a service takes. */
export function followedBy({ name: service, copies = [], consumptions }: Subscriber): DeclaredConsumer[] {
  const declared = [...copies.map(copy => followingOf(service, copy)), ...(consumptions?.(noApp) ?? [])];
  return declared.map(({ name, from, subject, order }) => ({ name, from, subject, order }));
}

type DeclaredConsumer = Pick<Consumption, 'name' | 'from' | 'subject' | 'order'>;

/** The migrate step of a service: its database, its stream and its consumers. Ends the process where something is away. */
export async function migrateService(definition: Migrated, config: ServiceConfig, log: Log): Promise<void> {
  const { name, schema } = definition;
  const { DATABASE_OWNER_URL, NATS_MIGRATOR_URL, STREAM_REPLICAS: replicas, EVENT_ACK_SECONDS: ackSeconds } = config;
  if (!DATABASE_OWNER_URL) return fatal(log, 'DATABASE_OWNER_URL is missing: migrations run as the owner role');
  if (!NATS_MIGRATOR_URL) return fatal(log, 'NATS_MIGRATOR_URL is missing: streams are made by the user migrator');
  const run = await migrate(DATABASE_OWNER_URL, name, schema).catch(error => {
    if (error.name === 'QueryFailedError') throw error;
    return fatal(log, `the database cannot be asked: ${error.message}`, unavailable);
  });
  const away = (error: Error) => fatal(log, error.message, unavailable);
  const bus = await Bus.connect(NATS_MIGRATOR_URL, 'migrator', systemClock, log, false).catch(away);
  const settings = { replicas, ackSeconds };
  await makeStreams(bus, name, followedBy(definition), settings).catch(error =>
    away(new Error(`the streams cannot be made: ${error.message}`)),
  );
  await bus.close();
  log.info({ run }, run.length > 0 ? 'migrated' : 'the schema is up to date');
}
