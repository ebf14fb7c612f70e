import { flag, int, integer, integers, optionalInteger, optionalText, table, text, texts } from '@recur/platform';
import { type Connection, connectionLifecycle } from './domain/connection.js';
import { type DeliveryState, deliveryLifecycle } from './domain/delivery.js';
import { type Endpoint, endpointLifecycle } from './domain/endpoint.js';
import { type Replay, replayLifecycle } from './domain/replay.js';

export interface EndpointRow extends Omit<Endpoint, 'events' | 'productIds' | 'disabledBecause'> {
  events: string[];
  productIds: number[];
  disabledBecause: string | null;
  /** `whsec_…`, sealed (platform's Keyring). */
  sealedSecret: string;
  /** The secret before, which signs too until `formerUntil` (unix seconds). */
  sealedFormer: string | null;
  formerUntil: number;
  /** The automation connection that it belongs to; null: it is the merchant's own. */
  connectionId: string | null;
  createTime: number;
  modifyTime: number;
  /** Unix seconds; 0 while it lives. The row stays, and so does the log of its attempts. */
  deletedTime: number;
  version: number;
}

/** An event that at least one endpoint wanted, kept for its deliveries and for replays. */
export interface EventRow {
  merchantId: number;
  eventId: string;
  type: string;
  /** Unix seconds when it happened. */
  at: number;
  /** The object concerned, as `invoice in_…`, and its version: what puts events of one object in order. */
  subject: string;
  sequence: number;
  /** What is sent, byte for byte. */
  body: string;
}

export interface DeliveryRow {
  merchantId: number;
  deliveryId: string;
  endpointId: number;
  eventId: string;
  state: DeliveryState;
  attempts: number;
  nextAtMs: number | null;
  createTime: number;
  /** How the last attempt ended: an HTTP status, or the reason why there was no answer; '' before the first. */
  lastOutcome: string;
  /** The first part of the last answer. */
  lastAnswer: string;
}

/** One attempt of a delivery that has ended, as its merchant may read it later. */
export interface AttemptRow {
  merchantId: number;
  id: number;
  endpointId: number;
  deliveryId: string;
  eventId: string;
  type: string;
  /** Where it went: the endpoint may have moved since. */
  url: string;
  /** How many attempts of the delivery came before, since it was scheduled. */
  attemptsBefore: number;
  /** Of the delivery, after it. */
  state: DeliveryState;
  /** As `lastOutcome` and `lastAnswer` of the delivery. */
  outcome: string;
  answer: string;
  /** Unix seconds when it began. */
  createTime: number;
  durationMs: number;
  nextAtMs: number | null;
}

/**
 * A delivery that is scheduled, for whoever has a hand free: the worker finds it here and does the work as its
 * merchant. A lease says who is at it; its token fences off a worker that was too slow.
 */
export interface DueRow {
  deliveryId: string;
  merchantId: number;
  endpointId: number;
  dueAtMs: number;
  leaseToken: string | null;
  leaseUntilMs: number | null;
  /** What `EventRow` says, where the endpoint wants the events of an object in order; else null, and nobody waits. */
  subject: string | null;
  sequence: number;
  /** An earlier event of the same object is still to be delivered: it has to wait for that, and is not due before. */
  held: boolean;
}

/** An endpoint that is enabled again and is still to get what it missed. */
export interface CatchUpRow {
  endpointId: number;
  merchantId: number;
}

/** A replay as it is kept. */
export interface ReplayRow extends Omit<Replay, 'events'> {
  events: string[];
  /** Attempts that are logged after this id came since it began: it leaves their deliveries alone. Null: it looks at none. */
  attemptsAfter: number | null;
}

/** A replay that is not over, for whoever has a hand free. */
export interface RunningReplayRow {
  replayId: string;
  merchantId: number;
  endpointId: number;
}

const oneOf = (states: readonly string[]) => `state in (${states.map(state => `'${state}'`).join(', ')})`;

export const endpoints = table<EndpointRow>('endpoints', {
  key: ['merchantId', 'endpointId'],
  columns: {
    merchantId: integer(),
    endpointId: integer(),
    url: text(),
    events: texts(),
    productIds: integers(),
    state: text(),
    disabledBecause: optionalText(),
    failures: int(),
    failingSinceMs: optionalInteger(),
    warned: flag(),
    ordered: { ...flag(), default: false },
    sealedSecret: text(),
    sealedFormer: optionalText(),
    formerUntil: { ...integer(), default: 0 },
    connectionId: optionalText(),
    createTime: integer(),
    modifyTime: integer(),
    deletedTime: { ...integer(), default: 0 },
    version: int(),
  },
  checks: { endpoints_state: oneOf(endpointLifecycle.states) },
  // each event asks for those that live
  indices: { endpoints_living: { on: ['merchantId', 'deletedTime', 'endpointId'] } },
});

