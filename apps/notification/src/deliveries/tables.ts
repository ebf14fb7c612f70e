import { flag, int, integer, oneOf, optionalInteger, optionalText, table, text } from '@recur/platform';
import { type DeliveryState, deliveryLifecycle } from './domain/delivery.js';

/** An event that at least one endpoint subscribed to, kept for its deliveries and for replays. */
export interface EventRow {
  merchantId: number;
  eventId: string;
  type: string;
  /** Unix seconds when it happened. */
  at: number;
  /** The object concerned, as `invoice in_…`, and its version, which orders the object's events. */
  subject: string;
  sequence: number;
  /** The request body, byte for byte. */
  body: string;
  /** The trace of the request that caused it, which its deliveries continue; '' where there is none. */
  traceparent: string;
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
  /** Outcome of the last attempt: an HTTP status or the reason for having none; '' before the first attempt. */
  lastOutcome: string;
  /** First part of the last response body. */
  lastAnswer: string;
}

/** A finished attempt of a delivery: an entry of the log that the merchant reads. */
export interface AttemptRow {
  merchantId: number;
  id: number;
  endpointId: number;
  deliveryId: string;
  eventId: string;
  type: string;
  /** URL of the request: the endpoint may have moved since. */
  url: string;
  /** Earlier attempts of the delivery since it was scheduled. */
  attemptsBefore: number;
  /** State of the delivery after the attempt. */
  state: DeliveryState;
  /** As `lastOutcome` and `lastAnswer` of a delivery. */
  outcome: string;
  answer: string;
  /** Unix seconds at the start of the request. */
  createTime: number;
  durationMs: number;
  nextAtMs: number | null;
}

/**
 * A scheduled delivery, in the work list that workers of all merchants share. A worker holds it under a lease; the lease's
 * token fences off a worker that was too slow.
 */
export interface DueRow {
  deliveryId: string;
  merchantId: number;
  endpointId: number;
  /** Null in rows written by an earlier version. */
  eventId: string | null;
  dueAtMs: number;
  leaseToken: string | null;
  leaseUntilMs: number | null;
  /** Subject of the event when the endpoint is ordered; null when deliveries need not wait for each other. */
  subject: string | null;
  sequence: number;
  /** True while an earlier event of the same object is still to be delivered: this one is not due before. */
  held: boolean;
}

/** An endpoint that was enabled again and still has missed deliveries to be scheduled. */
export interface CatchUpRow {
  endpointId: number;
  merchantId: number;
}

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
    traceparent: { ...text(), default: '' },
  },
});

// partitioned by the week of the event, whose id is therefore part of the key (see 0004-log)
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
  checks: { deliveries_state: oneOf('state', deliveryLifecycle.states) },
  indices: {
    // an event is delivered to an endpoint once, however often it is consumed
    deliveries_once: { on: ['merchantId', 'endpointId', 'eventId'], unique: true },
    deliveries_missed: { on: ['merchantId', 'endpointId', 'deliveryId'], where: "state = 'missed'" },
  },
});

// partitioned by week
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
  checks: { attempts_state: oneOf('state', deliveryLifecycle.states) },
  indices: { attempts_endpoint: { on: ['merchantId', 'endpointId', 'createTime', 'id'] } },
});

export const due = table<DueRow>('due', {
  infrastructure: true,
  key: ['deliveryId'],
  columns: {
    deliveryId: text(),
    merchantId: integer(),
    endpointId: integer(),
    eventId: optionalText(),
    dueAtMs: integer(),
    leaseToken: optionalText(),
    leaseUntilMs: optionalInteger(),
    subject: optionalText(),
    sequence: { ...int(), default: 0 },
    held: { ...flag(), default: false },
  },
  indices: {
    // without the lease, so that claiming is a HOT update
    due_waiting: { on: ['endpointId', 'dueAtMs', 'deliveryId'], where: 'not held' },
    due_subject: { on: ['endpointId', 'subject', 'sequence'], where: 'subject is not null' },
  },
});

export const catchUps = table<CatchUpRow>('catch_ups', {
  infrastructure: true,
  key: ['endpointId'],
  columns: { endpointId: integer(), merchantId: integer() },
});
