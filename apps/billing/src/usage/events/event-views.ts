import { Injectable } from '@nestjs/common';
import type { MerchantMetricEvent } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { metricsById } from '../../customers/metrics.js';
import { countersOf, groupedBy, pairKey, pairsIn } from '../counters.js';
import { type Counter, priceFor } from '../domain/counter.js';
import { aggregationOf, isLimit } from '../metric-kinds.js';
import { SubscriptionFacts } from '../subscription-facts.js';
import { type Billing, billings, type UsageEvent } from '../tables.js';
import { type EventParts, eventChargeView, eventView } from '../views.js';
import type { Recorded } from './recorder.js';

/** Views of events: with their period, the invoice on which they are charged, and what one has cost. */
@Injectable()
export class EventViews {
  constructor(private readonly facts: SubscriptionFacts) {}

  /** An event that was recorded before, with its price, as the command that records it answers it. */
  async of(reader: Reader, event: UsageEvent): Promise<MerchantMetricEvent> {
    const [[parts], metrics, subscription] = await Promise.all([
      partsOf(reader, [event]),
      metricsById(reader, [event.metricId]),
      this.facts.ofSubscription(reader, event.subscriptionId),
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
export function newEventView({ event, placed }: Required<Recorded>): MerchantMetricEvent {
  const { counter, subscription, period } = placed;
  const kept = isLimit(placed.incoming.metric) ? undefined : priceFor(counter, period, subscription);
  const of = { currency: subscription.currency, aggregation: aggregationOf(placed.incoming.metric) };
  const charge = kept ? eventChargeView(kept, of, event) : null;
  const { periodStart, periodEnd } = counter;
  return eventView(event, { periodStart, periodEnd, billedOn: '', charge });
}

/** Periods and invoices of events, in their order. */
export async function partsOf(
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
      billedOn: counter ? billedOn(event, counter, billingsByPair.get(pairKey(event)) ?? []) : '',
      charge: null,
    };
  });
}

/** The id under which the counter was first billed with the event in it. */
function billedOn({ counterVersion }: UsageEvent, { startAt }: Counter, billed: readonly Billing[]): string {
  const after = billed.filter(one => one.startAt === startAt && one.counterVersion >= counterVersion);
  const [first] = after.sort((one, other) => one.counterVersion - other.counterVersion);
  return first?.invoiceId ?? '';
}
