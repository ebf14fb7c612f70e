import { flag, int, integer, integers, optionalInteger, optionalText, table, text, texts } from '@recur/platform';
import { type DeliveryState, deliveryLifecycle } from './domain/delivery.js';
import { type Endpoint, endpointLifecycle } from './domain/endpoint.js';

export interface EndpointRow extends Omit<Endpoint, 'events' | 'productIds' | 'disabledBecause'> {
  events: string[];
  productIds: number[];
  disabledBecause: string | null;
  /** `whsec_…`, sealed (platform's Keyring). */
  sealedSecret: string;
  createTime: number;
  modifyTime: number;
  version: number;
}

/** An event that at least one endpoint wanted, kept for its deliveries and for replays. */
export interface EventRow {
  merchantId: number;
  eventId: string;
  type: string;
  /** Unix seconds when it happened. */
  at: number;
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
    sealedSecret: text(),
    createTime: integer(),
    modifyTime: integer(),
    version: int(),
  },
  checks: { endpoints_state: oneOf(endpointLifecycle.states) },
});

export const events = table<EventRow>('events', {
  key: ['merchantId', 'eventId'],
  columns: { merchantId: integer(), eventId: text(), type: text(), at: integer(), body: text() },
});

export const deliveries = table<DeliveryRow>('deliveries', {
  key: ['merchantId', 'deliveryId'],
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
  // an event goes to an endpoint once, however often it is consumed
  indices: { deliveries_once: { on: ['merchantId', 'endpointId', 'eventId'], unique: true } },
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
  },
  indices: { due_endpoint: { on: ['endpointId', 'dueAtMs'] }, due_time: { on: ['dueAtMs'] } },
});

/** What belongs to no merchant, beside the platform's own tables. */
export const infrastructure = [due.table];
