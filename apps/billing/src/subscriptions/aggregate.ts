import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Subscription } from './domain/subscription.js';
import { subscriptions } from './tables.js';
import { subscriptionView } from './views.js';

type SubscriptionEvent = Extract<
  keyof { [E in contract.EventName as (typeof contract.events)[E]['aggregate'] extends 'subscription' ? E : never]: E },
  string
>;

/** A subscription. Locked before its pending update, its discount and its invoices. */
export const subscriptionAggregate: AggregateOf<SubscriptionEvent, Subscription, Subscription, contract.Subscription> =
  aggregate({
    name: 'subscription',
    title: 'Subscription',
    events: contract.events,
    table: subscriptions,
    key: 'subscriptionId',
    ids: ({ subscriptionId, userId, planId }) => ({ subscriptionId, userId, planId }),
    // identity asks for the subscriptions of a user
    lookups: { userId: value => ({ userId: Number(value) }) },
    view: subscriptionView,
  });
