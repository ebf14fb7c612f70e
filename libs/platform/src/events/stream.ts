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

/**
 * Makes sure that a service's stream of events exists, whoever comes first: its relay or a consumer.
 * Returns when it was created: another time than before means that it was wiped. `replicas`: on how many servers of a
 * cluster a stream that is created is kept.
 */
export async function ensureStream(bus: Bus, service: string, replicas: number): Promise<string> {
  const manager = await jetstreamManager(bus.nc, { timeout: patient(3_000) });
  const name = streamOf(service);
  const found = await manager.streams.info(name).catch(() => undefined);
  const info =
    found ??
    (await manager.streams.add({
      name,
      subjects: [`evt.${service}.>`],
      storage: StorageType.File,
      num_replicas: replicas,
      retention: RetentionPolicy.Limits,
      max_age: 7 * 86_400 * seconds,
      duplicate_window: 120 * seconds,
    }));
  return info.created;
}

/** Makes sure that a durable consumer exists on the stream, and returns a handle to pull from it. */
export async function ensureConsumer(bus: Bus, service: string, name: string, subject: string, ackSeconds: number) {
  const manager = await jetstreamManager(bus.nc, { timeout: patient(3_000) });
  const stream = streamOf(service);
  await manager.consumers.info(stream, name).catch(() =>
    manager.consumers.add(stream, {
      durable_name: name,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: ackSeconds * seconds,
      max_ack_pending: 5_000,
    }),
  );
  return jetstream(bus.nc).consumers.get(stream, name);
}

/** Messages that a durable consumer has not acknowledged, delivered or not. */
export async function pendingOf(bus: Bus, service: string, name: string): Promise<number> {
  const manager = await jetstreamManager(bus.nc, { timeout: patient(3_000) });
  const { num_pending, num_ack_pending } = await manager.consumers.info(streamOf(service), name);
  return num_pending + num_ack_pending;
}
