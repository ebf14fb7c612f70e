import type { MerchantMetric } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { metricsById } from '../customers/catalog.js';
import { usagePrice } from '../pricing/usage.js';
import { emptyCounter } from './counters.js';
import { type Aggregation, carriedTally, isGauge, type MetricKind } from './domain/aggregation.js';
import { type DueUsage, dueUsage } from './domain/billing.js';
import {
  aggregationOf,
  boundsAt,
  type Counter,
  isCharge,
  type KeptPrice,
  metricKindOf,
  priceFor,
} from './domain/counter.js';
import { chargedSince, isFree, type UsagePeriod, type UsageSubscription } from './domain/subscription.js';
import { recount } from './recounts.js';
import { counters } from './tables.js';

/** The part of an interval that is billed. */
export interface BilledPart {
  /** The metrics that are billed, where a change alters the prices of some; by default all. */
  metricIds?: ReadonlySet<number>;
  /** Metrics whose price begins or ends with a period that ends here: their intervals end with the others. */
  repriced?: ReadonlySet<number>;
  /** An invoice that another one is to replace: its usage is read as if it were not billed. */
  replaced?: string;
  /** True where the prices end for good, whether the invoice is paid or not: a cut within the period stays. */
  isLasting?: boolean;
}

/** The interval of a period whose usage is billed: up to its end, or up to a change or a cancellation. */
export interface BilledUntil extends BilledPart {
  subscription: UsageSubscription;
  period: UsagePeriod;
  /** Unix seconds; the period's end, or before it. */
  until: number;
}

/** Amount due for one counter. */
export interface DueCounter {
  metric: MerchantMetric;
  counter: Counter;
  kept: KeptPrice;
  due: DueUsage;
  /** Usage of an interval that an earlier document has billed. */
  late: boolean;
}

/** All counters of a subscription, oldest first. Their number grows with periods, not with events. */
export const countersOfSubscription = (reader: Reader, subscriptionId: string): Promise<Counter[]> =>
  reader.all(counters, { subscriptionId }, 'order by metric_id, start_at');

/** Charge metrics that are billed: those of the subscription's counters and of the plans of the period. */
export async function chargeMetrics(
  reader: Reader,
  { period: { segments }, metricIds, repriced }: Pick<BilledUntil, 'period' | 'metricIds' | 'repriced'>,
  there: readonly Counter[],
): Promise<MerchantMetric[]> {
  const ids = segments.flatMap(({ terms }) => terms.flatMap(({ charges }) => charges.map(({ metricId }) => metricId)));
  const named = [...(metricIds ?? []), ...(repriced ?? []), ...there.map(({ metricId }) => metricId)];
  const metrics = await metricsById(reader, [...ids, ...named]);
  const charged = [...metrics.values()].filter(metric => isCharge(metricKindOf(metric)));
  return charged.filter(({ id }) => metricIds?.has(id) ?? true).sort((one, other) => one.id - other.id);
}

/** The intervals of a period up to `until` in which a metric is charged: their counters, or empty ones to be made. */
export function chargedIntervals(
  { subscription, period, until }: BilledUntil,
  metric: MerchantMetric,
  there: readonly Counter[],
): { counter: Counter; isNew: boolean }[] {
  const { subscriptionId, userId } = subscription;
  const of = { merchantId: metric.merchantId, userId, periodStart: period.start, periodEnd: period.end };
  const stretches: { counter: Counter; isNew: boolean }[] = [];
  const others = there.map(({ startAt, endAt }) => ({ start: startAt, end: endAt }));
  for (let at = period.start; at < until; ) {
    const found = there.find(({ startAt, endAt }) => startAt <= at && at < endAt);
    const { start, end } = boundsAt(
      subscription,
      period,
      { metricId: metric.id, kind: metricKindOf(metric), at },
      others,
    );
    const counter = found ?? emptyCounter({ subscriptionId, metricId: metric.id }, { start, end }, of);
    if (!isFree(subscription, counter.startAt) && counter.startAt < until) stretches.push({ counter, isNew: !found });
    at = counter.endAt;
  }
  return stretches;
}

/**
 * Amounts due up to `until`: intervals that are open, those of earlier periods that no invoice billed among them, and late
 * usage of those that were billed.
 */
