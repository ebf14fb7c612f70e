import { Injectable } from '@nestjs/common';
import type { Plan, PlanSnapshot } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import type { InvoiceItem } from '../invoices/domain/items.js';
import type { InvoiceState } from '../invoices/state.js';
import { samePrice, usagePrice } from '../pricing/usage.js';
import { chargeIn, type PlanTerms } from '../usage/domain/subscription.js';
import { MeteredSubscriptions, termsOfPlans } from '../usage/metered-subscriptions.js';
import * as usage from '../usage/rating.js';
import type { PeriodRow } from './domain/periods.js';
import type { Subscription } from './domain/subscription.js';
import { plansSold } from './domain/subscription.js';
import { subscriptionPeriods } from './tables.js';

/** Usage as subscriptions bill it: in arrears, on the invoice of the period that begins when it was used up. */
@Injectable()
export class Arrears {
  constructor(private readonly metered: MeteredSubscriptions) {}

  /** Items for the usage up to a time, the end of a period or one within it, as it is known now. */
  async items(reader: Reader, sub: Subscription, until: number, of: usage.BilledPart = {}): Promise<InvoiceItem[]> {
    const billed = await this.billed(reader, sub, until, of);
    return billed ? usageItems(sub, await usage.linesFor(reader, billed)) : [];
  }

  /** Locks what `items` reads: no event changes it before the transaction ends. */
  async lock(tx: Tx, sub: Subscription, until: number, of: usage.BilledPart = {}): Promise<void> {
    const billed = await this.billed(tx, sub, until, of);
    if (billed) await usage.lock(tx, billed);
  }

  /** Bills the usage up to a time on an invoice: what arrives from then on is late. */
  async close(tx: Tx, sub: Subscription, until: number, invoiceId: string, of: usage.BilledPart = {}): Promise<void> {
    const billed = await this.billed(tx, sub, until, of);
    if (billed) await usage.close(tx, billed, invoiceId);
  }

  /** Takes back what an invoice billed: it is unbilled again. */
  reopen = (tx: Tx, invoiceId: string): Promise<void> => usage.reopen(tx, invoiceId);

  /** Carries what limits leave over in the period before `next` to it. */
  async carryLimits(tx: Tx, sub: Subscription, next: PeriodRow): Promise<void> {
    if (!limitsUsage(sub.planSnapshot)) return;
    const subscription = await this.metered.ofSubscription(tx, sub.subscriptionId, next.startAt);
    const ended = subscription?.periods.findLast(({ end }) => end === next.startAt);
    const begun = subscription?.periods.find(({ start }) => start === next.startAt);
    if (subscription && ended && begun) await usage.carryOver(tx, { subscription, ended, next: begun });
  }

  /**
   * A period begins: limits are carried over now, and once more at `finishAt`, when the usage of the time before it is
   * complete. Returns the period.
   */
  async begun(tx: Tx, sub: Subscription, row: PeriodRow, graceSeconds: number): Promise<PeriodRow> {
    await this.carryLimits(tx, sub, row);
    if (row.finishAt > 0) return row;
    const waiting = { ...row, finishAt: Math.min(row.startAt + graceSeconds, row.endAt) };
    tx.save(subscriptionPeriods, waiting);
    return waiting;
  }

  /** Counters follow the end of the current period, which a change or appended free time moves. */
  moveEnd = (
    tx: Tx,
    { subscriptionId, currentPeriodEnd: from }: Subscription,
    to: number,
    of: usage.MovedFor = {},
  ): Promise<void> => usage.movePeriodEnd(tx, subscriptionId, { from, to, ...of });

  /** Keeps the limits of the period of an invoice as they are when it is paid. */
  async keepLimits(tx: Tx, { invoiceId, subscriptionId, periodStart }: InvoiceState): Promise<void> {
    const subscription = await this.metered.ofSubscription(tx, subscriptionId);
    const period = subscription?.periods.findLast(({ start }) => start <= periodStart) ?? subscription?.periods.at(0);
    if (subscription && period) await usage.takeSnapshot(tx, { invoiceId, subscription, period });
  }

