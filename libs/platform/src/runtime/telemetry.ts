import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The process's metrics, served at /metrics. Labels are bounded: names of operations, consumers and error slugs. A
 * histogram has one of them, since each of its values is a dozen lines.
 */
export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });

export const commandSeconds = new Histogram({
  name: 'recur_command_seconds',
  help: 'Time a command took in its service, waiting included',
  labelNames: ['command'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  registers: [metrics],
});
export const commands = new Counter({
  name: 'recur_commands_total',
  help: 'Commands answered, by outcome (ok or error slug)',
  labelNames: ['command', 'outcome'],
  registers: [metrics],
});
export const eventsPublished = new Counter({
  name: 'recur_events_published_total',
  help: 'Outbox rows acknowledged by JetStream',
  registers: [metrics],
});
export const outboxWaiting = new Gauge({
  name: 'recur_outbox_last_batch',
  help: 'Events in the last batch that the relay took; 0 once it found no more',
  registers: [metrics],
});
export const outboxOldest = new Gauge({
  name: 'recur_outbox_oldest_seconds',
  help: 'How long the first event that is not published has waited; 0 when there is none, and in replicas that do not lead',
  registers: [metrics],
});
export const eventsPending = new Gauge({
  name: 'recur_events_pending',
  help: 'Events of the stream, or messages of several, that a consumer has not taken; the same in every replica',
  labelNames: ['consumer'],
  registers: [metrics],
});
export const eventsParked = new Gauge({
  name: 'recur_events_parked',
  help: 'Events that could not be applied and wait for the resume command, by consumer',
  labelNames: ['consumer'],
  registers: [metrics],
});
export const eventsConsumed = new Counter({
  name: 'recur_events_consumed_total',
  help: 'Events applied, dropped as old, or parked, by consumer',
  labelNames: ['consumer', 'outcome'],
  registers: [metrics],
});
export const workItems = new Counter({
  name: 'recur_work_items_total',
  help: 'Items of work that fell due, by kind: claimed, done, failed, parked, or lost to another worker',
  labelNames: ['kind', 'outcome'],
  registers: [metrics],
});
export const workOldest = new Gauge({
  name: 'recur_work_oldest_due_seconds',
  help: 'How long the first item of a kind has been ready to be done; 0 when there is none',
  labelNames: ['kind'],
  registers: [metrics],
});
export const workParked = new Gauge({
  name: 'recur_work_parked',
  help: 'Items of work that failed too often and wait for the resume command, up to 1000, by kind',
  labelNames: ['kind'],
  registers: [metrics],
});
export const poolConnections = new Gauge({
  name: 'recur_pool_connections',
  help: 'Connections of the database pool that are in use, and requests that wait for one',
  labelNames: ['state'],
  registers: [metrics],
});
