import { z } from 'zod';
import { fetchDocument } from './billing/documents.js';
import { gatewayCallback, sandboxQuestion } from './billing/payments/callbacks.js';
import { exportRows, fetchExport, importUsers } from './billing/tasks/tasks.js';
import { priceChangeCounts } from './catalog/price-changes.js';
import type { Slug } from './errors.js';
import { ApiKeyState, CallersChanged, EventEnvelope, type EventKind, events } from './events.js';
import { usersByKey } from './identity/user-search.js';
import { type AutomationAnswer, AutomationRequest } from './notification/automation.js';
import { type InternalOperation, internal, type Service, services } from './operation.js';

// Questions that services and the gateway ask each other: operations with `internal: true`.

/** The state of one aggregate. `data` is the owner's view of it, which the asking copy declares. */
export const AggregateState = z.object({ merchantId: z.int(), version: z.int(), data: z.unknown() });
export type AggregateState = z.output<typeof AggregateState>;

/** A key of the aggregate, or another of its unique names, such as `{ email }`. */
const lookup = z.record(z.string(), z.string());
const key = z.union([z.string(), z.int()]).transform(String);

/** Services with copies of aggregates, by owner and aggregate. */
type Keepers = Readonly<Partial<Record<Service, Readonly<Record<string, readonly Service[]>>>>>;

/** The services that compute with copies of an aggregate, by its owner: a change is answered when they have it. */
export const keptBy: Keepers = {
  identity: { user: ['billing'], merchant: ['billing'] },
  catalog: {
    plan: ['billing', 'identity'],
    product: ['billing', 'identity'],
    metric: ['billing'],
    checkout: ['billing'],
    currency: ['identity'],
  },
  billing: { gateway: ['identity'] },
};

/** Copies that are only shown: no change waits for them, since every sale changes them. */
export const shownBy: Keepers = {
  billing: { subscription: ['identity'], creditAccount: ['identity'] },
};

/** Aggregates of a service that it tells others of: those with copies, and those whose events webhooks are made of. */
export interface Told {
  states: ReadonlySet<string>;
  events: ReadonlySet<string>;
}

/** Aggregates of which a service answers the questions of others; of any other they learn nothing. */
export function toldBy(service: Service): Told {
  const own = Object.entries<EventKind<unknown, string>>(events).filter(([, { owner }]) => owner === service);
  const wordOf = (type: string) => type.split('.', 1)[0];
  // subscriptions are to the first word of a type
  const sent = new Set(own.filter(([, { webhook }]) => webhook).map(([type]) => wordOf(type)));
  return {
    states: new Set([keptBy, shownBy].flatMap(copies => Object.keys(copies[service] ?? {}))),
    events: new Set(own.filter(([type]) => sent.has(wordOf(type))).map(([, { aggregate }]) => aggregate)),
  };
}

/** Operations that every service offers to services with copies of its aggregates. */
export const snapshotOperations = (service: Service) => ({
  /** The current state of one aggregate, by id or by another name; `more` where several fit the name. */
  state: internal({
    service,
    name: 'platform.state',
    amongServices: true,
    input: z.object({ aggregate: z.string(), id: key.optional(), by: lookup.optional() }),
    output: z.object({ item: AggregateState.nullable(), more: z.array(AggregateState).optional() }),
  }),
  /** A page of all aggregates of one kind, merchant by merchant in the order of their keys; `next` continues it. */
  snapshot: internal({
    service,
    name: 'platform.snapshot_by_key',
    amongServices: true,
    input: z.object({ aggregate: z.string(), merchantId: z.int().min(0), after: z.string() }),
    output: z.object({
      items: z.array(AggregateState),
      next: z.object({ merchantId: z.int(), after: z.string() }).nullable(),
    }),
  }),
  /** Events of one aggregate with versions in [from, to): the first of them that the outbox still keeps. */
  events: internal({
    service,
    name: 'platform.events',
    amongServices: true,
    input: z.object({ aggregate: z.string(), aggregateId: z.string(), from: z.int(), to: z.int() }),
    output: z.object({ events: z.array(EventEnvelope) }),
  }),
});

/** Where a snapshot of callers continues: after this member and this API key. */
const CallersPosition = z.object({ merchantId: z.int(), memberId: z.int(), jtiHash: z.string().optional() });

/**
 * The gateways' knowledge of callers up to `version`: all public keys, and a page of the signed-in members and of the
 * API keys that have ended or will end.
 */
export const CallersSnapshot = CallersChanged.extend({
  version: z.int().min(0),
  ending: z.array(ApiKeyState.pick({ jtiHash: true, revokedTime: true })),
  next: CallersPosition.nullable(),
});
export type CallersSnapshot = z.output<typeof CallersSnapshot>;

export const callersSnapshot = internal({
  service: 'identity',
  name: 'platform.callers',
  input: z.object({ after: CallersPosition.optional() }),
  output: CallersSnapshot,
});

/** Reports when sessions were last used; each gateway does once a minute. */
export const reportActivity = internal({
  service: 'identity',
  name: 'platform.activity',
  input: z.object({ sessions: z.array(z.object({ sid: z.string(), at: z.int().describe('Unix seconds') })) }),
  output: z.object({}),
});

const AutomationReply: z.ZodType<AutomationAnswer, AutomationAnswer> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('consent'),
    merchantId: z.int(),
    returnUrl: z.string(),
    fields: z.record(z.string(), z.string()),
  }),
  z.object({ kind: z.literal('redirect'), location: z.string() }),
  z.object({ kind: z.literal('refusal'), reason: z.enum(['stale', 'elsewhere']) }),
  z.object({ kind: z.literal('oauth'), status: z.int(), body: z.record(z.string(), z.unknown()) }),
  z.object({ kind: z.literal('data'), merchantId: z.int(), data: z.custom<object>(isObject) }),
  z.object({
    kind: z.literal('rejected'),
    slug: z.custom<Slug>(value => typeof value === 'string'),
    message: z.string().optional(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })),
  }),
]);

/** A step of an automation platform's OAuth flow, or a use of its access token. */
export const automationStep = internal({
  service: 'notification',
  name: 'platform.automation',
  input: AutomationRequest,
  output: AutomationReply,
});

/** Every internal operation. */
export const internalOperations: readonly InternalOperation[] = [
  ...services.flatMap(service => Object.values<InternalOperation>(snapshotOperations(service))),
  callersSnapshot,
  reportActivity,
  automationStep,
  fetchDocument,
  gatewayCallback,
  sandboxQuestion,
  usersByKey,
  exportRows,
  fetchExport,
  importUsers,
  priceChangeCounts,
];

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