export const events = table<EventRow>('events', {
  key: ['merchantId', 'eventId'],
  columns: {
    merchantId: integer(),
    eventId: text(),
    type: text(),
    at: integer(),
    subject: { ...text(), default: '' },
    sequence: { ...int(), default: 0 },
    body: text(),
  },
});

// partitioned by the week in which its event was made, which is why the event is part of the key (see 0004-log)
export const deliveries = table<DeliveryRow>('deliveries', {
  key: ['merchantId', 'deliveryId', 'eventId'],
  columns: {
    merchantId: integer(),
    deliveryId: text(),
    endpointId: integer(),
    eventId: text(),
    state: text(),
    attempts: int(),
    nextAtMs: optionalInteger(),
    createTime: integer(),
    lastOutcome: text(),
    lastAnswer: text(),
  },
  checks: { deliveries_state: oneOf(deliveryLifecycle.states) },
  indices: {
    // an event goes to an endpoint once, however often it is consumed
    deliveries_once: { on: ['merchantId', 'endpointId', 'eventId'], unique: true },
    deliveries_missed: { on: ['merchantId', 'endpointId', 'deliveryId'], where: "state = 'missed'" },
  },
});

// partitioned by week as well
export const attempts = table<AttemptRow>('attempts', {
  key: ['merchantId', 'id', 'createTime'],
  columns: {
    merchantId: integer(),
    id: integer(),
    endpointId: integer(),
    deliveryId: text(),
    eventId: text(),
    type: text(),
    url: text(),
    attemptsBefore: int(),
    state: text(),
    outcome: text(),
    answer: text(),
    createTime: integer(),
    durationMs: integer(),
    nextAtMs: optionalInteger(),
  },
  checks: { attempts_state: oneOf(deliveryLifecycle.states) },
  indices: { attempts_endpoint: { on: ['merchantId', 'endpointId', 'createTime', 'id'] } },
});

export const due = table<DueRow>('due', {
  infrastructure: true,
  key: ['deliveryId'],
  columns: {
    deliveryId: text(),
    merchantId: integer(),
    endpointId: integer(),
    dueAtMs: integer(),
    leaseToken: optionalText(),
    leaseUntilMs: optionalInteger(),
    subject: optionalText(),
    sequence: { ...int(), default: 0 },
    held: { ...flag(), default: false },
  },
  indices: {
    due_endpoint: { on: ['endpointId', 'dueAtMs'], where: 'not held' },
    due_subject: { on: ['endpointId', 'subject', 'sequence'], where: 'subject is not null' },
  },
});

export const catchUps = table<CatchUpRow>('catch_ups', {
  infrastructure: true,
  key: ['endpointId'],
  columns: { endpointId: integer(), merchantId: integer() },
});

export const replays = table<ReplayRow>('replays', {
  key: ['merchantId', 'replayId'],
  columns: {
    merchantId: integer(),
    replayId: text(),
    endpointId: integer(),
    state: text(),
    events: texts(),
    deliveredToo: flag(),
    cursor: text(),
    until: text(),
    attemptsAfter: optionalInteger(),
    total: int(),
    scheduled: int(),
    createTime: integer(),
    endTime: integer(),
  },
  checks: { replays_state: oneOf(replayLifecycle.states) },
  // one at a time to an endpoint
  indices: { replays_running: { on: ['merchantId', 'endpointId'], unique: true, where: `state = 'running'` } },
});

export const runningReplays = table<RunningReplayRow>('running_replays', {
  infrastructure: true,
  key: ['replayId'],
  columns: { replayId: text(), merchantId: integer(), endpointId: integer() },
});

export const connections = table<Connection>('connections', {
  key: ['merchantId', 'connectionId'],
  columns: {
    merchantId: integer(),
    connectionId: text(),
    state: text(),
    returnUrl: text(),
    stateHash: text(),
    codeHash: text(),
    codeChallenge: text(),
    accessHash: text(),
    accessUntil: integer(),
    refreshHash: text(),
    formerRefreshHash: text(),
    expireTime: integer(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { connections_state: oneOf(connectionLifecycle.states) },
});

/** The merchant of a connection, for who knows no more than its id. */
export const connectionLookups = table<{ connectionId: string; merchantId: number }>('connection_lookups', {
  infrastructure: true,
  key: ['connectionId'],
  columns: { connectionId: text(), merchantId: integer() },
});

/** What belongs to no merchant, beside the platform's own tables. */
export const infrastructure = [due.table, catchUps.table, runningReplays.table, connectionLookups.table];
