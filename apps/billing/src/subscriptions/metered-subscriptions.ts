import { Injectable } from '@nestjs/common';
import type { Plan, PlanSnapshot } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { productOf, shownAddons, shownPlan } from '../customers/catalog.js';
import type { ServicePeriod } from '../pricing/proration.js';
import { oldestUnbilled } from '../usage/counters.js';
import { eventTimes } from '../usage/domain/counter.js';
import type { Segment, UsageSubscription } from '../usage/domain/subscription.js';
import {
  MeteredSubscriptions,
  type ShownSubscription,
  type SoldPlans,
  termsOfPlans,
} from '../usage/metered-subscriptions.js';
import { withNewAnchor } from './domain/apply-change.js';
import { endsWithPeriod, followingPeriods } from './domain/renewal.js';
import type { MultiTrial } from './domain/subscription.js';
import { newestOf } from './find.js';
import { subscriptions } from './tables.js';
import { subscriptionView } from './views.js';

/** A change of plan: its time, and what was sold before it. */
interface Change extends SoldPlans {
  at: number;
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
  takes_until: string;
  grace_seconds: string;
  late_usage: 'next' | 'refuse';
  plan_snapshot: PlanSnapshot;
  anchor: string;
  period_no: number;
  time_zone: string;
  multi_trial: MultiTrial | null;
  cancel_at_period_end: boolean;
  /** The plan and its terms from the end of the current period on. */
  deferred: { snapshot: PlanSnapshot; quantity: number; currency: string } | null;
  periods: { start: number; end: number }[];
  free: { start: number; end: number }[];
  changes: Change[];
}

/** Facts from the tables of subscriptions, their periods and finished changes. */
@Injectable()
export class StoredMeteredSubscriptions extends MeteredSubscriptions {
  async ofUsers(reader: Reader, userIds: readonly number[]): Promise<UsageSubscription[]> {
    const since = reader.now - eventTimes.lateSeconds;
    const rows = await reader.query(ofUsersText, [reader.merchantId, since, reader.now, userIds]);
    return rows.map(row => meteredSubscription(row as unknown as Selected, reader.now));
  }

  async ofSubscription(reader: Reader, subscriptionId: string, until = reader.now) {
    const since = Math.min(reader.now - eventTimes.lateSeconds, until - 1);
    return reader.jointly(`usage since ${since}`, subscriptionId, async ids => {
      const rows = await reader.query(ofSubscriptionsText, [reader.merchantId, since, reader.now, ids]);
      const byId = new Map(rows.map(row => [row.subscription_id, row as unknown as Selected]));
      return ids.map(id => {
        const row = byId.get(id);
        return row && meteredSubscription(row, reader.now);
      });
    });
  }

  async newestId(reader: Reader, userId: number, productId: number): Promise<string | undefined> {
    const of = productId === 0 ? { userId } : { userId, productId };
    return (await newestOf(reader, of))?.subscriptionId;
  }

  async shown(reader: Reader, subscriptionId: string): Promise<ShownSubscription> {
    const [sub, bought] = await Promise.all([
      reader.find(subscriptions, { subscriptionId }),
      reader.query(boughtText, [reader.merchantId, subscriptionId]),
    ]);
    const { plan = null, addons = [] } = sub?.planSnapshot ?? {};
    const product = plan && (await productOf(reader, plan));
    const onetimeAddons = bought.map(addon => ({
      addon: shownPlan(addon.plan as Plan),
      addonId: Number(addon.addon_id),
      quantity: Number(addon.quantity),
      createTime: Number(addon.create_time),
      periodStart: Number(addon.period_start),
      periodEnd: Number(addon.period_end),
    }));
    const subscription = sub ? subscriptionView(sub) : null;
    const sold = { plan: shownPlan(plan), addons: shownAddons(addons) };
    return { subscription, product, ...sold, onetimeAddons, isPaid: sub?.status === 'active' };
  }
}

const boughtText = `select a.addon_id, a.plan, a.quantity, a.create_time, s.current_period_start as period_start,
    s.current_period_end as period_end
  from subscriptions s join onetime_addons a on a.merchant_id = s.merchant_id and a.user_id = s.user_id
    and a.create_time >= s.current_period_start and a.create_time < s.current_period_end
  where s.merchant_id = $1 and s.subscription_id = $2 and a.subscription_id = s.subscription_id and a.status = 'paid'
  order by a.id`;

