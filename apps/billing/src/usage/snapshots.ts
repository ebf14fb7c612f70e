import { Controller } from '@nestjs/common';
import { emptyOf, type In, metricHistoryBySubscription, UserHistoryMetric } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, given, Handle, type Reader, type Tx } from '@recur/platform';
import type { UsagePeriod, UsageSubscription } from './domain/facts.js';
import { historyStat, limitStats } from './limits/limit-stats.js';
import { SubscriptionFacts } from './subscription-facts.js';
import { type Snapshot, snapshots } from './tables.js';

const empty = emptyOf(UserHistoryMetric);

/** Keeps the limits of a period as they are when its invoice is paid; called once per paid subscription invoice. */
export async function takeSnapshot(
  tx: Tx,
  { invoiceId, subscription, period }: { invoiceId: string; subscription: UsageSubscription; period: UsagePeriod },
): Promise<void> {
  const stats = await limitStats(tx, subscription, period);
  const { subscriptionId, userId } = subscription;
  tx.save(snapshots, {
    ...{ merchantId: tx.merchantId, invoiceId, subscriptionId, userId, periodStart: period.start },
    ...{ limitStats: stats.map(historyStat), paidTime: tx.now },
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

/** Usage of limits now, and as it was when invoices were paid. */
@Controller()
export class UsageHistory {
  constructor(
    private readonly db: Db,
    private readonly facts: SubscriptionFacts,
  ) {}

  @Handle(metricHistoryBySubscription)
  bySubscription({ subscriptionId }: In<typeof metricHistoryBySubscription>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const subscription = await this.facts.ofSubscription(reader, subscriptionId);
      if (!subscription) throw new Rejected('subscription_not_found');
      const [latest] = await latestSnapshot(reader, subscriptionId);
      const userHistoryMetric = {
        ...empty,
        invoiceId: latest?.invoiceId ?? '',
        limitStats: await live(reader, subscription),
      };
      return { userHistoryMetric };
    });
  }
}

/**
 * The usage of an invoice's period. Of the subscription's latest paid invoice it is what the counters show now; of others
 * what was kept when they were paid. Undefined where no usage is kept: the invoice is of no subscription, or unpaid.
 */
export async function usageOfInvoice(reader: Reader, facts: SubscriptionFacts, invoiceId: string) {
  const kept = await reader.find(snapshots, { invoiceId });
  if (!kept) return undefined;
  const [latest] = await latestSnapshot(reader, kept.subscriptionId);
  const subscription =
    latest?.invoiceId === invoiceId ? await facts.ofSubscription(reader, kept.subscriptionId) : undefined;
  const userHistoryMetric = {
    ...{ ...empty, invoiceId },
    limitStats: subscription ? await live(reader, subscription) : kept.limitStats,
  };
  return { isLatestPaidInvoice: latest?.invoiceId === invoiceId, userHistoryMetric };
}

const latestSnapshot = (reader: Reader, subscriptionId: string): Promise<Snapshot[]> =>
  reader.all(snapshots, { subscriptionId }, 'order by paid_time desc, invoice_id desc limit 1');

async function live(reader: Reader, subscription: UsageSubscription) {
  const period = subscription.periods.findLast(({ start }) => start <= reader.now) ?? subscription.periods.at(-1);
  return period ? (await limitStats(reader, subscription, period)).map(historyStat) : [];
}
