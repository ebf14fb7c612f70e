import {
  emptyOf,
  type InvoiceLineMetricCharge,
  type MerchantMetric,
  InvoiceLineMetricCharge as Shape,
} from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import type { Derivation } from '../pricing/explain.js';
import { pricedSteps, usageDerivation, usagePrice } from '../pricing/usage.js';
import {
  type BilledUntil,
  chargedIntervals,
  chargeMetrics,
  countersOfSubscription,
  type DueCounter,
  dueCounters,
  priceAtClose,
} from './billable-usage.js';
import { counterKey, createCounters, lockCounters } from './counters.js';
import type { Counter } from './domain/counter.js';
import { countersWithout, endCounterAt, reopenBilled } from './splits.js';
import { type Billing, billings, counters } from './tables.js';
import { priceView, stepView } from './views.js';

export type { BilledPart, BilledUntil as Billed } from './billable-usage.js';
export { chargesUsage as isCharged } from './counters.js';
export { unbilledIds } from './domain/billing.js';
export { carryOver } from './limits/carry-over.js';
export { type MovedFor, movePeriodEnd, takeSnapshot } from './limits/period-end.js';

// The verbs of usage for subscriptions. Subscriptions are given as plain data (domain/subscription.ts); all run in the open transaction.
//
//   linesFor(reader, billed)            what an invoice of a period bills for usage; a preview, nothing is written
//   lock(tx, billed)                    no event changes those lines before the transaction ends
//   close(tx, billed, invoiceId)        the same lines, billed on that invoice: later events of the time are late usage
//   reopen(tx, invoiceId)               the invoice was cancelled: its usage is unbilled again
//   isCharged(reader, subscriptionId)   counters.ts: usage of it was counted that plans charge, or once did
//   carryOver(tx, …)                    carry-over.ts: what recurring limits leave over; at a period's end and its close
//   movePeriodEnd(tx, …)                period-end.ts: counters follow a period that a change ends or free time makes longer
//   takeSnapshot(tx, …)                 snapshots.ts: limits as they are when an invoice is paid
//
// A period without a change of price is closed once, at its end or grace (until = period.end). A change at t that changes
// a price closes with until = t under the old terms; the next event begins an interval from t. Usage lines carry the tax
// point `end − 1`. Late lines and corrections come after the period's own and are not discountable.

/** A usage line of an invoice. Amounts are net, in minor units of the subscription's currency. */
export interface UsageLine {
  metric: MerchantMetric;
  planId: number;
  start: number;
  end: number;
  late: boolean;
  /** Units that the line bills; negative for a correction. */
  quantity: bigint;
  amount: bigint;
  derivation: Derivation;
  charge: InvoiceLineMetricCharge;
}

const emptyCharge = emptyOf(Shape);

/** Lines of an invoice of the period up to `until`: the period's usage, then late usage of periods that were billed. */
export async function linesFor(reader: Reader, billed: BilledUntil): Promise<UsageLine[]> {
  const { subscription, replaced = '' } = billed;
  const known = await countersOfSubscription(reader, subscription.subscriptionId);
  const there = replaced === '' ? known : await countersWithout(reader, known, replaced);
  return (await dueCounters(reader, billed, there)).map(due => usageLineOf(due, billed.until));
}

/** Locks what `linesFor` reads. */
export async function lock(tx: Tx, billed: BilledUntil): Promise<void> {
  await lockedForClose(tx, billed);
}

/**
 * Bills the period's usage up to `until`, and what is late, on an invoice. From then on the counters of that time are
 * closed: what arrives for them is late usage. They are written at once, since the same transaction may bill more.
 */
