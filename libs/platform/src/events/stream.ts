import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import type { Bus } from '../bus/bus.js';
import { patient } from '../runtime/patience.js';

const seconds = 1_000_000_000;

export const streamOf = (service: string) => `recur-${service}`;

/** Events of another service that a durable consumer delivers. */
export interface Followed {
  /** Name of the consumer. */
  name: string;
  /** The service that publishes the events. */
  from: string;
  /** Subject after `evt.<from>.`; wildcards are fine. */
  subject: string;
}

/** `replicas`: servers of a cluster on which a stream is kept. `ackSeconds`: until an unacknowledged event comes again. */
interface StreamSettings {
  replicas: number;
  ackSeconds: number;
}

// a service may not ask about the account, only about streams and consumers by name
const managerOf = (bus: Bus) => jetstreamManager(bus.nc, { timeout: patient(3_000), checkAPI: false });

/**
 * Makes the stream of a service's events, and the consumers by which it takes those of others, with their streams. What
 * exists stays as it is. The migrate step does so, as a user of its own: whoever may make a stream can let it copy
 * commands and publish them again.
 */
export async function makeStreams(
  bus: Bus,
  service: string,
  followed: readonly Followed[],
  { replicas, ackSeconds }: StreamSettings,
): Promise<void> {
  const manager = await managerOf(bus);
  for (const owner of new Set([service, ...followed.map(({ from }) => from)])) {
    const name = streamOf(owner);
    // made by two services at once, the second is answered with the first's
    await manager.streams.info(name).catch(() =>
      manager.streams.add({
        name,
        subjects: [`evt.${owner}.>`],
        storage: StorageType.File,
        num_replicas: replicas,
        retention: RetentionPolicy.Limits,
        max_age: 7 * 86_400 * seconds,
        duplicate_window: 120 * seconds,
      }),
    );
  }
  for (const { name, from, subject } of followed) {
    await manager.consumers.info(streamOf(from), name).catch(() =>
      manager.consumers.add(streamOf(from), {
        durable_name: name,
        filter_subject: `evt.${from}.${subject}`,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: DeliverPolicy.All,
        ack_wait: ackSeconds * seconds,
        max_ack_pending: 5_000,
      }),
    );
  }
}

/** When a service's stream was created: another time than before means that it was wiped. Rejects where there is none. */
export async function streamCreated(bus: Bus, service: string): Promise<string> {
  const name = streamOf(service);
  const { created } = await (await managerOf(bus)).streams.info(name).catch(error => {
    if (isNotFound(error)) throw new Error(`NATS has no stream ${name}: run the migrate step of ${service}`);
    throw error;
  });
  return created;
}

/** A handle to pull from a durable consumer. Rejects where there is none. */
export function consumerOf(bus: Bus, { name, from }: Followed) {
  return jetstream(bus.nc).consumers.get(streamOf(from), name);
}

/** Messages that a durable consumer has not acknowledged, delivered or not. */
export async function pendingOf(bus: Bus, { name, from }: Followed): Promise<number> {
  const { num_pending, num_ack_pending } = await (await managerOf(bus)).consumers.info(streamOf(from), name);
  return num_pending + num_ack_pending;
}

const isNotFound = (error: { message?: string }) => /not found/i.test(error.message ?? '');
