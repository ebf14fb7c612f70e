import type { MerchantMetric, UserHistoryMetricLimit } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import { metricsById } from '../../customers/catalog.js';
import { createCounters, emptyCounter, lockCounters } from '../counters.js';
import { limitOf, unusedLimit } from '../domain/billing.js';
import { type Counter, isLimit, metricKindOf } from '../domain/counter.js';
import { latestTerms, type UsagePeriod, type UsageSubscription } from '../domain/subscription.js';
import { adjustments, counters } from '../tables.js';
import { limitView } from '../views.js';

/**
 * Carries what recurring limits leave over in the period that ended to the next: max(total − used, 0). Called at the end
 * of a period, and again at its close, since events arrive in between; the later value replaces the earlier.
 */
export async function carryOver(
  tx: Tx,
  { subscription, ended, next }: { subscription: UsageSubscription; ended: UsagePeriod; next: UsagePeriod },
): Promise<void> {
  const ids = ended.segments.flatMap(({ terms }) => terms.flatMap(({ limits }) => limits.map(one => one.metricId)));
  const metrics = await metricsById(tx, ids);
  const recurring = [...metrics.values()].filter(metric => metricKindOf(metric) === 'limitRecurring');
  for (const metric of recurring.sort((one, other) => one.id - other.id)) {
    const [from, to] = await lockedPeriods(tx, subscription, metric, [ended, next]);
    if (!from || !to) throw new Error(`no counters of metric ${metric.id}`);
    const total = totalLimit(ended, metric, from);
    await adjust(tx, to, metric, unusedLimit(total, from.used), { total, used: from.used });
  }
}

/** The locked counters of a limit in these periods, made where nothing was counted yet. */
export async function lockedPeriods(
  tx: Tx,
  { subscriptionId, userId }: UsageSubscription,
  { id: metricId }: Pick<MerchantMetric, 'id'>,
  periods: readonly UsagePeriod[],
): Promise<(Counter | undefined)[]> {
  const made = periods.map(({ start, end }) =>
    emptyCounter(
      { subscriptionId, metricId },
      { start, end },
      { merchantId: tx.merchantId, userId, periodStart: start, periodEnd: end },
    ),
  );
  await createCounters(tx, made);
  const locked = await lockCounters(tx, [{ subscriptionId, metricId }], 0);
  return periods.map(({ start }) => locked.find(({ startAt }) => startAt === start));
}

async function adjust(
  tx: Tx,
  counter: Counter,
  { id: metricId }: MerchantMetric,
  amount: bigint,
  previous: { total: bigint; used: bigint },
): Promise<void> {
  const { subscriptionId, userId, startAt: periodStart } = counter;
  const of = { subscriptionId, metricId, periodStart, quotaType: 'carryover' as const };
  const found = await tx.lockIfAny(adjustments, of);
  const before = found?.amount ?? 0n;
  if (before === amount) return;
  tx.save(adjustments, {
    ...of,
    merchantId: tx.merchantId,
    id: found?.id ?? (await tx.nextId(adjustments)),
    userId,
    amount,
    reason: '',
    memberId: 0,
    memberEmail: '',
    previousLimit: previous.total,
    previousUsed: previous.used,
    createTime: found?.createTime ?? tx.now,
  });
  tx.save(counters, { ...counter, adjusted: counter.adjusted + amount - before });
}

/** The limit of a metric in a period, and what is used of it. */
export interface LimitStat {
  metric: MerchantMetric;
  used: bigint;
  total: bigint;
  minEventId: number;
  maxEventId: number;
  view: UserHistoryMetricLimit;
}

/** The limits of a period: of metrics that its plans limit, and of those that were counted or adjusted. */
export async function limitStats(
  reader: Reader,
  subscription: UsageSubscription,
  period: UsagePeriod,
): Promise<LimitStat[]> {
  const { subscriptionId, userId } = subscription;
  const [counted, adjusted] = await Promise.all([
    reader.all(counters, { subscriptionId, startAt: period.start }),
    reader.all(adjustments, { subscriptionId, periodStart: period.start }, 'order by id'),
  ]);
  const terms = latestTerms(period);
  const ids = terms.flatMap(({ limits }) => limits.map(({ metricId }) => metricId));
  const metrics = await metricsById(reader, [...ids, ...counted.map(({ metricId }) => metricId)]);
  const limited = [...metrics.values()].filter(isLimit).sort((one, other) => one.id - other.id);
  return limited.map(metric => {
    const counter = counted.find(({ metricId }) => metricId === metric.id);
    const own = adjusted.filter(({ metricId }) => metricId === metric.id);
    const total = totalLimit(period, metric, counter);
    return {
      metric,
      total,
      used: counter?.used ?? 0n,
      minEventId: counter?.minEventId ?? 0,
      maxEventId: counter?.maxEventId ?? 0,
      view: limitView(metric, userId, { total, terms, adjustments: own }),
    };
  });
}

/** The limit that plans grant, with carry-over and adjustments. */
export const totalLimit = (
  period: UsagePeriod,
  { id, carryoverProrationEnabled }: MerchantMetric,
  counter: Pick<Counter, 'adjusted'> | undefined,
): bigint => limitOf(period, id, carryoverProrationEnabled) + (counter?.adjusted ?? 0n);

/** A limit as histories show it. */
export const historyStat = ({ used, total, minEventId, maxEventId, view }: LimitStat) => ({
  usedValue: Number(used),
  totalLimit: Number(total),
  minEventId,
  maxEventId,
  metricLimit: view,
});
