import { invalid, Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { liveStatuses } from '../domain/lifecycle.js';
import { subscriptions } from '../tables.js';

const newestLive = `and status in (${liveStatuses.map(status => `'${status}'`).join(', ')})
  order by create_time desc, id desc limit 1`;

/**
 * Id of the subscription that a request names: by its id, else the newest live one of a user. Throws Rejected
 * `invalid_parameters` for a request that names none, `subscription_not_found` for a user without one.
 */
export async function named(
  reader: Reader,
  { subscriptionId, userId, productId }: { subscriptionId: string; userId: number; productId?: number },
): Promise<string> {
  if (subscriptionId !== '') return subscriptionId;
  if (userId === 0) throw invalid('/subscriptionId', 'is required where userId is not given');
  const of = productId === undefined ? { userId } : { userId, productId };
  const [newest] = await reader.all(subscriptions, of, newestLive);
  if (newest) return newest.subscriptionId;
  throw new Rejected('subscription_not_found');
}
