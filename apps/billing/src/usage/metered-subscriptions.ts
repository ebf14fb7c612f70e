import {
  exponentOf,
  type Plan,
  type PlanSnapshot,
  type PlanSnapshotAddon,
  type Product,
  type Subscription,
  type UserOnetimeAddonDetail,
} from '@recur/contracts';
import { rateOf } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { convertedCharge } from '../pricing/usage.js';
import type { PlanTerms, UsageSubscription } from './domain/subscription.js';

/** A subscription as answers show it beside its usage. */
export interface ShownSubscription {
  subscription: Subscription | null;
  product: Product | null;
  plan: Plan | null;
  addons: PlanSnapshotAddon[];
  /** Add-ons sold once that were bought and paid in the current period. */
  onetimeAddons: UserOnetimeAddonDetail[];
  isPaid: boolean;
}

/**
 * Subscriptions as usage is counted for them, as plain data; the only way in which usage depends on them.
 * Reads are of the transaction that asks.
 */
export abstract class MeteredSubscriptions {
  /** The users' subscriptions that live, or ended within the last 35 days, with the periods of that time. */
  abstract ofUsers(reader: Reader, userIds: readonly number[]): Promise<UsageSubscription[]>;
  /** A subscription, ended or not; with older periods too from the one before `until` on. */
  abstract ofSubscription(
    reader: Reader,
    subscriptionId: string,
    until?: number,
  ): Promise<UsageSubscription | undefined>;
  abstract shown(reader: Reader, subscriptionId: string): Promise<ShownSubscription>;
  /** Id of a user's subscription to a product, 0 for any: the live one, else the newest; undefined for none. */
  abstract newestId(reader: Reader, userId: number, productId: number): Promise<string | undefined>;
}

/** Plans of a subscription, as a snapshot or one of its changes has them. */
export interface SoldPlans extends Pick<PlanSnapshot, 'plan' | 'addons'> {
  quantity: number;
  currency: string;
}

/** The terms of a plan, and those of its add-ons by their ids. */
export function termsOfPlans({ plan, addons, quantity, currency }: SoldPlans): PlanTerms[] {
  const own = plan ? [termsOf(plan, quantity, currency)] : [];
  const more = addons.flatMap(one => (one.addonPlan ? [termsOf(one.addonPlan, one.quantity, currency)] : []));
  return [...own, ...more.sort((a, b) => a.planId - b.planId)];
}

/** The terms of a plan or an add-on, with its usage prices in the subscription's currency at the rate of its snapshot. */
function termsOf(plan: Plan, quantity: number, currency: string): PlanTerms {
  const charges = [...plan.metricMeteredCharge, ...plan.metricRecurringCharge];
  const rule = plan.multiCurrencies.find(one => one.currency === currency && !one.disable);
  const conversion = {
    rate: rateOf(rule?.exchangeRate ?? 0),
    fromExponent: exponentOf(plan.currency),
    toExponent: exponentOf(currency),
  };
  return {
    planId: plan.id,
    quantity,
    limits: plan.metricLimits,
    autoUpgradePlanId: plan.autoUpgradePlanId,
    charges: plan.currency === currency ? charges : charges.map(charge => convertedCharge(charge, conversion)),
  };
}
