import type { aggregationType, metricType, subscriptionStatus } from '@recur/contracts';
import { type Calls, orThrow, RecurError } from './calls.js';
import type { Result } from './result.js';
import type { Entry, Output } from './table.js';
import { namedBy, type UserName } from './user.js';

export interface Check {
  user: UserName;
  /** The code of the metric. */
  metric: string;
  /** As `track` would be given. Default 1. */
  value?: number | string;
}

export interface Checked {
  /** `track` of the value would be taken. */
  allowed: boolean;
  used: number;
  /** The rest of the limit; null where nothing limits. */
  left: number | null;
  /** Unix second at which the period ends in which this counts; 0 without a subscription. */
  until: number;
}

export interface Track {
  user: UserName;
  /** The code of the metric. */
  metric: string;
  /** A whole number; of a metric that counts unique ids, the id. */
  value: number | string;
  /** The caller's own id of what happened, unique per user and metric: a repeat counts once. */
  id: string;
  /** Unix second at which it happened. Default: now. */
  time?: number;
}

export type Tracked = Output<'/merchant/metric/event/new'>['merchantMetricEvent'];

type Sold = Entry<'/merchant/subscription/list'>;
type Metric = Entry<'/merchant/metric/list'>;

// codes of the contracts, which are not loaded: the compiler compares them
const aggregations: typeof aggregationType = { count: 1, countUnique: 2, latest: 3, max: 4, sum: 5 };
const limits: Pick<typeof metricType, 'limitMetered' | 'limitRecurring'> = { limitMetered: 1, limitRecurring: 4 };
type Living = Pick<typeof subscriptionStatus, 'active' | 'incomplete' | 'processing'>;
const living: Living = { active: 2, incomplete: 7, processing: 8 };
/** The bounds of a value: the API takes none beyond. */
const mostValue = 1_000_000_000_000;
const mostIdCharacters = 255;
const none: Checked = { allowed: false, used: 0, left: 0, until: 0 };

/** Records usage. A repeat under the same `id` changes nothing and answers the first. */
export async function track(calls: Calls, { user, metric, value, id, time = 0 }: Track): Promise<Result<Tracked>> {
  const result = await calls.post('/merchant/metric/event/new', {
    ...{ ...namedBy(user), metricCode: metric, externalEventId: id, eventTime: time },
    ...(typeof value === 'number' && { aggregationValue: value }),
    aggregationUniqueId: String(value),
  });
  return result.ok ? { ...result, data: result.data.merchantMetricEvent } : result;
}

/**
 * Tells whether `track` of a value would be taken, and what is left. A user without a subscription, or unknown, is not
 * allowed. Of a metric that counts unique ids, the id is taken for one that was not counted yet.
 */
export async function check(calls: Calls, { user, metric, value = 1 }: Check): Promise<Result<Checked>> {
  const named = namedBy(user);
  const found = await calls.post('/merchant/metric/event/current_value', { ...named, metricCode: metric });
  if (!found.ok) {
    const { type } = found.error;
    if (type !== 'usage_not_subscribed' && type !== 'user_not_found') return found;
    return { ok: true, data: none, requestId: found.error.requestId, merchantId: 0 };
  }
  try {
    const { currentValue: used, metricLimit, totalLimit } = found.data;
    const kind = metricLimit
      ? { id: metricLimit.MetricId, type: metricLimit.type, aggregationType: metricLimit.aggregationType }
      : await metricOf(calls, metric);
    const isLimit = Object.values<number>(limits).includes(kind.type);
    const after = valueAfter(kind.aggregationType, used, value);
    const allowed = after !== undefined && !(isLimit && after > totalLimit && after > used);
    const left = isLimit ? Math.max(0, totalLimit - used) : null;
    return { ...found, data: { allowed, used, left, until: await periodEnd(calls, user, kind.id) } };
  } catch (cause) {
    if (cause instanceof RecurError) return { ok: false, error: cause.failure };
    throw cause;
  }
}

/** The value that a metric shows after another; undefined for one that is none of its kind. */
function valueAfter(aggregation: number, used: number, value: number | string): number | undefined {
  const isNumber = typeof value === 'number';
  if (isNumber && !(Number.isInteger(value) && Math.abs(value) <= mostValue)) return undefined;
  if (aggregation === aggregations.count) return used + 1;
  if (aggregation === aggregations.countUnique) {
    const { length } = String(value);
    return length > 0 && length <= mostIdCharacters ? used + 1 : undefined;
  }
  if (!isNumber) return undefined;
  if (aggregation === aggregations.sum) return used + value;
  return aggregation === aggregations.max ? Math.max(used, value) : value;
}

/** A metric that nothing limits: one that is charged, or a limit that the plan does not have. */
async function metricOf(calls: Calls, code: string): Promise<Metric> {
  for await (const metric of calls.pages('/merchant/metric/list', { searchKey: code }))
    if (metric.code === code) return metric;
  throw new Error(`metric ${code} is counted, and not listed`);
}

/** The end of the period in which usage counts: of the subscription whose plans have the metric, else the newest. */
async function periodEnd(calls: Calls, user: UserName, metricId: number): Promise<number> {
  const named = namedBy(user);
  const which = 'email' in named ? { Email: named.email } : named;
  const status = Object.values(living);
  const { subscriptions } = orThrow(
    await calls.post('/merchant/subscription/list', {
      ...which,
      status,
      count: 100,
      sortField: 'createTime',
      sortType: 'desc',
    }),
  );
  const taking = subscriptions.filter(({ subscription }) => subscription.firstPaidTime + subscription.trialEnd > 0);
  const found = taking.find(sold => hasMetric(sold, metricId)) ?? taking[0];
  return found?.subscription.currentPeriodEnd ?? 0;
}

const hasMetric = ({ plan, addons }: Sold, metricId: number): boolean =>
  [plan, ...addons.map(({ addonPlan }) => addonPlan)].some(each =>
    [...(each?.metricLimits ?? []), ...(each?.metricMeteredCharge ?? []), ...(each?.metricRecurringCharge ?? [])].some(
      one => one.metricId === metricId,
    ),
  );
