import type { Tx } from '@recur/platform';
import { knownPlans } from '../../customers/plans.js';
import type { Subscription } from '../domain/subscription.js';
import { withPriceChanges } from './domain/repricing.js';

/** The subscription with the price changes of its plans as they are now: for one that was priced earlier. */
export async function withPlannedPrices(tx: Tx, sub: Subscription): Promise<Subscription> {
  const plans = await knownPlans(
    tx,
    sub.items.map(({ planId }) => planId),
  );
  return withPriceChanges(sub, plans)?.sub ?? sub;
}
