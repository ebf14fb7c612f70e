import type { UserHistoryLimitStat } from '@recur/contracts';
import { given, type Reader, type Tx } from '@recur/platform';
import type { UsagePeriod, UsageSubscription } from './domain/facts.js';
import { historyStat, limitStats } from './limits/limit-stats.js';
import type { SubscriptionFacts } from './subscription-facts.js';
import { snapshots } from './tables.js';

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
  { facts, subscriptionId }: { facts: SubscriptionFacts; subscriptionId: string },
): Promise<UserHistoryLimitStat[] | undefined> {
  const subscription = await facts.ofSubscription(reader, subscriptionId);
  if (!subscription) return undefined;
  const period = subscription.periods.findLast(({ start }) => start <= reader.now) ?? subscription.periods.at(-1);
  return period ? (await limitStats(reader, subscription, period)).map(historyStat) : [];
}

/** The limits as they were kept when an invoice was paid; none for one that is not paid, or is of a plan without usage. */
export const limitsKept = async (reader: Reader, invoiceId: string): Promise<UserHistoryLimitStat[]> =>
  (await reader.find(snapshots, { invoiceId }))?.limitStats ?? [];
