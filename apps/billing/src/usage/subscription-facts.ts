import { Injectable } from '@nestjs/common';
import type { Plan, PlanSnapshotAddon, Subscription } from '@recur/contracts';
import type { Reader, Row } from '@recur/platform';
import type { PlanTerms, UsagePeriod, UsageSubscription } from './domain/facts.js';
import { eventTimes } from './domain/placing.js';

/** A subscription as answers show it beside its usage. */
export interface ShownSubscription {
  subscription: Subscription | null;
  plan: Plan | null;
  addons: PlanSnapshotAddon[];
  isPaid: boolean;
}

/**
 * The facts of subscriptions by which usage is counted, as plain data; the only way in which usage depends on them.
 * Reads are of the transaction that asks.
 */
export abstract class SubscriptionFacts {
  /** The users' subscriptions that live, or ended within the last 35 days, with the periods of that time. */
  abstract ofUsers(reader: Reader, userIds: readonly number[]): Promise<UsageSubscription[]>;
  /** A subscription, ended or not. */
  abstract ofSubscription(reader: Reader, subscriptionId: string): Promise<UsageSubscription | undefined>;
  abstract shown(reader: Reader, subscriptionId: string): Promise<ShownSubscription>;
}

/** The terms of a plan or an add-on. */
export const planTerms = (plan: Plan, quantity: number): PlanTerms => ({
  planId: plan.id,
  quantity,
  limits: plan.metricLimits,
  charges: [...plan.metricMeteredCharge, ...plan.metricRecurringCharge],
  autoUpgradePlanId: plan.autoUpgradePlanId,
});

interface Snapshot {
  plan: Plan;
  addons?: { addonPlan: Plan | null; quantity: number }[];
}

/** Facts from the tables of subscriptions and their periods. */
@Injectable()
export class StoredSubscriptionFacts extends SubscriptionFacts {
  async ofUsers(reader: Reader, userIds: readonly number[]): Promise<UsageSubscription[]> {
    const rows = await reader.query(ofUsersText, [reader.merchantId, userIds, reader.now - eventTimes.lateSeconds]);
    return rows.map(factsIn);
  }

  async ofSubscription(reader: Reader, subscriptionId: string): Promise<UsageSubscription | undefined> {
    const from = reader.now - eventTimes.lateSeconds;
    const [row] = await reader.query(ofSubscriptionText, [reader.merchantId, subscriptionId, from]);
    return row && factsIn(row);
  }

  async shown(reader: Reader, subscriptionId: string): Promise<ShownSubscription> {
    const [row] = await reader.query(
      'select plan_snapshot, status from subscriptions where merchant_id = $1 and subscription_id = $2',
      [reader.merchantId, subscriptionId],
    );
    const snapshot = row?.plan_snapshot as Snapshot | undefined;
    const addons = snapshot?.addons ?? [];
    return { subscription: null, plan: snapshot?.plan ?? null, addons, isPaid: row?.status === 'active' };
  }
}

const selected = `select s.*, (select coalesce(json_agg(json_build_object('start', p.start_at, 'end', p.end_at,
    'state', p.state) order by p.seq), '[]') from subscription_periods p where p.merchant_id = s.merchant_id
    and p.subscription_id = s.subscription_id and p.end_at > $3) as periods
  from subscriptions s where s.merchant_id = $1`;
const ofUsersText = `${selected} and s.user_id = any($2) and (s.end_time = 0 or s.end_time > $3)`;
const ofSubscriptionText = `${selected} and s.subscription_id = $2`;

function factsIn(row: Row): UsageSubscription {
  const { plan, addons = [] } = row.plan_snapshot as Snapshot;
  const of = addons.flatMap(({ addonPlan, quantity }) => (addonPlan ? [planTerms(addonPlan, quantity)] : []));
  const terms = [planTerms(plan, Number(row.quantity)), ...of.sort((a, b) => a.planId - b.planId)];
  const periods = row.periods as Omit<UsagePeriod, 'segments'>[];
  return {
    ...{ subscriptionId: String(row.subscription_id), userId: Number(row.user_id), productId: plan.productId },
    ...{ currency: String(row.currency), start: Number(row.create_time), end: Number(row.end_time) },
    ...{ trialEnd: Number(row.trial_end), graceSeconds: 3600, lateUsage: 'next' },
    periods: periods.map(period => ({ ...period, segments: [{ start: period.start, end: period.end, terms }] })),
  };
}
