import { Controller, Injectable } from '@nestjs/common';
import { chargeStatus, type ExportRow, type In, listUsageEvents, type MerchantMetricEvent } from '@recur/contracts';
import {
  type Caller,
  type Condition,
  Db,
  each,
  given,
  Handle,
  type Reader,
  type SliceAt,
  type Sliced,
  sorted,
} from '@recur/platform';
import { metricsById } from '../../customers/catalog.js';
import { buyerColumns, usersById, usersOfRows } from '../../customers/users.js';
import { countersOf, groupedBy, pairKey, pairsIn } from '../counters.js';
import { aggregationOf, type Counter, isLimit, priceFor } from '../domain/counter.js';
import { MeteredSubscriptions } from '../metered-subscriptions.js';
import { type Billing, billings, type UsageEvent, usageEvents } from '../tables.js';
import { type EventParts, eventChargeView, eventView } from '../views.js';
import type { Recorded } from './recorder.js';

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
        eventParts(reader, rows),
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
async function eventsWhere(reader: Reader, input: Input): Promise<Condition[]> {
  const billed = await billingsOn(reader, given(input.invoiceId));
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
    ...(subscriptionIds.length > 0 ? [each('user_id', await userNamesOf(reader, subscriptionIds))] : []),
    ...(billed ? [onInvoice(billed)] : []),
  ];
}

const billingsOn = async (reader: Reader, invoiceId: string | undefined): Promise<Billing[] | undefined> =>
  invoiceId === undefined ? undefined : reader.all(billings, { invoiceId });

/** The users of subscriptions, by whom their events are found in the index. */
async function userNamesOf(reader: Reader, subscriptionIds: readonly string[]): Promise<number[]> {
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

/** Views of events: with their period, the invoice on which they are charged, and what one has cost. */
@Injectable()
export class EventViews {
  constructor(private readonly metered: MeteredSubscriptions) {}

  /** An event that was recorded before, with its price, as the command that records it answers it. */
  async of(reader: Reader, event: UsageEvent): Promise<MerchantMetricEvent> {
    const [[parts], metrics, subscription] = await Promise.all([
      eventParts(reader, [event]),
      metricsById(reader, [event.metricId]),
      this.metered.ofSubscription(reader, event.subscriptionId),
    ]);
    const metric = metrics.get(event.metricId);
    const period = subscription?.periods.find(({ start, end }) => start <= event.eventTime && event.eventTime < end);
    const kept = parts?.counter && subscription && period && priceFor(parts.counter, period, subscription);
    const of = metric && subscription && { currency: subscription.currency, aggregation: aggregationOf(metric) };
    const charge = kept && of ? eventChargeView(kept, of, event) : null;
    return eventView(event, { ...(parts as EventParts), charge });
  }
}

/** The view of an event that is recorded now: all that it shows is known. */
export function newEventView({ event, assigned }: Required<Recorded>): MerchantMetricEvent {
  const { counter, subscription, period } = assigned;
  const kept = isLimit(assigned.incoming.metric) ? undefined : priceFor(counter, period, subscription);
  const of = { currency: subscription.currency, aggregation: aggregationOf(assigned.incoming.metric) };
  const charge = kept ? eventChargeView(kept, of, event) : null;
  const { periodStart, periodEnd } = counter;
  return eventView(event, { periodStart, periodEnd, billedOn: '', charge });
}

/** Periods and invoices of events, in their order. */
async function eventParts(
  reader: Reader,
  events: readonly UsageEvent[],
): Promise<(EventParts & { counter: Counter | undefined })[]> {
  const pairs = pairsIn(events);
  const since = Math.min(...events.map(({ eventTime }) => eventTime));
  const [counters, billed] = await Promise.all([
    countersOf(reader, pairs, since),
    reader.among(billings, 'subscriptionId', [...new Set(pairs.map(({ subscriptionId }) => subscriptionId))]),
  ]);
  const byPair = groupedBy(counters, pairKey);
  const billingsByPair = groupedBy(billed, pairKey);
  return events.map(event => {
    const counter = byPair
      .get(pairKey(event))
      ?.find(one => one.startAt <= event.eventTime && event.eventTime < one.endAt);
    return {
      counter,
      periodStart: counter?.periodStart ?? 0,
      periodEnd: counter?.periodEnd ?? 0,
      billedOn: counter ? firstBilledOn(event, counter, billingsByPair.get(pairKey(event)) ?? []) : '',
      charge: null,
    };
  });
}

/** The id under which the counter was first billed with the event in it. */
function firstBilledOn({ counterVersion }: UsageEvent, { startAt }: Counter, billed: readonly Billing[]): string {
  const after = billed.filter(one => one.startAt === startAt && one.counterVersion >= counterVersion);
  const [first] = after.sort((one, other) => one.counterVersion - other.counterVersion);
  return first?.invoiceId ?? '';
}

/** The next events of metric/event_list as rows of an export, by id: their tables have no index by creation time. */
export function exportedEvents(
  db: Db,
  caller: Caller,
  input: In<typeof listUsageEvents>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'MetricEventExport'>>> {
  return db.read(caller, async reader => {
    const where = await eventsWhere(reader, input);
    const { rows, next } = await reader.slice({ from: usageEvents, where, by: ['id', 'eventTime'], ...at });
    if (rows.length === 0) return { rows: [], next };
    const metricIds = rows.map(({ metricId }) => metricId);
    const [parts, metrics, users] = await Promise.all([
      eventParts(reader, rows),
      metricsById(reader, metricIds),
      usersOfRows(reader, rows),
    ]);
    const shown = rows.map((row, index) => {
      const metric = metrics.get(row.metricId);
      const { periodStart = 0, periodEnd = 0 } = parts[index] ?? {};
      return {
        Id: row.id,
        ExternalEventId: row.externalEventId,
        MetricCode: metric?.code ?? '',
        MetricName: metric?.metricName ?? '',
        Value: Number(row.value),
        SubscriptionId: row.subscriptionId,
        PeriodStart: periodStart,
        PeriodEnd: periodEnd,
        EventTime: row.eventTime,
        CreateTime: row.createTime,
        ...buyerColumns(row.userId, users.get(row.userId)),
      };
    });
    return { rows: shown, next };
  });
}
