import { Injectable } from '@nestjs/common';
import { exponentOf, type Plan, type PlanSnapshot, type PlanSnapshotAddon, type Subscription } from '@recur/contracts';
import { rateOf } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { convertedCharge } from '../pricing/usage.js';
import type { PlanTerms, Segment, UsageSubscription } from './domain/facts.js';
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

/** The terms of a plan or an add-on, with its usage prices in the subscription's currency at the rate of its snapshot. */
export function planTerms(plan: Plan, quantity: number, currency: string): PlanTerms {
  const charges = [...plan.metricMeteredCharge, ...plan.metricRecurringCharge];
  const rule = plan.multiCurrencies.find(one => one.currency === currency && !one.disable);
  const conversion = {
    rate: rateOf(rule?.exchangeRate ?? 0),
    fromExponent: exponentOf(plan.currency),
    toExponent: exponentOf(currency),
  };
  return {
    ...{ planId: plan.id, quantity, limits: plan.metricLimits, autoUpgradePlanId: plan.autoUpgradePlanId },
    charges: plan.currency === currency ? charges : charges.map(charge => convertedCharge(charge, conversion)),
  };
}

/** Plans of a subscription as it keeps them. */
type Plans = Pick<PlanSnapshot, 'plan' | 'addons'>;

/** A change of plan: its time, and the terms before it. */
interface Change extends Plans {
  at: number;
  quantity: number;
}

/** A row of what the queries below select. */
interface Selected {
  subscription_id: string;
  user_id: string;
  product_id: string;
  currency: string;
  status: string;
  quantity: number;
  trial_end: string;
  current_period_start: string;
  current_period_end: string;
  started: string;
  ended: string;
  grace_seconds: string;
  late_usage: 'next' | 'refuse';
  plan_snapshot: PlanSnapshot;
  periods: { start: number; end: number }[];
  changes: Change[];
}

/** Facts from the tables of subscriptions, their periods and finished changes. */
@Injectable()
export class StoredSubscriptionFacts extends SubscriptionFacts {
  async ofUsers(reader: Reader, userIds: readonly number[]): Promise<UsageSubscription[]> {
    const since = reader.now - eventTimes.lateSeconds;
    const rows = await reader.query(ofUsersText, [reader.merchantId, since, reader.now, userIds]);
    return rows.map(row => factsIn(row as unknown as Selected, reader.now));
  }

  async ofSubscription(reader: Reader, subscriptionId: string): Promise<UsageSubscription | undefined> {
    const since = reader.now - eventTimes.lateSeconds;
    const [row] = await reader.query(ofSubscriptionText, [reader.merchantId, since, reader.now, subscriptionId]);
    return row && factsIn(row as unknown as Selected, reader.now);
  }

  async shown(reader: Reader, subscriptionId: string): Promise<ShownSubscription> {
    const [row] = await reader.query(
      'select plan_snapshot, status from subscriptions where merchant_id = $1 and subscription_id = $2',
      [reader.merchantId, subscriptionId],
    );
    const { plan = null, addons = [] } = (row?.plan_snapshot ?? {}) as Partial<PlanSnapshot>;
    return { subscription: null, plan, addons, isPaid: row?.status === 'active' };
  }
}

// A subscription takes usage once it was active; one that ended did so when it was cancelled or at its period's end.
const selected = `select * from (select s.subscription_id, s.user_id, s.product_id, s.currency, s.status, s.quantity,
    s.trial_end, s.current_period_start, s.current_period_end, s.plan_snapshot,
    (select min(p.start_at) from subscription_periods p where p.merchant_id = s.merchant_id
      and p.subscription_id = s.subscription_id and p.state <> 'void') as started,
    case when s.status in ('cancelled', 'expired', 'failed') then
      least(s.current_period_end, case when s.cancel_time > 0 then s.cancel_time else s.modify_time end)
      else 0 end as ended,
    coalesce(c.usage_grace_seconds, 3600) as grace_seconds, coalesce(c.late_usage, 'next') as late_usage,
    (select coalesce(jsonb_agg(jsonb_build_object('start', p.start_at, 'end', p.end_at) order by p.start_at), '[]')
      from subscription_periods p where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id
      and p.state <> 'void' and p.end_at > $2 and p.start_at <= $3) as periods,
    (select coalesce(jsonb_agg(jsonb_build_object('at', u.at, 'quantity', u.quantity, 'plan', u.plan_snapshot -> 'plan',
      'addons', u.plan_snapshot -> 'addons') order by u.at), '[]')
      from (select *, case when proration_date > 0 then proration_date else effect_time end as at
        from subscription_pending_updates where merchant_id = s.merchant_id and subscription_id = s.subscription_id
        and status = 'finished') u where u.at > $2 and u.at <= $3) as changes
  from subscriptions s left join subscription_settings c on c.merchant_id = s.merchant_id
  where s.merchant_id = $1 and s.status not in ('init', 'pending') and s.first_paid_time + s.trial_end > 0`;
const ofUsersText = `${selected} and s.user_id = any($4)) found where ended = 0 or ended > $2`;
const ofSubscriptionText = `${selected} and s.subscription_id = $4) found`;

function factsIn(row: Selected, now: number): UsageSubscription {
  const graceSeconds = Number(row.grace_seconds);
  const current = { ...row.plan_snapshot, quantity: row.quantity };
  return {
    ...{ subscriptionId: row.subscription_id, userId: Number(row.user_id), productId: Number(row.product_id) },
    ...{ currency: row.currency, start: Number(row.started), end: Number(row.ended), trialEnd: Number(row.trial_end) },
    ...{ graceSeconds, lateUsage: row.late_usage },
    periods: wholePeriods(row).map(({ start, end }) => ({
      ...{ start, end, state: now < end ? 'open' : now < end + graceSeconds ? 'grace' : 'invoiced' },
      segments: segmentsOf({ start, end }, row.changes, current, row.currency),
    })),
  };
}

/** Periods by which usage is counted: a change may have cut the current one into several rows, which are one here. */
function wholePeriods({ periods, current_period_start: start, current_period_end: end }: Selected) {
  const current = { start: Number(start), end: Number(end) };
  const others = periods.filter(row => row.end <= current.start || row.start >= current.end);
  const isShown = periods.length > others.length;
  return [...others, ...(isShown ? [current] : [])].sort((one, other) => one.start - other.start);
}

/** The terms of a period: those that each change within it replaced, and those since. */
function segmentsOf(
  { start, end }: { start: number; end: number },
  changes: readonly Change[],
  current: Plans & { quantity: number },
  currency: string,
): Segment[] {
  const edges = [start, ...changes.map(({ at }) => at).filter(at => at > start && at < end)];
  return edges.map((from, at) => {
    // the first change after a time replaced the terms that were in force at it
    const { plan, addons, quantity } = changes.find(change => change.at > from) ?? current;
    const own = plan ? [planTerms(plan, quantity, currency)] : [];
    const more = addons.flatMap(one => (one.addonPlan ? [planTerms(one.addonPlan, one.quantity, currency)] : []));
    return { start: from, end: edges[at + 1] ?? end, terms: [...own, ...more.sort((a, b) => a.planId - b.planId)] };
  });
}
