import { Controller } from '@nestjs/common';
import { chargeStatus, type In, listUsageEvents } from '@recur/contracts';
import { type Caller, type Condition, Db, each, given, Handle, type Reader, sorted } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import { usersById } from '../../customers/users.js';
import { type Billing, billings, usageEvents } from '../tables.js';
import { eventView } from '../views.js';
import { partsOf } from './event-views.js';

type Input = In<typeof listUsageEvents>;

@Controller()
export class UsageEventList {
  constructor(private readonly db: Db) {}

  @Handle(listUsageEvents)
  list(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where = await eventsWhere(reader, input);
      const { page, count } = input;
      const order = sorted({ createTime: 'create_time' }, input);
      const { rows, total } = await reader.page({ from: usageEvents, where, order, page, count });
      if (rows.length === 0) return { events: [], total };
      const [parts, metrics, users] = await Promise.all([
        partsOf(reader, rows),
        metricsById(
          reader,
          rows.map(({ metricId }) => metricId),
        ),
        usersById(
          reader,
          rows.map(({ userId }) => userId),
        ),
      ]);
      const events = rows.map((event, at) => {
        const part = parts[at];
        if (!part) throw new Error(`no parts of event ${event.id}`);
        const view = eventView(event, part);
        return {
          ...view,
          chargeInvoice: null,
          chargeStatus: view.chargeInvoiceId === '' ? chargeStatus.open : chargeStatus.charged,
          merchantMetric: metrics.get(event.metricId) ?? null,
          user: users.get(event.userId) ?? null,
        };
      });
      return { events, total };
    });
  }
}

/** The conditions of metric/event_list. */
export async function eventsWhere(reader: Reader, input: Input): Promise<Condition[]> {
  const billed = await billedOn(reader, given(input.invoiceId));
  const subscriptionIds = [
    ...(input.subscriptionIds ?? []),
    ...(billed ?? []).map(({ subscriptionId }) => subscriptionId),
  ];
  return [
    ['deleted_time = ?', 0],
    each('user_id', given(input.userIds)),
    each('metric_id', given(input.metricIds)),
    each('subscription_id', given(input.subscriptionIds)),
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    ...(subscriptionIds.length > 0 ? [each('user_id', await usersOf(reader, subscriptionIds))] : []),
    ...(billed ? [onInvoice(billed)] : []),
  ];
}

const billedOn = async (reader: Reader, invoiceId: string | undefined): Promise<Billing[] | undefined> =>
  invoiceId === undefined ? undefined : reader.all(billings, { invoiceId });

/** The users of subscriptions, by whom their events are found in the index. */
async function usersOf(reader: Reader, subscriptionIds: readonly string[]): Promise<number[]> {
  const rows = await reader.query(
    'select distinct user_id from usage_counters where merchant_id = $1 and subscription_id = any($2)',
    [reader.merchantId, subscriptionIds],
  );
  return rows.length > 0 ? rows.map(({ user_id }) => Number(user_id)) : [0];
}

/** The events that an invoice charges: those that its billings were the first to include. */
function onInvoice(billed: readonly Billing[]): Condition {
  const stretches = billed.map(({ subscriptionId, metricId, startAt, counterVersion }) => ({
    subscription_id: subscriptionId,
    metric_id: metricId,
    start_at: startAt,
    last: counterVersion,
  }));
  return [
    `exists (select 1 from jsonb_to_recordset(?::jsonb)
        as b(subscription_id text, metric_id bigint, start_at bigint, last integer)
        where b.subscription_id = usage_events.subscription_id and b.metric_id = usage_events.metric_id
          and b.start_at = usage_events.counter_start and usage_events.counter_version <= b.last
          and not exists (select 1 from usage_billings o where o.merchant_id = usage_events.merchant_id
            and o.subscription_id = b.subscription_id and o.metric_id = b.metric_id and o.start_at = b.start_at
            and o.counter_version < b.last and o.counter_version >= usage_events.counter_version))`,
    JSON.stringify(stretches),
  ];
}
