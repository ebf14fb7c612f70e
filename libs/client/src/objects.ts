import type { EventData, events, WebhookEventName } from '@recur/contracts';
import type { UnknownEvent } from './webhook.js';

type Events = typeof events;
/** The kinds of objects that webhook events are about. */
export type Kind = Events[WebhookEventName]['aggregate'];
/** The names of the events of a kind. */
export type Named<K extends Kind> = {
  [N in WebhookEventName]: Events[N]['aggregate'] extends K ? N : never;
}[WebhookEventName];

/** The kind of object of every event. */
const kinds: { readonly [N in WebhookEventName]: Events[N]['aggregate'] } = {
  'subscription.created': 'subscription',
  'subscription.activated': 'subscription',
  'subscription.updated': 'subscription',
  'subscription.auto_renew.success': 'subscription',
  'subscription.auto_renew.failure': 'subscription',
  'subscription.cancelled': 'subscription',
  'subscription.end.of.this.cycle': 'subscription',
  'subscription.resume.end.of.this.cycle': 'subscription',
  'subscription.track': 'subscription',
  'subscription.track.willcancel': 'subscription',
  'subscription.track.user.outofsubscribe': 'subscription',
  'subscription.expired': 'subscription',
  'subscription.failed': 'subscription',
  'subscription.pending_update.create': 'pendingUpdate',
  'subscription.pending_update.success': 'pendingUpdate',
  'subscription.pending_update.cancelled': 'pendingUpdate',
  'subscription.onetime_addon.created': 'onetimeAddon',
  'subscription.onetime_addon.success': 'onetimeAddon',
  'subscription.onetime_addon.cancelled': 'onetimeAddon',
  'subscription.onetime_addon.expired': 'onetimeAddon',
  'subscription.price_change_notice': 'subscription',
  'subscription.imported': 'subscription',
  'user.created': 'user',
  'user.updated': 'user',
  'user.metric.update': 'userMetric',
  'payment.created': 'payment',
  'payment.authorised.need': 'payment',
  'payment.success': 'payment',
  'payment.cancelled': 'payment',
  'payment.failure': 'payment',
  'payment.report.mismatch': 'paymentReport',
  'refund.created': 'refund',
  'refund.success': 'refund',
  'refund.failure': 'refund',
  'refund.cancelled': 'refund',
  'refund.reversed': 'refund',
  'invoice.created': 'invoice',
  'invoice.process': 'invoice',
  'invoice.paid': 'invoice',
  'invoice.cancelled': 'invoice',
  'invoice.failed': 'invoice',
  'invoice.reversed': 'invoice',
  'webhook.endpoint.failing': 'endpoint',
  'webhook.endpoint.disabled': 'endpoint',
};

/** The object of an event within its merchant, by its data. Events with the same key are numbered by one `sequence`. */
const keys: { readonly [K in Kind]: (data: EventData<Named<K>>) => string } = {
  subscription: ({ subscriptionId }) => `subscription ${subscriptionId}`,
  pendingUpdate: ({ pendingUpdateId }) => `pendingUpdate ${pendingUpdateId}`,
  onetimeAddon: ({ id }) => `onetimeAddon ${id}`,
  user: ({ id }) => `user ${id}`,
  userMetric: ({ userId, metricId }) => `userMetric ${userId}-${metricId}`,
  payment: ({ paymentId }) => `payment ${paymentId}`,
  // reports about a payment are numbered with its other events
  paymentReport: ({ paymentId }) => `payment ${paymentId}`,
  refund: ({ refundId }) => `refund ${refundId}`,
  invoice: ({ invoiceId }) => `invoice ${invoiceId}`,
  endpoint: ({ id }) => `endpoint ${id}`,
};

/** The kind of object of an event; undefined for a name that this version does not know. */
export const kindOf = (type: string): Kind | undefined =>
  Object.hasOwn(kinds, type) ? kinds[type as WebhookEventName] : undefined;

/** The object of an event, such as `7 invoice in_…` of merchant 7; undefined for an event that this version does not know. */
export function objectOf({ type, merchantId, data }: UnknownEvent): string | undefined {
  const kind = kindOf(type);
  if (kind === undefined) return undefined;
  const key = keys[kind] as (data: unknown) => string;
  return `${merchantId} ${key(data)}`;
}