  /** True if events may still arrive that are counted or limited. */
  isCounted = async (reader: Reader, sub: Subscription): Promise<boolean> =>
    limitsUsage(sub.planSnapshot) || this.isMetered(reader, sub);

  /** True if its plans sell usage, or ever did: some of it may be late. */
  private async isMetered(reader: Reader, { planSnapshot, subscriptionId }: Subscription): Promise<boolean> {
    return sellsUsage(planSnapshot) || usage.isCharged(reader, subscriptionId);
  }

  private async billed(
    reader: Reader,
    sub: Subscription,
    until: number,
    of: usage.BilledPart,
  ): Promise<usage.Billed | undefined> {
    // a change may give a price to what had none
    const named = of.metricIds ?? of.repriced;
    const counts = named !== undefined && named.size > 0;
    if (!counts && (of.metricIds || !(await this.isMetered(reader, sub)))) return undefined;
    const subscription = await this.metered.ofSubscription(reader, sub.subscriptionId, until);
    const period = subscription?.periods.find(({ start, end }) => start < until && until <= end);
    return subscription && period && { subscription, period, until, ...of };
  }
}

type PricedPlans = Pick<PlanSnapshot, 'plan' | 'addons'>;

/** True if usage is sold: invoices are made when a period ends, and wait for late events. */
export const sellsUsage = (snapshot: PricedPlans): boolean => plansSold(snapshot).some(isMetered);

const limitsUsage = (snapshot: PricedPlans): boolean =>
  plansSold(snapshot).some(({ metricLimits }) => metricLimits.length > 0);

/** True if usage is sold or limited. */
export const hasUsage = (snapshot: PricedPlans): boolean => sellsUsage(snapshot) || limitsUsage(snapshot);

/** The metrics whose price a change alters. Their usage up to it is billed at the old price, and counts from zero again. */
export function repricedMetrics(sub: Subscription, after: Subscription): ReadonlySet<number> {
  const [before, then] = [planTermsOf(sub), planTermsOf(after)];
  const ids = [...before, ...then].flatMap(({ charges }) => charges.map(({ metricId }) => metricId));
  const priceIn = (terms: readonly PlanTerms[], metricId: number) => {
    const found = chargeIn(terms, metricId);
    return found && usagePrice(found.charge, found.planId);
  };
  return new Set(ids.filter(id => !samePrice(priceIn(before, id), priceIn(then, id))));
}

const planTermsOf = ({ planSnapshot: { plan, addons }, quantity, currency }: Subscription): PlanTerms[] =>
  termsOfPlans({ plan, addons, quantity, currency });

/** True for an item of usage. */
export const isUsage = ({ kind }: Pick<InvoiceItem, 'kind'>): boolean => kind === 'metered' || kind === 'lateUsage';

const isMetered = (plan: Plan): boolean => plan.metricMeteredCharge.length + plan.metricRecurringCharge.length > 0;

/** The plans of now, and those before the last change: some of their usage may be late. */
const plansOfSnapshot = ({ previousPlan, previousAddons, ...now }: PlanSnapshot): Plan[] => [
  ...plansSold(now),
  ...plansSold({ plan: previousPlan, addons: previousAddons }),
];

const usageItems = ({ planSnapshot }: Subscription, lines: readonly usage.UsageLine[]): InvoiceItem[] =>
  lines.map(({ metric, planId, start, end, late, quantity, amount, derivation, charge }) => ({
    key: `usage:${metric.id}`,
    kind: late ? 'lateUsage' : 'metered',
    planId,
    plan: snapshotPlan(planSnapshot, planId),
    name: metric.metricName,
    description: `${quantity} × ${metric.metricName}`,
    unitAmount: amount,
    quantity: 1,
    period: { start, end },
    derivation,
    metricCharge: charge,
  }));

const snapshotPlan = (snapshot: PlanSnapshot, planId: number): Plan | null =>
  plansOfSnapshot(snapshot).find(({ id }) => id === planId) ?? null;
