import { type ChargeDocument, samePrice, usagePrice } from '../../pricing/usage.js';
import type { MetricKind, Tally } from './aggregation.js';
import { chargeIn, isFree, type UsagePeriod, type UsageSubscription } from './facts.js';

/** A price as a counter keeps it from its close on. */
export interface KeptPrice {
  planId: number;
  charge: ChargeDocument;
}

/**
 * The count of one metric of a subscription over a stretch of time [startAt, endAt): a period; for charges at most as long
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
 * The stretch in which an event at `at` is counted where no counter covers the time yet: its period; for charges the
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
export function priceChanges({ segments }: UsagePeriod, metricId: number): number[] {
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
