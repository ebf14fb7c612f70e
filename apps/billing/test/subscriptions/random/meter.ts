import { emptyOf, MetricPlanCharge, metricChargeType } from '@recur/contracts';
import type { InvoiceItem } from '../../../src/invoices/domain/items.js';
import { samePrice, usagePrice } from '../../../src/pricing/usage.js';
import type { PeriodRow } from '../../../src/subscriptions/domain/periods.js';
import { planOf, type Subscription } from '../../../src/subscriptions/domain/subscription.js';
import { dueUsage } from '../../../src/usage/domain/billing.js';
import type { History } from './history.js';

export const METRIC = 5;

/** The price of usage on a plan: a unit price beyond some free units; the third plan has tiers. */
export function chargesOf({ meter }: History, plan: number): MetricPlanCharge[] {
  if (!meter) return [];
  const unit = meter.prices[plan] ?? 0;
  const step = { perAmountDecimal: '' };
  const tiers = [
    { ...step, startValue: 0, endValue: 50, perAmount: unit, flatAmount: 0 },
    { ...step, startValue: 50, endValue: -1, perAmount: 1, flatAmount: 7 },
  ];
  const standard = { chargeType: metricChargeType.standard, standardAmount: unit, standardStartValue: meter.freeUnits };
  const price = plan === 2 ? { chargeType: metricChargeType.graduated, graduatedAmounts: tiers } : standard;
  return [{ ...emptyOf(MetricPlanCharge), metricId: METRIC, ...price } as MetricPlanCharge];
}

/** The usage of a life: what was used when, at which prices, and until when it is billed. */
export class Meter {
  private readonly used: { at: number; units: bigint }[] = [];
  private readonly terms: { from: number; sub: Subscription }[];
  private since: number;

  constructor(sub: Subscription) {
    this.since = sub.currentPeriodStart;
    this.terms = [{ from: this.since, sub }];
  }

  use(at: number, units: number): void {
    this.used.push({ at, units: BigInt(units) });
  }

  /** Another price holds from a time on. */
  reprice(from: number, sub: Subscription): void {
    this.terms.push({ from, sub });
  }

  billed(until: number): void {
    this.since = until;
  }

  /** Lines of the usage up to a time: one for each stretch with the same price, none for free time. */
  items(until: number, rows: readonly PeriodRow[]): InvoiceItem[] {
    const { since } = this;
    if (this.used.length === 0) return [];
    const free = rows.filter(({ kind, state }) => state !== 'void' && (kind === 'trial' || kind === 'free'));
    const changes = this.terms.flatMap(({ from, sub }, at) => {
      const before = this.terms[at - 1]?.sub;
      return before && samePrice(priceIn(before), priceIn(sub)) ? [] : [from];
    });
    const inner = [...changes, ...free.flatMap(({ startAt, endAt }) => [startAt, endAt])];
    const cuts = [...new Set(inner.filter(at => at > since && at < until))].sort((a, b) => a - b);
    return [since, ...cuts].flatMap((start, at) => {
      const end = cuts[at] ?? until;
      if (end <= start || free.some(({ startAt, endAt }) => startAt <= start && start < endAt)) return [];
      return this.item(start, end);
    });
  }

  private item(start: number, end: number): InvoiceItem[] {
    const value = this.used.reduce((sum, { at, units }) => (at >= start && at < end ? sum + units : sum), 0n);
    const sub = this.terms.findLast(({ from }) => from <= start)?.sub;
    const price = sub && priceIn(sub);
    if (!price || value === 0n) return [];
    const counter = {
      startAt: start,
      endAt: end,
      periodStart: start,
      periodEnd: end,
      billedValue: 0n,
      billedAmount: 0n,
    };
    const { amount } = dueUsage(counter, value, price, { aggregation: 'sum', kind: 'chargeMetered' });
    const plan = planOf(sub);
    return [
      {
        key: `usage:${METRIC}`,
        kind: 'metered',
        planId: plan.id,
        plan,
        name: 'Units',
        description: '',
        unitAmount: amount,
        quantity: 1,
        period: { start, end },
      },
    ];
  }
}

function priceIn(sub: Subscription) {
  const [charge] = planOf(sub).metricMeteredCharge;
  return charge && usagePrice(charge, planOf(sub).id);
}
