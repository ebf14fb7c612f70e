import type { Calls } from './calls.js';
import type { Failure, Result } from './result.js';
import type { Output } from './table.js';
import { namedBy, type UserName } from './user.js';

export interface Check {
  user: UserName;
  /** The code of the metric. */
  metric: string;
  /** As `track` would be given. Default: 1, or an id that was not counted yet. */
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
  /** A whole number; of a metric that counts unique ids, the id, which is not blank. */
  value: number | string;
  /** The caller's own id of what happened, unique per user and metric: a repeat counts once. */
  id: string;
  /** Unix second at which it happened. Default: now. */
  time?: number;
}

export type Tracked = Output<'/merchant/metric/event/new'>['merchantMetricEvent'];

const blank: Failure = {
  type: 'invalid_parameters',
  message: 'value: must not be blank',
  code: 51,
  status: 0,
  retryable: false,
  issues: [{ path: '/value', message: 'must not be blank' }],
  requestId: '',
  retryAfterSeconds: 0,
};
const none: Checked = { allowed: false, used: 0, left: 0, until: 0 };

/** Records usage. A repeat under the same `id` changes nothing and answers the first. */
export async function track(calls: Calls, { user, metric, value, id, time = 0 }: Track): Promise<Result<Tracked>> {
  if (value === '') return { ok: false, error: blank };
  const event = { ...namedBy(user), metricCode: metric, externalEventId: id, eventTime: time, ...measureOf(value) };
  // the id of the event does what a key would, and for longer
  const result = await calls.post('/merchant/metric/event/new', event, { idempotencyKey: null });
  return result.ok ? { ...result, data: result.data.merchantMetricEvent } : result;
}

/**
 * Asks if `track` of a value would be taken now, and what is left. A user without a subscription, or unknown, is not
 * allowed; that is no failure. A value that no event may have is one, as it is of `track`.
 */
export async function check(calls: Calls, { user, metric, value }: Check): Promise<Result<Checked>> {
  if (value === '') return { ok: false, error: blank };
  const result = await calls.post('/merchant/metric/check', {
    ...namedBy(user),
    metricCode: metric,
    ...(value !== undefined && measureOf(value)),
  });
  if (result.ok) {
    const { allowed, currentValue: used, isLimited, left, periodEnd: until } = result.data;
    const isSubscribed = until > 0;
    return { ...result, data: { allowed, used, left: isLimited || !isSubscribed ? left : null, until } };
  }
  if (result.error.type !== 'user_not_found') return result;
  return { ok: true, data: none, requestId: result.error.requestId, merchantId: 0, replayed: false };
}

/** A value as events state it: a number, or of a metric that counts unique ids the id. */
const measureOf = (value: number | string) => ({
  ...(typeof value === 'number' && { aggregationValue: value }),
  aggregationUniqueId: String(value),
});
