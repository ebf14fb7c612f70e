export { ask } from './bus/ask.js';
export { Bus } from './bus/bus.js';
export { type Reply, rejectionIn } from './bus/message.js';
export { type CommandPacket, NatsClient } from './bus/nats-client.js';
export { signerOf } from './bus/signature.js';
export { clockFollower } from './events/clock-follower.js';
export type { Consumption } from './events/consumption.js';
export { type Copy, copyOf } from './events/copy.js';
export { eventsIn } from './events/envelope.js';
export { Questions } from './events/questions.js';
export { streamOf } from './events/stream.js';
export { type AddressRules, checkUrl } from './outbound/address.js';
export { Outbound, type OutboundOptions, type OutboundResult } from './outbound/outbound.js';
export { type Caller, type Sender, systemCaller } from './runtime/caller.js';
export { type Clock, systemClock } from './runtime/clock.js';
export {
  type BaseConfig,
  baseConfig,
  parseConfig,
  type ServiceConfig,
  serviceConfig,
  toggle,
} from './runtime/config.js';
export { crashPoint } from './runtime/crash.js';
export { collectWhenIdle, tuneEngine } from './runtime/engine.js';
export { isReady, type Readiness, serveHealth } from './runtime/health.js';
export { createLog, type Log } from './runtime/log.js';
export { patient } from './runtime/patience.js';
export { pooledRandom } from './runtime/random.js';
export { Keyring } from './runtime/secrets.js';
export type { Span } from './runtime/span.js';
export { metrics, workOldest } from './runtime/telemetry.js';
export { startSpan, startTracing, stopTracing, traceIdOf } from './runtime/tracing.js';
export { giveWay } from './runtime/turns.js';
export { Handle } from './service/handle.js';
export { followedBy } from './service/migration.js';
export {
  CLOCK,
  CONFIG,
  type Command,
  LOG,
  type ServiceDefinition,
  startService,
  type Worker,
} from './service/service.js';
export { joined, type Wing } from './service/wing.js';
export {
  type Aggregate,
  type AggregateOf,
  aggregate,
  type DataOf,
  type EventOf,
  type EventSource,
  type Loader,
  type LogIds,
  type Where,
} from './store/aggregate.js';
export { Appender } from './store/appender.js';
export { Db } from './store/db.js';
export { isConnectionLoss } from './store/errors.js';
export type { Event } from './store/event.js';
export { CommittedRejection } from './store/outcomes.js';
export type { Row } from './store/pool.js';
export { Reader } from './store/reader.js';
export type { CommandReader, PeekReader } from './store/reads/reads.js';
export type { StepOptions } from './store/recorder.js';
export { coarseV1, searchableV1, secureV1 } from './store/schema/migration-helpers.js';
export {
  createPlatformTablesV1,
  indexDeadLettersV3,
  listStatementsV2,
  platformTables,
} from './store/schema/platform-tables.js';
export * from './store/schema/table.js';
export { settings } from './store/settings.js';
export { type Condition, each, given, type Known, type List, type Page, sorted } from './store/sql/list.js';
export { contains } from './store/sql/search.js';
export type { SliceAt, Sliced } from './store/sql/slice.js';
export { Tx } from './store/tx.js';
export { FairQueue, type FairQueueLimits } from './work/fair-queue.js';
export { type Removal, removedAtOnce } from './work/janitor.js';
export { type JobAnswer, JobThread } from './work/job-thread.js';
export { type ClockStep, MerchantWalk, type Walked, type WalkOptions } from './work/merchant-walk.js';
export { PeriodicTask } from './work/periodic-task.js';
export { createWorkTablesV1 } from './work/tables.js';
export { eachItem, fetchedWork, type Work, type WorkItem, type WorkOptions, work } from './work/work.js';
