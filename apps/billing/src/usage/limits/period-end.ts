import type { MerchantMetric, UserHistoryLimitStat } from '@recur/contracts';
import { given, type Reader, type Tx } from '@recur/platform';
import { metricsById } from '../../customers/catalog.js';
import { createCounters, emptyCounter, lockCounters } from '../counters.js';
import { aggregationOf, type Counter, isCharge, metricKindOf } from '../domain/counter.js';
import type { UsagePeriod, UsageSubscription } from '../domain/subscription.js';
import type { MeteredSubscriptions } from '../metered-subscriptions.js';
import { scheduleUsageNotice } from '../notices.js';
import { reassignEvents, rebuildUniques, recount } from '../recounts.js';
import { splitCounter } from '../splits.js';
import { counters, snapshots } from '../tables.js';
import { historyStat, limitStats } from './carry-over.js';

const countedText = `select distinct metric_id from usage_counters where merchant_id = $1 and subscription_id = $2
  and not closed and (end_at > $3 or period_end = $4)`;
const dropText = `delete from usage_counters where merchant_id = $1 and subscription_id = $2 and metric_id = $3
  and start_at >= $4 and not closed`;

/** The change that moves the end of a period; free time that is appended moves that of its limits alone. */
export interface MovedFor {
  /** The period that begins at the new end: what was counted since counts in it. Free time may follow what it sells. */
  next?: { soldUntil: number; end: number };
  /** True where the period itself is sold again, for another interval. */
  isResold?: boolean;
}

/** The end of a period, and where it moves to. */
interface MovedEnd extends MovedFor {
  from: number;
  to: number;
}

/**
 * Moves the end of a subscription's current period for what is counted of it: to a change with which a new period begins,
 * which counts from zero, or to the end of free time that is appended, or takes its place.
 */
export async function movePeriodEnd(tx: Tx, subscriptionId: string, moved: MovedEnd): Promise<void> {
  const { from, to, next } = moved;
  const counted = await tx.query(countedText, [tx.merchantId, subscriptionId, Math.min(from, to), from]);
  const metrics = await metricsById(
    tx,
    counted.map(row => Number(row.metric_id)),
  );
  for (const metric of [...metrics.values()].sort((one, other) => one.id - other.id)) {
    const locked = await lockCounters(tx, [{ subscriptionId, metricId: metric.id }], 0);
    const open = locked.filter(({ closed }) => !closed);
    const changed: Counter[] = [];
    for (const counter of open.filter(({ startAt }) => startAt < to)) {
      const resized = await sized(tx, metric, counter, moved);
      if (resized) changed.push({ ...resized, version: counter.version + 1 });
    }
    await tx.upsert(counters, changed);
    if (next && open.length > 0) await begin(tx, metric, open, { ...next, start: to });
  }
}

/** A counter that begins before the new end of its period; undefined where it stays as it is. */
async function sized(
  tx: Tx,
  metric: MerchantMetric,
  counter: Counter,
  { from, to, next, isResold }: MovedEnd,
): Promise<Counter | undefined> {
  const isCut = to < counter.endAt;
  const isOfPeriod = counter.periodEnd === from;
  const follows = isOfPeriod && (!isCharge(metricKindOf(metric)) || isResold || to < from);
  // a counter that reaches beyond a period that ends, or into free time that is appended before it, is cut there
  const isBroken = isCut && (next !== undefined || counter.startAt >= from);
  if (!follows && !isBroken) return undefined;
  const rest = { ...counter, startAt: to, periodStart: to, periodEnd: counter.endAt };
  const cut = isCut ? await splitCounter(tx, metric, counter, rest) : counter;
  const endAt = isCut || counter.endAt === from ? to : counter.endAt;
  return { ...cut, endAt, ...(isOfPeriod && { periodEnd: to }) };
}

/** Counts what was counted since the start of a new period in one counter of it. */
async function begin(
  tx: Tx,
  metric: MerchantMetric,
  open: readonly Counter[],
  { start, soldUntil, end: periodEnd }: { start: number; soldUntil: number; end: number },
): Promise<void> {
  const [first] = open;
  if (!first) return;
  const { merchantId, userId, subscriptionId, metricId } = first;
  const end = isCharge(metricKindOf(metric)) ? soldUntil : periodEnd;
  const empty = emptyCounter(first, { start, end }, { merchantId, userId, periodStart: start, periodEnd });
  // the limit of a period that is replaced from its first second on keeps what was carried to it
  const { adjusted = 0n, alerted = 0, upgradeAsked = false } = open.find(({ startAt }) => startAt === start) ?? {};
  await tx.run(dropText, [merchantId, subscriptionId, metricId, start]);
  // also where it is empty: an event that waits for a counter that is dropped finds it
  await createCounters(tx, [empty]);
  const tally = await recount(tx, aggregationOf(metric), empty);
  // beyond the versions of its events, which tell what has billed them
  const version = Math.max(...open.map(each => each.version)) + 1;
  const made = { ...empty, ...tally, adjusted, alerted, upgradeAsked, version };
  await tx.upsert(counters, [tally.events === 0n ? made : scheduleUsageNotice(tx, made)]);
  if (tally.events === 0n) return;
  await reassignEvents(tx, made);
  await rebuildUniques(tx, made);
}

/** Keeps the limits of a period as they are when its invoice is paid; called once per paid subscription invoice. */
export async function takeSnapshot(
  tx: Tx,
  { invoiceId, subscription, period }: { invoiceId: string; subscription: UsageSubscription; period: UsagePeriod },
): Promise<void> {
  const stats = await limitStats(tx, subscription, period);
  const { subscriptionId, userId } = subscription;
  tx.save(snapshots, {
    merchantId: tx.merchantId,
    invoiceId,
    subscriptionId,
    userId,
    periodStart: period.start,
    limitStats: stats.map(historyStat),
    paidTime: tx.now,
  });
}

/** The user's paid subscription invoices whose usage is kept, newest first: a page of their ids. */
export async function snapshotInvoices(
  reader: Reader,
  { userId, subscriptionId, page, count }: { userId: number; subscriptionId: string; page: number; count: number },
): Promise<{ invoiceIds: string[]; total: number }> {
  const { rows, total } = await reader.page({
    from: snapshots,
    where: [
      ['user_id = ?', userId],
      ['subscription_id = ?', given(subscriptionId)],
    ],
    order: 'paid_time desc, invoice_id desc',
    page,
    count,
  });
  return { invoiceIds: rows.map(({ invoiceId }) => invoiceId), total };
}

/** The limits of a subscription in its current period, as its counters show them now. */
export async function limitsNow(
  reader: Reader,
  { metered, subscriptionId }: { metered: MeteredSubscriptions; subscriptionId: string },
): Promise<UserHistoryLimitStat[] | undefined> {
  const subscription = await metered.ofSubscription(reader, subscriptionId);
  if (!subscription) return undefined;
  const period = subscription.periods.findLast(({ start }) => start <= reader.now) ?? subscription.periods.at(-1);
  return period ? (await limitStats(reader, subscription, period)).map(historyStat) : [];
}

/** The limits as they were kept when an invoice was paid; none for one that is not paid, or is of a plan without usage. */
export const limitsKept = async (reader: Reader, invoiceId: string): Promise<UserHistoryLimitStat[]> =>
  (await reader.find(snapshots, { invoiceId }))?.limitStats ?? [];
