import { z } from 'zod';
import { memberStatus, optAccountType, totpType } from './codes.js';
import { type WebhookEventName, webhookEventNames } from './event-names.js';
import { code, flag, integer, type Shape, text, time } from './field.js';
import type { Service } from './operation.js';
import { AuthProvider } from './shapes/auth-provider.js';
import { MerchantCheckout } from './shapes/checkout.js';
import { MerchantCurrencies } from './shapes/currency.js';
import { Gateway } from './shapes/gateway.js';
import { Invoice, InvoiceMerchant } from './shapes/invoice.js';
import { MerchantRole } from './shapes/member.js';
import { MerchantMetric } from './shapes/metric.js';
import { Payment } from './shapes/payment.js';
import { Plan } from './shapes/plan.js';
import { Product } from './shapes/product.js';
import { Subscription } from './shapes/subscription.js';
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

/** A member of whom gateways must know, since it is signed in: all of its sessions, and what it may do. */
export const MemberAccess = z.object({
  id: integer,
  merchantId: integer,
  email: text,
  grant: text.describe('What its roles permit (see permissions.ts)'),
  sessions: z
    .array(z.object({ sid: text, expireTime: time.describe('Unix second of the machine') }))
    .describe('All that hold; empty: it is signed in no more'),
});
export type MemberAccess = z.output<typeof MemberAccess>;

/**
 * What gateways follow to know callers: the public keys that verify tokens, the API keys that do not hold, and the
 * members who are signed in.
 */
export const CallersChanged = z.object({
  keys: z.array(z.record(z.string(), z.unknown())).describe('JWKs, all that verify; empty: unchanged'),
  revoked: z
    .array(text)
    .describe('SHA-256 of the jti of each API key revoked since, base64url: refused at once, whatever the time'),
  ending: z
    .array(ApiKeyState.pick({ jtiHash: true, revokedTime: true }))
    .describe('API keys that hold until then, by a rotation since'),
  members: z.array(MemberAccess).describe('Those whose sessions, permissions or e-mail are others since'),
});
export type CallersChanged = z.output<typeof CallersChanged>;

/** A member without what it proves itself by. */
export const MemberState = z.object({
  id: integer,
  merchantId: integer,
  email: text,
  firstName: text,
  lastName: text,
  mobile: text,
  isOwner: flag,
  roleIds: z.array(integer),
  status: code(memberStatus),
  totpType: code(totpType),
  createTime: time,
});
export type MemberState = z.output<typeof MemberState>;

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

interface EventKind<D, A extends string> {
  /** The only service that emits it. */
  owner: Service | 'every';
  /** The kind of object it is about; versions are counted per object. */
  aggregate: A;
  /** It goes to webhook endpoints; an event without this is seen by services only. */
  webhook: boolean;
  /** The whole state after the step; of a webhook the very shape that the API answers. */
  data: Shape<D>;
}

const webhook = <D, A extends string>(owner: Service, aggregate: A, data: Shape<D>): EventKind<D, A> => ({
  owner,
  aggregate,
  webhook: true,
  data,
});
const internal = <D, A extends string>(owner: Service | 'every', aggregate: A, data: Shape<D>): EventKind<D, A> => ({
  owner,
  aggregate,
  webhook: false,
  data,
});

/** Every event: its name is the type on the wire, its subject `evt.<owner>.<name>`. */
export const events = {
  'subscription.created': webhook('billing', 'subscription', Subscription),
  'subscription.activated': webhook('billing', 'subscription', Subscription),
  'subscription.updated': webhook('billing', 'subscription', Subscription),
  'subscription.auto_renew.success': webhook('billing', 'subscription', Subscription),
  'subscription.auto_renew.failure': webhook('billing', 'subscription', Subscription),
  'subscription.cancelled': webhook('billing', 'subscription', Subscription),
  'subscription.end.of.this.cycle': webhook('billing', 'subscription', Subscription),
  'subscription.resume.end.of.this.cycle': webhook('billing', 'subscription', Subscription),
  'subscription.expired': webhook('billing', 'subscription', Subscription),
  'subscription.failed': webhook('billing', 'subscription', Subscription),
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
  'merchant.updated': internal('identity', 'merchant', InvoiceMerchant),
  'member.created': internal('identity', 'member', MemberState),
  'member.updated': internal('identity', 'member', MemberState),
  'role.created': internal('identity', 'role', MerchantRole),
  'role.updated': internal('identity', 'role', MerchantRole),
  'role.deleted': internal('identity', 'role', MerchantRole),
  'apikey.created': internal('identity', 'apikey', ApiKeyState),
  'apikey.revoked': internal('identity', 'apikey', ApiKeyState),
  'provider.created': internal('identity', 'provider', AuthProvider),
  'provider.updated': internal('identity', 'provider', AuthProvider),
  'provider.deleted': internal('identity', 'provider', AuthProvider),
  'callers.changed': internal('identity', 'callers', CallersChanged),
  'product.created': internal('catalog', 'product', Product),
  'product.updated': internal('catalog', 'product', Product),
  'product.activated': internal('catalog', 'product', Product),
  'product.inactivated': internal('catalog', 'product', Product),
  'product.deleted': internal('catalog', 'product', Product),
  'plan.created': internal('catalog', 'plan', Plan),
  'plan.updated': internal('catalog', 'plan', Plan),
  'plan.activated': internal('catalog', 'plan', Plan),
  'plan.published': internal('catalog', 'plan', Plan),
  'plan.unpublished': internal('catalog', 'plan', Plan),
  'plan.archived': internal('catalog', 'plan', Plan),
  'plan.deleted': internal('catalog', 'plan', Plan),
  'checkout.created': internal('catalog', 'checkout', MerchantCheckout),
  'checkout.updated': internal('catalog', 'checkout', MerchantCheckout),
  'checkout.published': internal('catalog', 'checkout', MerchantCheckout),
  'checkout.archived': internal('catalog', 'checkout', MerchantCheckout),
  'metric.created': internal('catalog', 'metric', MerchantMetric),
  'metric.updated': internal('catalog', 'metric', MerchantMetric),
  'metric.deleted': internal('catalog', 'metric', MerchantMetric),
  'currency.updated': internal('catalog', 'currency', MerchantCurrencies),
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

/** Events that others listen for already, and that their owner does not emit yet. It only shrinks. */
export const awaitedEventNames = [
  'subscription.created',
  'subscription.activated',
  'subscription.updated',
  'subscription.auto_renew.success',
  'subscription.auto_renew.failure',
  'subscription.cancelled',
  'subscription.end.of.this.cycle',
  'subscription.resume.end.of.this.cycle',
  'subscription.expired',
  'subscription.failed',
] as const satisfies readonly EventName[];

/** The names of the webhook events that are really emitted, in the order of `webhookEventNames`. */
export const emittedEventNames: readonly EmittedEventName[] = webhookEventNames.filter(isEmitted);
export type EmittedEventName = Exclude<WebhookEventName & EventName, (typeof awaitedEventNames)[number]>;

function isEmitted(name: WebhookEventName): name is EmittedEventName {
  return name in events && !awaitedEventNames.some(awaited => awaited === name);
}

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
