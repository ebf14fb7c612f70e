import { Injectable } from '@nestjs/common';
import type { MerchantMetricEvent } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { countersOf, groupedBy, pairKey, pairsIn } from '../counters.js';
import { type Counter, priceFor } from '../domain/counter.js';
import { SubscriptionFacts } from '../subscription-facts.js';
import { type Billing, billings, type UsageEvent } from '../tables.js';
import { type EventParts, eventChargeView, eventView } from '../views.js';

/** Views of events: with their period, the invoice on which they are charged, and what one has cost. */
@Injectable()
export class EventViews {
  constructor(private readonly facts: SubscriptionFacts) {}

  /** An event with its price, as the command that records it answers it. */
  async of(reader: Reader, event: UsageEvent): Promise<MerchantMetricEvent> {
    const [parts] = await partsOf(reader, [event]);
    const subscription = await this.facts.ofSubscription(reader, event.subscriptionId);
    const period = subscription?.periods.find(({ start, end }) => start <= event.eventTime && event.eventTime < end);
    const kept = parts?.counter && subscription && period && priceFor(parts.counter, period, subscription.trialEnd);
    const charge = kept ? eventChargeView(kept, subscription.currency, event) : null;
    return eventView(event, { ...(parts as EventParts), charge });
  }
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
      chargeInvoiceId: counter ? invoiceOf(event, counter, billingsByPair.get(pairKey(event)) ?? []) : '',
      charge: null,
    };
  });
}

/** The first invoice that billed the counter with the event in it. */
function invoiceOf({ counterVersion }: UsageEvent, { startAt }: Counter, billed: readonly Billing[]): string {
  const after = billed.filter(one => one.startAt === startAt && one.counterVersion >= counterVersion);
  const [first] = after.sort((one, other) => one.counterVersion - other.counterVersion);
  return first?.invoiceId ?? '';
}
