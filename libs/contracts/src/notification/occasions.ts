import type { WebhookEventName } from '../event-names.js';

/** When each event happens. */
export const eventOccasions: Readonly<Record<WebhookEventName, string>> = {
  'subscription.created': 'A subscription was created; it may still await its first payment.',
  'subscription.activated':
    'A subscription became active: its first period was paid or is a trial, or it was paid late.',
  'subscription.updated': 'A subscription changed in a way that has no event of its own.',
  'subscription.auto_renew.success': 'The next period of a subscription was paid, or costs nothing.',
  'subscription.auto_renew.failure':
    'A period began whose invoice is not paid: the subscription is incomplete until it is.',
  'subscription.cancelled': 'A subscription was cancelled.',
  'subscription.end.of.this.cycle': 'A subscription was set to end with its current period.',
  'subscription.resume.end.of.this.cycle': 'A subscription that was set to end with its period goes on.',
  'subscription.track': 'The invoice of the next period of a subscription was made and awaits its payment.',
  'subscription.track.willcancel':
    'A subscription that is set to end with its period will end soon; again where the end moves.',
  'subscription.track.user.outofsubscribe':
    'The last subscription of a user that was under way has ended: the user has none any more.',
  'subscription.expired': 'A subscription ended because it was not paid.',
  'subscription.failed': 'A subscription ended before it began: its first invoice was not paid.',
  'subscription.pending_update.create':
    'A change of a subscription was requested; it takes effect when it is paid or due.',
  'subscription.pending_update.success': 'A change of a subscription took effect.',
  'subscription.pending_update.cancelled': 'A change of a subscription was cancelled before it took effect.',
  'subscription.onetime_addon.created': 'A one-time add-on was ordered for a subscription.',
  'subscription.onetime_addon.success': 'A one-time add-on was paid.',
  'subscription.onetime_addon.cancelled': 'A one-time add-on was cancelled, or its payment was taken back.',
  'subscription.onetime_addon.expired': 'A one-time add-on was not paid in time.',
  'subscription.price_change_notice':
    'A new price of its plan was announced to a subscription, or one that was is taken back: see `priceChanges`.',
  'subscription.imported':
    'A subscription was imported from another system, active or over: give access by its status, as with any other.',
  'user.created': 'A user was created.',
  'user.updated': 'A user was changed.',
  'user.metric.update':
    "A user's usage of a metric changed; `alert` is above 0 when it reached a threshold of its limit.",
  'payment.created': 'A payment for an invoice was opened.',
  'payment.authorised.need': 'The user must confirm a payment at its `link`.',
  'payment.success': 'The full amount of a payment was received.',
  'payment.cancelled': 'A payment was cancelled, alone or with its invoice.',
  'payment.failure': 'A payment failed, or its invoice was not paid in time.',
  'payment.report.mismatch': 'A gateway reported money that fits no payment: look at it.',
  'refund.created': 'A refund was created.',
  'refund.success': 'A refund was paid out.',
  'refund.failure': 'A refund failed.',
  'refund.cancelled': 'A refund was cancelled before it was paid out.',
  'refund.reversed': 'The bank sent back a refund that had been paid out; its amount is credited to the user.',
  'invoice.created': 'An invoice was created as a draft, or a credit note was made.',
  'invoice.process': 'An invoice was finished: open, numbered, awaiting payment.',
  'invoice.paid':
    'An invoice was paid, or finished with a total of 0; or the money of a credit note was given back (its total is below 0).',
  'invoice.cancelled': 'An open invoice was cancelled.',
  'invoice.failed': 'An open invoice was not paid in time.',
  'invoice.reversed': 'A paid invoice lost its whole payment to a chargeback.',
  'webhook.endpoint.failing': 'A webhook endpoint is failing and will be disabled if this continues.',
  'webhook.endpoint.disabled': 'A webhook endpoint was disabled.',
};
