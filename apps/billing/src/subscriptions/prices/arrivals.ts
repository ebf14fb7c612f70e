import type { Tx } from '@recur/platform';
import { type KnownPlan, knownPlans } from '../../customers/plans.js';
import { changesOf } from './domain/entry.js';

/** Kind of due work: plans a price change of a plan over the subscriptions that sell it. Its key is `walkKey`. */
export const PRICE_WALK = 'plan.price_change';

/** A walk over the subscriptions to a plan: of its two rounds one, after a subscription. */
export interface PriceWalk {
  planId: number;
  round: number;
  /** '' at the beginning. */
  after: string;
}

export const walkKey = ({ planId, round, after }: PriceWalk): string => `${planId}/${round}/${after}`;

export function walkOf(key: string): PriceWalk {
  const [planId, round, after = ''] = key.split('/');
  return { planId: Number(planId), round: Number(round), after };
}

/** Seconds after which the second round begins: an order that was priced before may be saved after the first has passed. */
const SECOND_ROUND_SECONDS = 60;

/** Begins the walks of the price changes that changed plans bring. */
export async function pricesArrive(tx: Tx, changed: readonly KnownPlan[]): Promise<void> {
  const plans = changed.filter(({ data }) => changesOf(data) > 0);
  if (plans.length === 0) return;
  const before = await knownPlans(
    tx,
    plans.map(({ id }) => id),
  );
  for (const { id: planId, data } of plans) {
    const known = before.get(planId);
    if (known && changesOf(data) <= changesOf(known)) continue;
    tx.schedule(PRICE_WALK, walkKey({ planId, round: 1, after: '' }), tx.now);
    tx.schedule(PRICE_WALK, walkKey({ planId, round: 2, after: '' }), tx.now + SECOND_ROUND_SECONDS);
  }
}
