import { z } from 'zod';
import { CreditAccount, CreditConfig } from './billing/credits/credits.js';
import { Gateway } from './billing/gateways.js';
import { Invoice } from './billing/invoices/shape.js';
import { Payment, PaymentReportMismatch } from './billing/payment-shape.js';
import { Refund } from './billing/refunds.js';
import { OnetimePaymentItem } from './billing/subscriptions/details.js';
import { Subscription, SubscriptionPendingUpdate } from './billing/subscriptions/shape.js';
import { VatNumberState } from './billing/taxes.js';
import { ClockMoved } from './billing/test-clock.js';
import { UserMetricUpdate } from './billing/usage/metrics.js';
import { MerchantCheckout } from './catalog/checkouts.js';
import { MerchantCurrencies } from './catalog/exchange.js';
import { MerchantMetric } from './catalog/metrics.js';
import { Plan } from './catalog/plan-shape.js';
import { Product } from './catalog/products.js';
import { memberStatus, optAccountType, totpType } from './codes.js';
import type { WebhookEventName } from './event-names.js';
import { code, flag, integer, type Shape, text, time } from './field.js';
import { AuthProvider } from './identity/auth-providers.js';
import { MerchantState } from './identity/merchants.js';
import { MerchantRole } from './identity/roles.js';
import { User } from './identity/user-shape.js';
import { WebhookEndpoint } from './notification/endpoints.js';
import type { Service } from './operation.js';

