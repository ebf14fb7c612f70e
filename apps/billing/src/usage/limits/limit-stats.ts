import type { MerchantMetric, UserHistoryMetricLimit } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import type { Counter } from '../domain/counter.js';
import { termsOf, type UsagePeriod, type UsageSubscription } from '../domain/facts.js';
import { limitOf } from '../domain/limit.js';
import { isLimit } from '../metric-kinds.js';
import { adjustments, counters } from '../tables.js';
import { limitView } from '../views.js';

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
  const terms = termsOf(period);
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
