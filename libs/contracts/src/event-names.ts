import { z } from 'zod';

/** Names of the webhook events, in the order of webhook/event_list. */
export const webhookEventNames = [
  'subscription.created',
  'subscription.activated',
  'subscription.updated',
  'subscription.auto_renew.success',
  'subscription.auto_renew.failure',
  'subscription.cancelled',
  'subscription.end.of.this.cycle',
  'subscription.resume.end.of.this.cycle',
  'subscription.track',
  'subscription.track.willcancel',
  'subscription.track.user.outofsubscribe',
  'subscription.expired',
  'subscription.failed',
  'subscription.pending_update.create',
  'subscription.pending_update.success',
  'subscription.pending_update.cancelled',
  'subscription.onetime_addon.created',
  'subscription.onetime_addon.success',
  'subscription.onetime_addon.cancelled',
  'subscription.onetime_addon.expired',
  'subscription.price_change_notice',
  'subscription.imported',
  'user.created',
  'user.updated',
  'user.metric.update',
  'payment.created',
  'payment.authorised.need',
  'payment.success',
  'payment.cancelled',
  'payment.failure',
  'payment.report.mismatch',
  'refund.created',
  'refund.success',
  'refund.failure',
  'refund.cancelled',
  'refund.reversed',
  'invoice.created',
  'invoice.process',
  'invoice.paid',
  'invoice.cancelled',
  'invoice.failed',
  'invoice.reversed',
  'webhook.endpoint.failing',
  'webhook.endpoint.disabled',
] as const;
export type WebhookEventName = (typeof webhookEventNames)[number];

/** A webhook event name. An unknown one is quoted in the message, since a list holds many. */
export const eventName = z
  .enum(webhookEventNames, {
    error: ({ input }) => {
      const unknown = typeof input === 'string' ? `: ${JSON.stringify(input.slice(0, 80))}` : '';
      return `must be an event name of webhook/event_list${unknown && ` and is not one of them${unknown}`}`;
    },
  })
  .meta({ 'x-shape': 'EventName' });
