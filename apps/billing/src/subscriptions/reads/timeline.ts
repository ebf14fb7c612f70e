import { Controller } from '@nestjs/common';
import { type In, listTimelines, type SubscriptionTimeLineDetail, subscriptionTimelineStatus } from '@recur/contracts';
import { type Caller, Db, given, Handle, type Reader, sorted } from '@recur/platform';
import { shownAddons, shownPlan } from '../../customers/plans.js';
import { invoicesById } from '../../invoicing/lists/details.js';
import type { PeriodRow, PeriodState } from '../domain/periods.js';
import { subscriptionPeriods, subscriptions } from '../tables.js';

const states: Record<PeriodState, keyof typeof subscriptionTimelineStatus> = {
  open: 'processing',
  paid: 'finished',
  unpaid: 'failed',
  void: 'cancelled',
};

const columns = { createTime: 'create_time', periodStart: 'start_at' };

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** subscription/timeline_list: the period table of a merchant, or of one of its users. */
@Controller()
export class Timelines {
  constructor(private readonly db: Db) {}

  @Handle(listTimelines)
  list(input: In<typeof listTimelines>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count, userId } = input;
      const { rows, total } = await reader.page({
        from: subscriptionPeriods,
        where: [['user_id = ?', given(userId)]],
        order: `${sorted(columns, input, 'subscription_id')}, seq ${input.sortType === 'asc' ? 'asc' : 'desc'}`,
        page,
        count,
      });
      return { subscriptionTimeLines: await shownPeriods(reader, rows), total };
    });
  }
}

async function shownPeriods(reader: Reader, rows: readonly PeriodRow[]): Promise<SubscriptionTimeLineDetail[]> {
  const [subs, invoices] = await Promise.all([
    reader.among(
      subscriptions,
      'subscriptionId',
      rows.map(({ subscriptionId }) => subscriptionId),
    ),
    invoicesById(
      reader,
      rows.map(({ invoiceId }) => invoiceId),
    ),
  ]);
  return rows.map(row => {
    const { merchantId, subscriptionId, userId, seq, startAt, endAt, invoiceId, createTime } = row;
    const sub = subs.find(known => known.subscriptionId === subscriptionId);
    const invoice = invoices.get(invoiceId);
    // an invoice shows what was sold at its time
    const snapshot = invoice?.planSnapshot ?? sub?.planSnapshot;
    return {
      ...{ merchantId, subscriptionId, userId, invoiceId, createTime, periodStart: startAt, periodEnd: endAt },
      uniqueId: `${subscriptionId}_${seq}`,
      addons: shownAddons(snapshot?.addons ?? []),
      currency: invoice?.currency ?? sub?.currency ?? '',
      gatewayId: invoice?.gatewayId ?? sub?.gatewayId ?? 0,
      paymentId: invoice?.paymentId ?? '',
      ...{ periodStartTime: iso(startAt), periodEndTime: iso(endAt) },
      plan: shownPlan(snapshot?.plan ?? null),
      planId: snapshot?.plan?.id ?? 0,
      quantity: sub?.quantity ?? 0,
      status: subscriptionTimelineStatus[states[row.state]],
    };
  });
}