export async function dueCounters(
  reader: Reader,
  billed: BilledUntil,
  there: readonly Counter[],
): Promise<DueCounter[]> {
  const metrics = await chargeMetrics(reader, billed, there);
  const all: DueCounter[] = [];
  for (const metric of metrics) {
    const own = there.filter(({ metricId }) => metricId === metric.id);
    const stretches = chargedIntervals(billed, metric, own).map(({ counter }) => counter);
    const before = own.filter(counter => counter.startAt < billed.period.start && !stretches.includes(counter));
    for (const counter of [...before, ...stretches].sort((one, other) => one.startAt - other.startAt)) {
      const due = await dueOfCounter(reader, billed, metric, counter, own);
      if (due) all.push(due);
    }
  }
  return all.sort((one, other) => Number(one.late) - Number(other.late));
}

async function dueOfCounter(
  reader: Reader,
  { subscription, until }: BilledUntil,
  metric: MerchantMetric,
  counter: Counter,
  own: readonly Counter[],
): Promise<DueCounter | undefined> {
  const kept = priceAtClose(counter, subscription);
  if (!kept) return undefined;
  const cut = counter.closed ? counter : { ...counter, endAt: Math.min(counter.endAt, until) };
  const of = { aggregation: aggregationOf(metric), kind: metricKindOf(metric) };
  const used = cut.endAt < counter.endAt ? await usageBefore(reader, of.aggregation, counter, until) : counter;
  const value = await valueAt(reader, of, { ...cut, ...used }, own, subscription);
  const due = dueUsage(paidPart(subscription, cut), value, usagePrice(kept.charge, kept.planId), of);
  if (due.amount === 0n && due.value === due.billedValue) return undefined;
  return { metric, counter, kept, due, late: counter.closed };
}

/** The price of a counter: that of the terms of its time, or the one that was kept of a time further back. */
export function priceAtClose(counter: Counter, subscription: UsageSubscription): KeptPrice | undefined {
  const within = subscription.periods.find(({ start, end }) => start <= counter.startAt && counter.startAt < end);
  return within ? priceFor(counter, within, subscription) : (counter.price ?? undefined);
}

/** A counter whose period ends with the free time that was appended to it. */
function paidPart({ free }: UsageSubscription, counter: Counter): Counter {
  const appended = free.find(({ start }) => start > counter.startAt && start < counter.periodEnd);
  return appended ? { ...counter, periodEnd: appended.start } : counter;
}

/** The tally of a counter without what was counted at `until` or later. */
export async function usageBefore(reader: Reader, aggregation: Aggregation, counter: Counter, until: number) {
  if (counter.events === 0n) return counter;
  const tail = await recount(reader, aggregation, { ...counter, startAt: until });
  if (tail.events === 0n) return counter;
  if (isGauge(aggregation)) return recount(reader, aggregation, { ...counter, endAt: until });
  return { ...counter, events: counter.events - tail.events, used: counter.used - tail.used };
}

/** The value of a counter: its own, or for recurring charges, which never restart, with all before it since it was free. */
async function valueAt(
  reader: Reader,
  { aggregation, kind }: { aggregation: Aggregation; kind: MetricKind },
  counter: Counter,
  own: readonly Counter[],
  subscription: Pick<UsageSubscription, 'free'>,
): Promise<bigint> {
  if (kind !== 'chargeRecurring') return counter.used;
  const since = chargedSince(subscription, counter.startAt);
  if (aggregation === 'countUnique') return distinctUntil(reader, counter, since);
  const before = own.filter(({ startAt }) => startAt >= since && startAt < counter.startAt);
  const value = before.reduce((sum, each) => carriedTally(aggregation, sum, each), 0n);
  return carriedTally(aggregation, value, counter);
}

/** Unique ids since a time; an id may occur in several intervals and counts once. */
async function distinctUntil(reader: Reader, { subscriptionId, metricId, startAt }: Counter, since: number) {
  const [row] = await reader.query(
    `select count(distinct unique_id) as ids from usage_uniques where merchant_id = $1 and subscription_id = $2
       and metric_id = $3 and start_at >= $4 and start_at <= $5 and events > 0`,
    [reader.merchantId, subscriptionId, metricId, since, startAt],
  );
  return BigInt(String(row?.ids ?? 0));
}

/** The value that a metric shows now, for answers: of its newest interval, or of all for recurring charges. */
export const shownValue = (
  reader: Reader,
  metric: MerchantMetric,
  counter: Counter,
  own: readonly Counter[],
  subscription: Pick<UsageSubscription, 'free'>,
): Promise<bigint> =>
  valueAt(reader, { aggregation: aggregationOf(metric), kind: metricKindOf(metric) }, counter, own, subscription);
