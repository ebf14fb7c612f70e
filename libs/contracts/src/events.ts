import { z } from 'zod';
import { optAccountType } from './codes.js';
import { type WebhookEventName, webhookEventNames } from './event-names.js';
import { integer, type Shape, text, time } from './field.js';
import type { Service } from './operation.js';
import { Gateway } from './shapes/gateway.js';
import { Invoice, InvoiceMerchant } from './shapes/invoice.js';
import { Payment } from './shapes/payment.js';
import { Plan } from './shapes/plan.js';
import { Product } from './shapes/product.js';
import { User } from './shapes/user.js';
import { WebhookEndpoint } from './shapes/webhook.js';

/** Who acts: what `db.write` is told, what an event carries and what the operation log shows. */
export const Actor = z.object({
  kind: z.enum(['member', 'user', 'key', 'system']),
  /** The id of the member, user or API key; '' of the system. */
  id: text,
  /** What the log shows: an e-mail, or the masked key. */
  display: text,
});
export type Actor = z.output<typeof Actor>;

const accountTypes = {
  member: optAccountType.member,
  user: optAccountType.user,
  key: optAccountType.openApi,
  system: optAccountType.system,
};
/** The code of an actor's kind in the operation log. */
export const optAccountTypeOf = (actor: Actor) => accountTypes[actor.kind];

/** What the gateway must know of an API key. The key itself is never stored. */
export const ApiKeyState = z.object({
  id: integer,
  merchantId: integer,
  jtiHash: text.describe('SHA-256 of the jti, base64url'),
  createTime: time,
  revokedTime: time.describe('From this unix second it is refused; 0: it is not revoked'),
});
export type ApiKeyState = z.output<typeof ApiKeyState>;

/** What gateways follow to know callers: the public keys that verify tokens, and the API keys that do not hold. */
export const CallersChanged = z.object({
  keys: z.array(z.record(z.string(), z.unknown())).describe('JWKs, all that verify; empty: unchanged'),
  revoked: z
    .array(text)
    .describe('SHA-256 of the jti of each API key revoked since, base64url: refused at once, whatever the time'),
  ending: z
    .array(ApiKeyState.pick({ jtiHash: true, revokedTime: true }))
    .describe('API keys that hold until then, by a rotation since'),
});
export type CallersChanged = z.output<typeof CallersChanged>;

/** One entry of the operation log: whoever changes something emits exactly one. */
export const OperationLogged = z.object({
  actor: Actor,
  target: text.describe('Invoice(<id>), Plan(<id>), …'),
  content: text.describe('New, Finish, Cancel, …'),
  ids: z.object({
    userId: integer.optional(),
    planId: integer.optional(),
    invoiceId: text.optional(),
    subscriptionId: text.optional(),
    discountCode: text.optional(),
  }),
});
export type OperationLogged = z.output<typeof OperationLogged>;

interface EventKind<D> {
  /** The only service that emits it. */
  owner: Service | 'every';
  /** The kind of object it is about; versions are counted per object. */
  aggregate: string;
  /** It goes to webhook endpoints; an event without this is seen by services only. */
  webhook: boolean;
  /** The whole state after the step; of a webhook the very shape that the API answers. */
  data: Shape<D>;
}

const webhook = <D>(owner: Service, aggregate: string, data: Shape<D>): EventKind<D> => ({
  owner,
  aggregate,
  webhook: true,
  data,
});
const internal = <D>(owner: Service | 'every', aggregate: string, data: Shape<D>): EventKind<D> => ({
  owner,
  aggregate,
  webhook: false,
  data,
});

/** Every event that is emitted: its name is the type on the wire, its subject `evt.<owner>.<name>`. */
export const events = {
  'user.created': webhook('identity', 'user', User),
  'user.updated': webhook('identity', 'user', User),
  'payment.created': webhook('billing', 'payment', Payment),
  'payment.success': webhook('billing', 'payment', Payment),
  'payment.cancelled': webhook('billing', 'payment', Payment),
  'payment.failure': webhook('billing', 'payment', Payment),
  'invoice.created': webhook('billing', 'invoice', Invoice),
  'invoice.process': webhook('billing', 'invoice', Invoice),
  'invoice.paid': webhook('billing', 'invoice', Invoice),
  'invoice.cancelled': webhook('billing', 'invoice', Invoice),
  'invoice.failed': webhook('billing', 'invoice', Invoice),
  'webhook.endpoint.failing': webhook('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.disabled': webhook('notification', 'endpoint', WebhookEndpoint),

  'merchant.created': internal('identity', 'merchant', InvoiceMerchant),
  'apikey.created': internal('identity', 'apikey', ApiKeyState),
  'apikey.revoked': internal('identity', 'apikey', ApiKeyState),
  'callers.changed': internal('identity', 'callers', CallersChanged),
  'product.created': internal('catalog', 'product', Product),
  'product.updated': internal('catalog', 'product', Product),
  'product.activated': internal('catalog', 'product', Product),
  'plan.created': internal('catalog', 'plan', Plan),
  'plan.updated': internal('catalog', 'plan', Plan),
  'plan.activated': internal('catalog', 'plan', Plan),
  'plan.published': internal('catalog', 'plan', Plan),
  'plan.unpublished': internal('catalog', 'plan', Plan),
  'invoice.updated': internal('billing', 'invoice', Invoice),
  'invoice.deleted': internal('billing', 'invoice', Invoice),
  'gateway.created': internal('billing', 'gateway', Gateway),
  'gateway.updated': internal('billing', 'gateway', Gateway),
  'webhook.endpoint.created': internal('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.updated': internal('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.deleted': internal('notification', 'endpoint', WebhookEndpoint),

  'operation.logged': internal('every', 'operation', OperationLogged),
};
export type EventName = keyof typeof events;
export type EventData<N extends EventName = EventName> = z.output<(typeof events)[N]['data']>;

/** The names of the webhook events that are really emitted, in the order of `webhookEventNames`. */
export const emittedEventNames: readonly WebhookEventName[] = webhookEventNames.filter(name => name in events);

/** The name of an event that is emitted, as an input. */
export const emittedName = z.enum(emittedEventNames as [string, ...string[]], {
  error: 'is not the name of an event that is emitted: webhook/event_list has them',
});

/** An event as it travels, its `data` not yet checked. */
export const EventEnvelope = z.object({
  id: text.describe('ev_…; of a webhook also the webhook-id'),
  type: text,
  merchantId: integer,
  aggregate: text,
  aggregateId: text,
  version: z.int().min(1).describe('1, 2, 3 … of this object, without a gap'),
  at: time,
  actor: Actor,
  requestId: text,
  traceparent: text,
  data: z.unknown(),
});
/** An event of a known type. */
export interface EventEnvelope<N extends EventName = EventName> extends z.output<typeof EventEnvelope> {
  type: N;
  data: EventData<N>;
}

/** Where an event of `service` is published; `*` or `>` as the type names many. */
export const eventSubject = (service: Service | '*', type: string) => `evt.${service}.${type}`;
