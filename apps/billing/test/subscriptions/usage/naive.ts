import { type MetricPlanCharge, metricChargeType } from '@recur/contracts';
import { charge } from '../../world/usage.js';

// The price of usage by the plainest reading of the rules: shares nothing with the code that it is compared with.

export const aggregations = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
export type Aggregation = (typeof aggregations)[number];

/** A metric that is charged. */
export interface Metric {
  id: number;
  code: string;
  kind: 'chargeMetered' | 'chargeRecurring';
  aggregation: Aggregation;
}

export interface Event {
  id: string;
  /** Order of arrival. */
  order: number;
  metricId: number;
  time: number;
  value: number;
  unique: string;
}

/** A price as a plan states it, and what units cost by it. */
export interface Price {
  charge: MetricPlanCharge;
  of(units: bigint): bigint;
}

/** Plans of a life: each holds from a second on, with the prices of metrics by their ids. */
export interface Terms {
  from: number;
  prices: ReadonlyMap<number, Price>;
}

/** A linear congruential generator (Numerical Recipes): whole numbers from 0 on, below a bound. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** n ÷ d, halves away from zero; d > 0. */
function divided(n: bigint, d: bigint): bigint {
  const size = n < 0n ? -n : n;
  const rounded = (2n * size + d) / (2n * d);
  return n < 0n ? -rounded : rounded;
}

/** A unit price in ten-thousandths of a minor unit, as a plan states it. */
const unitOf = (tenThousandths: number): { amount: number; decimal: string } =>
  tenThousandths % 10_000 === 0
    ? { amount: tenThousandths / 10_000, decimal: '' }
    : { amount: 0, decimal: (tenThousandths / 10_000).toFixed(4) };
const cost = (units: bigint, tenThousandths: number) => divided(units * BigInt(tenThousandths), 10_000n);

/** A price: of each unit beyond some that are free, or in two tiers with flat amounts; in whole minor units or parts of them. */
export function drawnPrice(metricId: number, random: (below: number) => number): Price {
  const unit = () => (random(3) === 0 ? 1 + random(29_999) : 10_000 * (1 + random(20)));
  const [first, second] = [unit(), unit()];
  if (random(2) === 0) {
    const [free, { amount, decimal }] = [random(2) * 20, unitOf(first)];
    const stated = { standardAmount: amount, standardAmountDecimal: decimal, standardStartValue: free };
    return {
      charge: charge(metricId, stated),
      of: units => cost(units > BigInt(free) ? units - BigInt(free) : 0n, first),
    };
  }
  const [end, flats] = [20 + random(60), [random(2) * 500, random(2) * 700] as const];
  const tier = (startValue: number, endValue: number, tenThousandths: number, flatAmount: number) => {
    const { amount, decimal } = unitOf(tenThousandths);
    return { startValue, endValue, perAmount: amount, perAmountDecimal: decimal, flatAmount };
  };
  const graduatedAmounts = [tier(0, end, first, flats[0]), tier(end, -1, second, flats[1])];
  return {
    charge: charge(metricId, { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts }),
    of(units) {
      const bound = BigInt(end);
      if (units <= 0n) return 0n;
      if (units <= bound) return cost(units, first) + BigInt(flats[0]);
      return cost(bound, first) + BigInt(flats[0]) + cost(units - bound, second) + BigInt(flats[1]);
    },
  };
}

function valueIn(aggregation: Aggregation, events: readonly Event[]): number {
  switch (aggregation) {
    case 'count':
      return events.length;
    case 'countUnique':
      return new Set(events.map(({ unique }) => unique)).size;
    case 'latest':
      return [...events].sort((one, other) => one.time - other.time || one.order - other.order).at(-1)?.value ?? 0;
    case 'max':
      return events.length === 0 ? 0 : Math.max(...events.map(({ value }) => value));
    case 'sum':
      return events.reduce((sum, { value }) => sum + value, 0);
  }
}

/** A period of a life whose usage is billed, or dropped: the whole of it, or up to its end within it. */
export interface Lived {
  start: number;
  end: number;
  until: number;
}

/**
 * What a metric costs in each stretch of a life, by the stretch's start: a period, or the part of it with the same price.
 * Stretches that cost nothing are left out.
 */
export function costs(
  metric: Metric,
  { lived, terms, events }: { lived: readonly Lived[]; terms: readonly Terms[]; events: readonly Event[] },
): Map<number, bigint> {
  const own = events.filter(({ metricId }) => metricId === metric.id);
  const priceAt = (time: number) => terms.findLast(({ from }) => from <= time)?.prices.get(metric.id);
  const changes = terms
    .slice(1)
    .map(({ from }) => from)
    .filter(from => JSON.stringify(priceAt(from)?.charge) !== JSON.stringify(priceAt(from - 1)?.charge));
  const found = new Map<number, bigint>();
  for (const { start, end, until } of lived) {
    const edges = [start, ...changes.filter(at => at > start && at < until), until];
    for (const [at, from] of edges.slice(0, -1).entries()) {
      const to = edges[at + 1] ?? until;
      const isRecurring = metric.kind === 'chargeRecurring';
      const value = valueIn(
        metric.aggregation,
        own.filter(({ time }) => (isRecurring || time >= from) && time < to),
      );
      const whole = priceAt(from)?.of(BigInt(value)) ?? 0n;
      const accrues = !isRecurring && (metric.aggregation === 'count' || metric.aggregation === 'sum');
      const amount = accrues ? whole : divided(whole * BigInt(to - from), BigInt(end - start));
      if (amount !== 0n) found.set(from, amount);
    }
  }
  return found;
}
