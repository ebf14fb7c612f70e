import { Controller } from '@nestjs/common';
import {
  type In,
  listSubscriptionNotes,
  listTimelines,
  newSubscriptionNote,
  type SubscriptionTimeLineDetail,
  subscriptionTimelineStatus,
} from '@recur/contracts';
import { type Caller, Db, given, Handle, type Reader, type Row } from '@recur/platform';
import { shownAddons, shownPlan } from '../../customers/catalog.js';
import { invoicesById } from '../../invoices/lists/details.js';
import { isoTime } from '../../invoices/views.js';
import type { PeriodState } from '../domain/periods.js';
import { pendingUpdates } from '../pending-update.js';
import { subscriptionNotes, subscriptions } from '../tables.js';

const limits = { counted: 10_000 } as const;

const timelineStates: Record<PeriodState, keyof typeof subscriptionTimelineStatus> = {
  open: 'processing',
  paid: 'finished',
  unpaid: 'failed',
  void: 'cancelled',
};

type Input = In<typeof listTimelines>;

/** A period of a subscription, or a change inside one, which has the id of its update. */
interface TimelineEntry {
  subscription_id: string;
  user_id: string;
  seq: number;
  /** '' for a period. */
  update_id: string;
  state: PeriodState;
  start_at: string;
  end_at: string;
  invoice_id: string;
  create_time: string;
}

/** subscription/timeline_list: the periods of a merchant's subscriptions, or of one user's, and the changes inside them. */
@Controller()
export class Timelines {
  constructor(private readonly db: Db) {}

  @Handle(listTimelines)
  list(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count } = input;
      const values = [reader.merchantId, given(input.userId) ?? null, limits.counted, count, page * count];
      const rows = await reader.query(timelineStatement(input), values);
      const entries = rows.filter(row => row.subscription_id !== null) as unknown as (Row & TimelineEntry)[];
      return { subscriptionTimeLines: await timelineDetails(reader, entries), total: Number(rows[0]?.total ?? 0) };
    });
  }
}

/**
 * A page of both, and how many there are. Each side gives at most as many rows as are counted; a row without a
 * subscription stands for an empty page. A change that waited for the end of a period is the beginning of the next one.
 */
function timelineStatement({ sortField, sortType }: Input): string {
  const direction = sortType === 'asc' ? 'asc' : 'desc';
  const [ofPeriods, ofChanges] =
    sortField === 'periodStart' ? ['start_at', 'effect_time'] : ['create_time', 'effect_time'];
  const order = (column: string) => `${column} ${direction}, subscription_id ${direction}`;
  return `with found as materialized (
    (select subscription_id, user_id, seq, '' as update_id, state, start_at, end_at, invoice_id, create_time
      from subscription_periods where merchant_id = $1 and ($2::bigint is null or user_id = $2)
      order by ${order(ofPeriods)}, seq ${direction} limit $3)
    union all
    (select subscription_id, user_id, 0, pending_update_id, 'paid', effect_time, 0, invoice_id, effect_time
      from subscription_pending_updates where merchant_id = $1 and ($2::bigint is null or user_id = $2)
        and status = 'finished' and effect_immediate = 1
      order by ${order(ofChanges)} limit $3)),
  page as (select * from found order by ${order(ofPeriods)}, seq ${direction}, update_id ${direction} limit $4 offset $5)
  select page.subscription_id, page.user_id, page.seq, page.update_id, page.state, page.start_at, page.invoice_id,
    page.create_time, case when page.update_id = '' then page.end_at else (select min(p.end_at) from subscription_periods p
      where p.merchant_id = $1 and p.subscription_id = page.subscription_id and p.end_at > page.start_at
        and p.state <> 'void') end as end_at, totals.total
  from (select least(count(*), $3) as total from found) totals left join page on true
  order by ${order(`page.${ofPeriods}`).replace(', ', ', page.')}, page.seq ${direction}, page.update_id ${direction}`;
}

async function timelineDetails(reader: Reader, rows: readonly TimelineEntry[]): Promise<SubscriptionTimeLineDetail[]> {
  const [subs, updates, invoices] = await Promise.all([
    reader.among(subscriptions, 'subscriptionId', distinct(rows.map(row => row.subscription_id))),
    reader.among(pendingUpdates, 'pendingUpdateId', distinct(rows.map(row => row.update_id))),
    invoicesById(
      reader,
      rows.map(row => row.invoice_id),
    ),
  ]);
  return rows.map(row => {
    const { subscription_id: subscriptionId, invoice_id: invoiceId, update_id: updateId } = row;
    const [startAt, endAt] = [Number(row.start_at), Number(row.end_at)];
    const sub = subs.find(known => known.subscriptionId === subscriptionId);
    const update = updates.find(known => known.pendingUpdateId === updateId);
    const invoice = invoices.get(invoiceId);
    // an invoice shows what was sold at its time
    const snapshot = update?.updateSnapshot ?? invoice?.planSnapshot ?? sub?.planSnapshot;
    return {
      merchantId: reader.merchantId,
      subscriptionId,
      userId: Number(row.user_id),
      invoiceId,
      createTime: Number(row.create_time),
      periodStart: startAt,
      periodEnd: endAt,
      uniqueId: updateId || `${subscriptionId}_${row.seq}`,
      addons: shownAddons(snapshot?.addons ?? []),
      currency: update?.updateCurrency ?? invoice?.currency ?? sub?.currency ?? '',
      gatewayId: invoice?.gatewayId ?? sub?.gatewayId ?? 0,
      paymentId: invoice?.paymentId ?? '',
      periodStartTime: isoTime(startAt),
      periodEndTime: isoTime(endAt),
      plan: shownPlan(snapshot?.plan ?? null),
      planId: snapshot?.plan?.id ?? 0,
      quantity: update?.updateQuantity ?? sub?.quantity ?? 0,
      status: subscriptionTimelineStatus[timelineStates[row.state]],
    };
  });
}

const distinct = (ids: readonly string[]) => [...new Set(ids)].filter(id => id !== '');

/** Notes of members on subscriptions. */
@Controller()
export class SubscriptionNotes {
  constructor(private readonly db: Db) {}

  @Handle(newSubscriptionNote)
  add({ subscriptionId, note }: In<typeof newSubscriptionNote>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { userId } = await tx.get(subscriptions, { subscriptionId }, 'subscription_not_found');
      const { kind, id, display } = caller.actor;
      const member = kind === 'member' ? { memberId: Number(id), memberEmail: display } : noMember;
      tx.save(subscriptionNotes, {
        merchantId: tx.merchantId,
        id: await tx.nextId(subscriptionNotes),
        subscriptionId,
        note,
        ...member,
        createTime: tx.now,
      });
      tx.log(`Subscription(${subscriptionId})`, 'NewAdminNote', { subscriptionId, userId });
      return {};
    });
  }

  @Handle(listSubscriptionNotes)
  list({ subscriptionId, page, count }: In<typeof listSubscriptionNotes>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await reader.get(subscriptions, { subscriptionId }, 'subscription_not_found');
      const where = [['subscription_id = ?', subscriptionId]] as const;
      const { rows, total } = await reader.page({ from: subscriptionNotes, where, order: 'id desc', page, count });
      const noteLists = rows.map(({ id, note, createTime, memberId, memberEmail }) => {
        const merchantMember = memberId === 0 ? null : { id: memberId, email: memberEmail };
        return { id, note, createTime, subscriptionId, merchantMember };
      });
      return { noteLists, total };
    });
  }
}

const noMember = { memberId: 0, memberEmail: '' };