// A subscription takes usage once it was active; one that ended did so when it was cancelled or at its period's end.
const selected = (
  since: string,
) => `select * from (select s.subscription_id, s.user_id, s.product_id, s.currency, s.status, s.quantity,
    s.trial_end, s.current_period_start, s.current_period_end, s.plan_snapshot, s.anchor, s.period_no, s.time_zone,
    s.multi_trial, s.cancel_at_period_end,
    case when s.pending_update_id <> '' then (select jsonb_build_object('snapshot', u.update_snapshot, 'quantity', u.update_quantity,
      'currency', u.update_currency) from subscription_pending_updates u where u.merchant_id = s.merchant_id
      and u.pending_update_id = s.pending_update_id and u.status = 'pending' and u.effect_immediate = 0) end as deferred,
    (select min(p.start_at) from subscription_periods p where p.merchant_id = s.merchant_id
      and p.subscription_id = s.subscription_id and p.state <> 'void') as started,
    case when s.status in ('cancelled', 'expired', 'failed') then
      least(s.current_period_end, case when s.cancel_time > 0 then s.cancel_time else s.modify_time end)
      else 0 end as ended,
    case when s.status in ('cancelled', 'expired', 'failed') then (select coalesce(max(p.finish_at), 0)
      from subscription_periods p where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id
      and p.start_at = s.current_period_start and p.state <> 'void') else 0 end as takes_until,
    coalesce(c.usage_grace_seconds, 3600) as grace_seconds, coalesce(c.late_usage, 'next') as late_usage,
    (select coalesce(jsonb_agg(jsonb_build_object('start', p.start_at, 'end', p.end_at) order by p.start_at), '[]')
      from subscription_periods p where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id
      and p.state <> 'void' and p.end_at > ${since} and p.start_at <= $3::bigint + ${eventTimes.aheadSeconds}) as periods,
    case when s.trial_end = 0 then '[]' else
      (select coalesce(jsonb_agg(jsonb_build_object('start', p.start_at, 'end', p.end_at) order by p.start_at), '[]')
      from subscription_periods p where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id
      and p.state <> 'void' and p.kind in ('trial', 'free')) end as free,
    (select coalesce(jsonb_agg(jsonb_build_object('at', u.at, 'quantity', u.quantity, 'currency', u.currency, 'plan', u.plan_snapshot -> 'plan',
      'addons', u.plan_snapshot -> 'addons') order by u.at), '[]')
      from (select *, effect_time as at from subscription_pending_updates where merchant_id = s.merchant_id
        and subscription_id = s.subscription_id and status = 'finished') u
      where u.at <= $3 and u.at > coalesce((select min(p.start_at) from subscription_periods p
        where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id and p.state <> 'void'
        and p.end_at > ${since}), ${since})) as changes
  from subscriptions s left join subscription_settings c on c.merchant_id = s.merchant_id
  where s.merchant_id = $1 and s.status not in ('init', 'pending') and s.first_paid_time + s.trial_end > 0`;
const ofUsersText = `${selected('$2')} and s.user_id = any($4)) found where ended = 0 or ended > $2`;
/** Back to the oldest charge that is not billed: its price is that of its time. */
const ofSubscriptionsText = `${selected(`least($2, ${oldestUnbilled('s.subscription_id')} + 1)`)}
  and s.subscription_id = any($4)) found`;

function meteredSubscription(row: Selected, now: number): UsageSubscription {
  const graceSeconds = Number(row.grace_seconds);
  const current = { ...row.plan_snapshot, quantity: row.quantity, currency: row.currency };
  const { deferred } = row;
  const later = deferred ? { ...deferred.snapshot, quantity: deferred.quantity, currency: deferred.currency } : current;
  const currentEnd = Number(row.current_period_end);
  return {
    subscriptionId: row.subscription_id,
    userId: Number(row.user_id),
    productId: Number(row.product_id),
    currency: row.currency,
    start: Number(row.started),
    end: Number(row.ended),
    free: freeIn(row),
    takesUntil: Number(row.takes_until),
    lateUsage: row.late_usage,
    periods: [...wholePeriods(row), ...upcomingPeriods(row, now)].map(({ start, end }) => ({
      start,
      end,
      state: now < end ? 'open' : now < end + graceSeconds ? 'grace' : 'invoiced',
      segments: segmentsOf({ start, end }, row.changes, start < currentEnd ? current : later),
    })),
  };
}

/** Trials and free time. The last period reaches to the end of the trial, whose later steps have no rows yet. */
function freeIn({ free, trial_end }: Selected): { start: number; end: number }[] {
  const last = free.at(-1);
  return last ? [...free.slice(0, -1), { ...last, end: Math.max(last.end, Number(trial_end)) }] : [];
}

/** Periods by which usage is counted: a change may have cut the current one into several rows, which are one here. */
function wholePeriods({ periods, current_period_start: start, current_period_end: end }: Selected) {
  const current = { start: Number(start), end: Number(end) };
  const others = periods.filter(row => row.end <= current.start);
  const isShown = periods.some(row => row.end > current.start && row.start < current.end);
  return [...others, ...(isShown ? [current] : [])].sort((one, other) => one.start - other.start);
}

/** The periods after the current one into which events of now may fall; none after an end. */
function upcomingPeriods(row: Selected, now: number): ServicePeriod[] {
  const { plan_snapshot: planSnapshot, cancel_at_period_end: cancelAtPeriodEnd, deferred } = row;
  const sub = {
    subscriptionId: row.subscription_id,
    planSnapshot,
    timeZone: row.time_zone,
    anchor: Number(row.anchor),
    periodNo: row.period_no,
    multiTrial: row.multi_trial,
    trialEnd: Number(row.trial_end),
    unpaidUntil: 0,
    currentPeriodStart: Number(row.current_period_start),
    currentPeriodEnd: Number(row.current_period_end),
  };
  const until = now + eventTimes.aheadSeconds;
  if (Number(row.ended) > 0 || sub.currentPeriodEnd > until || endsWithPeriod({ ...sub, cancelAtPeriodEnd })) return [];
  const then = deferred ? withNewAnchor(sub, { ...sub, planSnapshot: deferred.snapshot }) : sub;
  return followingPeriods(then, until, row.periods);
}

/** The terms of a period: those that each change within it replaced, and those since. */
function segmentsOf(
  { start, end }: { start: number; end: number },
  changes: readonly Change[],
  current: SoldPlans,
): Segment[] {
  const edges = [start, ...changes.map(({ at }) => at).filter(at => at > start && at < end)];
  return edges.map((from, at) => {
    // the first change after a time replaced the terms that were in force at it
    const sold = changes.find(change => change.at > from) ?? current;
    return { start: from, end: edges[at + 1] ?? end, terms: termsOfPlans(sold) };
  });
}