export async function close(tx: Tx, billed: BilledUntil, invoiceId: string): Promise<void> {
  const there = await lockedForClose(tx, billed);
  const due = await dueCounters(tx, billed, there);
  const byKey = new Map(due.map(each => [counterKey(each.counter), each]));
  const closed = new Map<string, Counter>();
  // without a price it stays open until the period is over: a change may give it one
  const isWhole = !billed.metricIds && billed.until === billed.period.end;
  for (const metric of await chargeMetrics(tx, billed, there)) {
    const own = there.filter(({ metricId }) => metricId === metric.id);
    for (const { counter } of chargedIntervals(billed, metric, own)) {
      if (counter.closed || (isWhole && !priceAtClose(counter, billed.subscription))) continue;
      const of = byKey.get(counterKey(counter));
      // without usage too, so that a cancelled invoice opens it again
      tx.save(billings, billingOf(tx, invoiceId, counter, of, !billed.isLasting && billed.until < counter.endAt));
      closed.set(counterKey(counter), billedCounter(await endCounterAt(tx, metric, counter, billed), of));
    }
  }
  for (const each of due.filter(({ late, counter }) => late || counter.startAt < billed.period.start)) {
    tx.save(billings, billingOf(tx, invoiceId, each.counter, each, false));
    closed.set(counterKey(each.counter), billedCounter({ ...each.counter, price: each.kept }, each));
  }
  const free = billed.metricIds ? [] : await unpriced(tx, billed, there);
  for (const counter of free) if (!closed.has(counterKey(counter))) closed.set(counterKey(counter), counter);
  await tx.upsert(counters, [...closed.values()]);
}

/** Counters of earlier periods in which a charge had no price, closed: they stay free. */
async function unpriced(tx: Tx, billed: BilledUntil, there: readonly Counter[]): Promise<Counter[]> {
  const charged = new Set((await chargeMetrics(tx, billed, there)).map(({ id }) => id));
  return there
    .filter(({ closed, startAt }) => !closed && startAt < billed.period.start)
    .filter(({ metricId }) => charged.has(metricId))
    .map(counter => ({ ...counter, closed: true, version: counter.version + 1 }));
}

/** Takes back what an invoice billed, since it was cancelled: it stands on the next one again. */
export async function reopen(tx: Tx, invoiceId: string): Promise<void> {
  const billed = await tx.all(billings, { invoiceId });
  if (billed.length === 0) return;
  await reopenBilled(tx, billed);
  await tx.run('delete from usage_billings where merchant_id = $1 and invoice_id = $2', [tx.merchantId, invoiceId]);
}

/** Locks the counters of a subscription, and makes those of its intervals in which nothing was counted. */
async function lockedForClose(tx: Tx, billed: BilledUntil) {
  const { subscriptionId } = billed.subscription;
  const known = await countersOfSubscription(tx, subscriptionId);
  const metrics = await chargeMetrics(tx, billed, known);
  const missing = metrics.flatMap(metric =>
    chargedIntervals(
      billed,
      metric,
      known.filter(({ metricId }) => metricId === metric.id),
    )
      .filter(({ isNew }) => isNew)
      .map(({ counter }) => counter),
  );
  await createCounters(tx, missing);
  const pairs = metrics.map(({ id: metricId }) => ({ subscriptionId, metricId }));
  return lockCounters(tx, pairs, 0);
}

const billingOf = (
  tx: Tx,
  invoiceId: string,
  counter: Counter,
  due: DueCounter | undefined,
  cut: boolean,
): Billing => ({
  merchantId: tx.merchantId,
  invoiceId,
  subscriptionId: counter.subscriptionId,
  metricId: counter.metricId,
  startAt: counter.startAt,
  value: due ? due.due.value - due.due.billedValue : 0n,
  amount: due?.due.amount ?? 0n,
  counterVersion: counter.version,
  cut,
  createTime: tx.now,
});

const billedCounter = (counter: Counter, due: DueCounter | undefined): Counter => ({
  ...counter,
  closed: true,
  billedValue: due?.due.value ?? counter.billedValue,
  billedAmount: counter.billedAmount + (due?.due.amount ?? 0n),
  version: counter.version + 1,
});

function usageLineOf({ metric, counter, kept, due, late }: DueCounter, until: number): UsageLine {
  const price = usagePrice(kept.charge, kept.planId);
  const end = late ? counter.endAt : Math.min(counter.endAt, until);
  return {
    metric,
    planId: kept.planId,
    start: counter.startAt,
    end,
    late,
    quantity: due.value - due.billedValue,
    amount: due.amount,
    derivation: usageDerivation(price, { used: due.value, billed: counter.billedAmount, part: due.part }),
    charge: {
      ...emptyCharge,
      metricId: metric.id,
      CurrentUsedValue: Number(due.value),
      name: metric.metricName,
      description: metric.metricDescription,
      maxEventId: counter.maxEventId,
      minEventId: counter.minEventId,
      chargePricing: priceView(kept),
      totalChargeAmount: Number(due.amount),
      lines: pricedSteps(price, due.value).map(stepView),
    },
  };
}
