import { invalid, Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { isLive, type Subscription } from './domain/subscription.js';
import { subscriptions } from './tables.js';
import { subscriptionAggregate } from './views.js';

/** How an input names a subscription: by its id, else as that of a user to a product. */
export interface SubscriptionKey {
  subscriptionId: string;
  userId: number;
  /** Absent: of any product. */
  productId?: number;
}

/** Locks the subscription that an input names. Throws Rejected `subscription_not_found`. */
export async function lockNamed(tx: Tx, key: SubscriptionKey): Promise<Subscription> {
  const subscriptionId = key.subscriptionId || (await currentOf(tx, key)).subscriptionId;
  return tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
}

/** Throws Rejected `subscription_not_found` unless the subscription is the user's. It never changes its user. */
export async function assertOwnSubscription(reader: Reader, subscriptionId: string, userId: number): Promise<void> {
  await reader.get(subscriptions, { subscriptionId, userId }, 'subscription_not_found');
}

/** The IANA time zone in which a subscription's periods begin; undefined where there is no such subscription. */
export async function timeZoneOf(reader: Reader, subscriptionId: string): Promise<string | undefined> {
  return (await reader.find(subscriptions, { subscriptionId }))?.timeZone;
}

/** Kind, latest invoice and user of the subscription with this id; undefined where there is none. */
export async function ownerOf(reader: Reader, subscriptionId: string) {
  const sub = subscriptionId.startsWith('sub_') ? await reader.find(subscriptions, { subscriptionId }) : undefined;
  return sub && { type: 'subscription' as const, invoiceId: sub.latestInvoiceId, userId: sub.userId };
}

async function currentOf(reader: Reader, { userId, productId }: SubscriptionKey): Promise<Subscription> {
  const of = productId === undefined ? { userId } : { userId, productId };
  if (userId === 0) throw invalid('/subscriptionId', 'is required where no userId is given');
  const found = await newestOf(reader, of);
  if (!found) throw new Rejected('subscription_not_found', 'The user has no subscription to this product');
  return found;
}

/** A user's subscription to a product: the live one, else the newest. */
export async function newestOf(
  reader: Reader,
  of: { userId: number; productId?: number },
): Promise<Subscription | undefined> {
  const all = await reader.all(subscriptions, of, 'order by create_time desc, id desc limit 1000');
  return all.find(({ status }) => isLive(status)) ?? all[0];
}
