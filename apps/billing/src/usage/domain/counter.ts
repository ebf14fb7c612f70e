import { aggregationType, type MerchantMetric, metricType } from '@recur/contracts';
import { DAY_SECONDS } from '@recur/kernel';
import { type ChargeDocument, samePrice, usagePrice } from '../../pricing/usage.js';
import type { Aggregation, MetricKind, Tally } from './aggregation.js';
import { chargeIn, hasMetric, isFree, latestTerms, type UsagePeriod, type UsageSubscription } from './subscription.js';

/** A price as a counter keeps it from its close on. */
export interface KeptPrice {
  planId: number;
  charge: ChargeDocument;
}

/**
 * The count of one metric of a subscription over a period [startAt, endAt): a period; for charges at most as long
 * as the price is the same and no free time begins or ends. Counters of one (subscription, metric) never overlap.
 */
export interface Counter extends Tally {
  merchantId: number;
  subscriptionId: string;
  metricId: number;
  startAt: number;
  endAt: number;
  userId: number;
  periodStart: number;
  periodEnd: number;
  /** Bounds of the ids of its events; 0 for none. */
  minEventId: number;
  maxEventId: number;
  /** Σ of the period's carry-over and manual adjustments of the limit. */
  adjusted: bigint;
  /** Raised by each change; an event's is the one it was counted in. */
  version: number;
  /** Kept at the close; null: of the subscription's terms. */
  price: KeptPrice | null;
  /** Billed on an invoice; what arrives from then on is late. */
  closed: boolean;
  billedValue: bigint;
  billedAmount: bigint;
  /** A notice is scheduled; the second of the last one; the highest alert level of the limit that was sent. */
  noticeDue: boolean;
  noticeAt: number;
  alerted: number;
  /** An event beyond this limit has asked for an upgrade. */
  upgradeAsked: boolean;
}

export interface Bounds {
  start: number;
  end: number;
}

export const isCharge = (kind: MetricKind): boolean => kind === 'chargeMetered' || kind === 'chargeRecurring';

/**
 * The interval in which an event at `at` is counted where no counter covers the time yet: its period; for charges the
 * part of it with the same price as at that time, within free time or outside of it. `others` are the bounds of the
 * metric's counters, which it leaves out.
 */
export function boundsAt(
  { free }: Pick<UsageSubscription, 'free'>,
  period: UsagePeriod,
  { metricId, kind, at }: { metricId: number; kind: MetricKind; at: number },
  others: readonly Bounds[],
): Bounds {
  const cuts = isCharge(kind)
    ? [...free.flatMap(({ start, end }) => [start, end]), ...priceChanges(period, metricId)]
    : [];
  const edges = [period.start, period.end, ...cuts, ...others.flatMap(({ start, end }) => [start, end])];
  const before = edges.filter(edge => edge <= at);
  const after = edges.filter(edge => edge > at);
  return { start: Math.max(...before), end: Math.min(...after) };
}

/** The times within a period at which a metric's price changes. */
function priceChanges({ segments }: UsagePeriod, metricId: number): number[] {
  return segments.slice(1).flatMap(({ start, terms }, index) => {
    const [before, after] = [segments[index]?.terms ?? [], terms].map(each => {
      const found = chargeIn(each, metricId);
      return found && usagePrice(found.charge, found.planId);
    });
    return samePrice(before, after) ? [] : [start];
  });
}

/** The price of a counter: the kept one, else that of the terms at its start; none in free time. */
export function priceFor(
  counter: Pick<Counter, 'metricId' | 'startAt' | 'price'>,
  period: UsagePeriod,
  subscription: Pick<UsageSubscription, 'free'>,
): KeptPrice | undefined {
  if (counter.price) return counter.price;
  if (isFree(subscription, counter.startAt)) return undefined;
  const segment = period.segments.findLast(({ start }) => start <= counter.startAt) ?? period.segments[0];
  return segment && chargeIn(segment.terms, counter.metricId);
}

/** `lateSeconds`: how old an event may be; `aheadSeconds`: how far ahead of the merchant's clock. */
export const eventTimes = { lateSeconds: 35 * DAY_SECONDS, aheadSeconds: 300 } as const;

/** Where an event counts. */
export interface AssignedPeriod {
  subscription: UsageSubscription;
  period: UsagePeriod;
}

export type Unassigned =
  /** The time is outside of what is taken. */
  | { refused: 'time'; message: string }
  /** No subscription that takes events covers the time. */
  | { refused: 'no-subscription' }
  /** The period is invoiced, and the merchant refuses late usage. */
  | { refused: 'late' };

/**
 * The subscription and period that an event of `metricId` at `at` counts for: of the user's subscriptions that cover the
 * time, the one whose plans have the metric, else the newest. Period open or in grace: counted; invoiced: as
 * `lateUsage` says.
 */
export function assignPeriod(
  subscriptions: readonly UsageSubscription[],
  { metricId, at, now }: { metricId: number; at: number; now: number },
): AssignedPeriod | Unassigned {
  if (at > now + eventTimes.aheadSeconds) {
    return { refused: 'time', message: `is more than ${eventTimes.aheadSeconds} seconds ahead` };
  }
  if (at < now - eventTimes.lateSeconds) return { refused: 'time', message: 'is more than 35 days ago' };
  const taking = subscriptions.filter(({ end, takesUntil }) => end === 0 || now < takesUntil);
  const candidates = taking.flatMap(subscription => {
    const period = periodAt(subscription, at);
    return period ? [{ subscription, period }] : [];
  });
  const newestFirst = candidates.sort((one, other) => other.subscription.start - one.subscription.start);
  const found = newestFirst.find(({ period }) => hasMetric(latestTerms(period), metricId)) ?? newestFirst[0];
  if (!found) {
    const isBefore = taking.length > 0 && taking.every(({ start }) => at < start);
    if (isBefore) return { refused: 'time', message: 'is before the start of the subscription' };
    return { refused: 'no-subscription' };
  }
  if (found.period.state === 'invoiced' && found.subscription.lateUsage === 'refuse') return { refused: 'late' };
  return found;
}

function periodAt({ start, end, periods }: UsageSubscription, at: number): UsagePeriod | undefined {
  if (at < start || (end !== 0 && at >= end)) return undefined;
  return periods.find(period => period.start <= at && at < period.end);
}

const nameByCode = <N extends string>(table: Readonly<Record<N, number>>): ReadonlyMap<number, N> =>
  new Map(Object.entries(table).map(([name, code]) => [code as number, name as N]));
const aggregationByCode = nameByCode<Aggregation>(aggregationType);
const kindByCode = nameByCode<MetricKind>(metricType);

function nameOfMetricCode<N>(names: ReadonlyMap<number, N>, code: number): N {
  const name = names.get(code);
  if (name === undefined) throw new Error(`no name of code ${code}`);
  return name;
}

export const aggregationOf = ({ aggregationType: code }: Pick<MerchantMetric, 'aggregationType'>): Aggregation =>
  nameOfMetricCode(aggregationByCode, code);
export const metricKindOf = ({ type }: Pick<MerchantMetric, 'type'>): MetricKind => nameOfMetricCode(kindByCode, type);
export const isLimit = (metric: Pick<MerchantMetric, 'type'>): boolean => !isCharge(metricKindOf(metric));