/** The actor of a command, as carried by events and shown in the operation log. */
export const Actor = z.object({
  kind: z.enum(['member', 'user', 'key', 'system']),
  /** The id of the member, user or API key; '' of the system. */
  id: text,
  /** The display name in the log: an e-mail or a masked key. */
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

/** An API key as gateways know it. The key itself is never stored. */
export const ApiKeyState = z.object({
  id: integer,
  merchantId: integer,
  jtiHash: text.describe('SHA-256 of the jti, base64url'),
  createTime: time,
  revokedTime: time.describe('Refused from this unix second on; 0: not revoked'),
});
export type ApiKeyState = z.output<typeof ApiKeyState>;

/** A signed-in member as gateways know them: sessions and permissions. */
export const MemberAccess = z.object({
  id: integer,
  merchantId: integer,
  email: text,
  grant: text.describe('Permissions of its roles (see permissions.ts)'),
  sessions: z
    .array(z.object({ sid: text, expireTime: time.describe('Unix second in real time') }))
    .describe('All valid sessions; empty: signed out'),
});
export type MemberAccess = z.output<typeof MemberAccess>;

/**
 * Changes that gateways follow to authenticate callers: public keys that verify tokens, revoked API keys, and
 * signed-in members.
 */
export const CallersChanged = z.object({
  keys: z.array(z.record(z.string(), z.unknown())).describe('All JWKs that verify tokens; empty: unchanged'),
  revoked: z.array(text).describe('SHA-256 (base64url) of the jti of each API key revoked since; refused immediately'),
  ending: z
    .array(ApiKeyState.pick({ jtiHash: true, revokedTime: true }))
    .describe('API keys that expire at the given time because of a rotation since'),
  members: z.array(MemberAccess).describe('Members whose sessions, permissions or e-mail changed since'),
});
export type CallersChanged = z.output<typeof CallersChanged>;

/** A member without credentials. */
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

/** An entry of the operation log; each command or job that changes something emits exactly one. */
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

export interface EventKind<D, A extends string> {
  /** The only service that emits the event. */
  owner: Service | 'every';
  /** The kind of object the event is about; versions count per object. */
  aggregate: A;
  /** True if the event is delivered to webhook endpoints; false for events internal to services. */
  webhook: boolean;
  /** The whole state after the step, for webhooks in the shape of the API. */
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

/** The registry of events: the name is the type on the wire, the subject `evt.<owner>.<name>`. */
export const events = {
  'subscription.created': webhook('billing', 'subscription', Subscription),
  'subscription.imported': webhook('billing', 'subscription', Subscription),
  'subscription.activated': webhook('billing', 'subscription', Subscription),
  'subscription.updated': webhook('billing', 'subscription', Subscription),
  'subscription.auto_renew.success': webhook('billing', 'subscription', Subscription),
  'subscription.auto_renew.failure': webhook('billing', 'subscription', Subscription),
  'subscription.price_change_notice': webhook('billing', 'subscription', Subscription),
  'subscription.cancelled': webhook('billing', 'subscription', Subscription),
  'subscription.end.of.this.cycle': webhook('billing', 'subscription', Subscription),
  'subscription.resume.end.of.this.cycle': webhook('billing', 'subscription', Subscription),
  'subscription.track': webhook('billing', 'subscription', Subscription),
  'subscription.track.willcancel': webhook('billing', 'subscription', Subscription),
  'subscription.track.user.outofsubscribe': webhook('billing', 'subscription', Subscription),
  'subscription.expired': webhook('billing', 'subscription', Subscription),
  'subscription.failed': webhook('billing', 'subscription', Subscription),
  'subscription.pending_update.create': webhook('billing', 'pendingUpdate', SubscriptionPendingUpdate),
  'subscription.pending_update.success': webhook('billing', 'pendingUpdate', SubscriptionPendingUpdate),
  'subscription.pending_update.cancelled': webhook('billing', 'pendingUpdate', SubscriptionPendingUpdate),
  'subscription.onetime_addon.created': webhook('billing', 'onetimeAddon', OnetimePaymentItem),
  'subscription.onetime_addon.success': webhook('billing', 'onetimeAddon', OnetimePaymentItem),
  'subscription.onetime_addon.cancelled': webhook('billing', 'onetimeAddon', OnetimePaymentItem),
  'subscription.onetime_addon.expired': webhook('billing', 'onetimeAddon', OnetimePaymentItem),
  'user.created': webhook('identity', 'user', User),
  'user.updated': webhook('identity', 'user', User),
  'user.metric.update': webhook('billing', 'userMetric', UserMetricUpdate),
  'payment.created': webhook('billing', 'payment', Payment),
  'payment.authorised.need': webhook('billing', 'payment', Payment),
  'payment.success': webhook('billing', 'payment', Payment),
  'payment.cancelled': webhook('billing', 'payment', Payment),
  'payment.failure': webhook('billing', 'payment', Payment),
  'payment.report.mismatch': webhook('billing', 'paymentReport', PaymentReportMismatch),
  'refund.created': webhook('billing', 'refund', Refund),
  'refund.success': webhook('billing', 'refund', Refund),
  'refund.failure': webhook('billing', 'refund', Refund),
  'refund.cancelled': webhook('billing', 'refund', Refund),
  'refund.reversed': webhook('billing', 'refund', Refund),
  'invoice.created': webhook('billing', 'invoice', Invoice),
  'invoice.process': webhook('billing', 'invoice', Invoice),
  'invoice.paid': webhook('billing', 'invoice', Invoice),
  'invoice.cancelled': webhook('billing', 'invoice', Invoice),
  'invoice.failed': webhook('billing', 'invoice', Invoice),
  'invoice.reversed': webhook('billing', 'invoice', Invoice),
  'webhook.endpoint.failing': webhook('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.disabled': webhook('notification', 'endpoint', WebhookEndpoint),

  'merchant.created': internal('identity', 'merchant', MerchantState),
  'merchant.updated': internal('identity', 'merchant', MerchantState),
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
  'plan.price_changed': internal('catalog', 'plan', Plan),
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
  'credit.account.updated': internal('billing', 'creditAccount', CreditAccount),
  'credit.config.created': internal('billing', 'creditConfig', CreditConfig),
  'credit.config.updated': internal('billing', 'creditConfig', CreditConfig),
  'gateway.created': internal('billing', 'gateway', Gateway),
  'gateway.updated': internal('billing', 'gateway', Gateway),
  'vat.number.invalid': internal('billing', 'vat_number', VatNumberState),
  'clock.moved': internal('billing', 'clock', ClockMoved),
  'webhook.endpoint.created': internal('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.updated': internal('notification', 'endpoint', WebhookEndpoint),
  'webhook.endpoint.deleted': internal('notification', 'endpoint', WebhookEndpoint),

  'operation.logged': internal('every', 'operation', OperationLogged),
} satisfies Record<WebhookEventName, unknown> & Record<string, unknown>;
export type EventName = keyof typeof events;
export type EventData<N extends EventName = EventName> = z.output<(typeof events)[N]['data']>;

/** An event on the wire, with unchecked `data`. */
export const EventEnvelope = z.object({
  id: text.describe('ev_…; also the webhook-id'),
  type: text,
  merchantId: integer,
  aggregate: text,
  aggregateId: text,
  version: z.int().min(1).describe('1, 2, 3 …, gapless per object'),
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

/** The subject of an event; `*` or `>` as the type matches many. */
export const eventSubject = (service: Service | '*', type: string) => `evt.${service}.${type}`;
