import { machine, type StateOf } from '@recur/kernel';

/**
 * Lifecycle of a subscription. `init` is the state before the first invoice and is never stored for long; `pending`
 * awaits the first payment; `processing` knows that it is under way. `incomplete` has not paid its current period in
 * time, or may be used before its first payment.
 *
 * Invariants: a user has at most one active, incomplete or processing subscription to a product; its live periods tile
 * time from its start to the end of the current one; each is billed at most once.
 */
export const subscriptionLifecycle = machine({
  init: { submit: 'pending', activate: 'active', suspend: 'incomplete', cancel: 'cancelled', fail: 'failed' },
  pending: {
    process: 'processing',
    activate: 'active',
    suspend: 'incomplete',
    cancel: 'cancelled',
    fail: 'failed',
  },
  active: { renew: 'active', change: 'active', suspend: 'incomplete', cancel: 'cancelled', expire: 'expired' },
  processing: {
    refuse: 'pending',
    activate: 'active',
    suspend: 'incomplete',
    cancel: 'cancelled',
    fail: 'failed',
  },
  incomplete: {
    activate: 'active',
    change: 'incomplete',
    suspend: 'incomplete',
    cancel: 'cancelled',
    expire: 'expired',
    fail: 'failed',
  },
  cancelled: {},
  expired: {},
  failed: {},
});
export type SubscriptionStatus = StateOf<typeof subscriptionLifecycle>;
export type SubscriptionMove = (typeof subscriptionLifecycle.moves)[number];

/** A user has at most one subscription to a product in these states. */
export const liveStatuses: readonly SubscriptionStatus[] = ['active', 'incomplete', 'processing'];
/** A new subscription replaces one in these states. */
export const unpaidStatuses: readonly SubscriptionStatus[] = ['init', 'pending'];
export const endedStatuses: readonly SubscriptionStatus[] = ['cancelled', 'expired', 'failed'];

export const isLive = (status: SubscriptionStatus): boolean => liveStatuses.includes(status);
export const hasEnded = (status: SubscriptionStatus): boolean => endedStatuses.includes(status);
