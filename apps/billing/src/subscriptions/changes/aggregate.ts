import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import { type PendingUpdate, pendingUpdates } from './tables.js';
import { pendingUpdateView } from './views.js';

type PendingUpdateEvent = Extract<contract.EventName, `subscription.pending_update.${string}`>;

/** A change of a subscription that was submitted. Locked after the subscription, before its invoice. */
export const pendingUpdateAggregate: AggregateOf<
  PendingUpdateEvent,
  PendingUpdate,
  PendingUpdate,
  contract.SubscriptionPendingUpdate
> = aggregate({
  name: 'pendingUpdate',
  title: 'PendingUpdate',
  events: contract.events,
  table: pendingUpdates,
  key: 'pendingUpdateId',
  ids: ({ subscriptionId, userId, updatePlanId: planId }) => ({ subscriptionId, userId, planId }),
  view: pendingUpdateView,
});
