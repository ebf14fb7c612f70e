import { Injectable } from '@nestjs/common';
import { deleteUsageEvent, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { assertMetric } from '../../customers/catalog.js';
import { assertUser, findUser } from '../../customers/users.js';
import { lockCounters } from '../counters.js';
import { withoutEvent } from '../domain/aggregation.js';
import { aggregationOf } from '../domain/counter.js';
import { MeteredSubscriptions } from '../metered-subscriptions.js';
import { scheduleUsageNotice } from '../notices.js';
import { recount } from '../recounts.js';
import { counters, eventKeys, uniques, usageEvents } from '../tables.js';

const dropKey = `delete from usage_event_keys where merchant_id = $1 and user_id = $2 and metric_id = $3
  and external_event_id = $4`;

/** Deletes events: their counter forgets them, at once or, where one was the maximum or the latest, by a recount. */
@Injectable()
export class UsageDeletions {
  constructor(private readonly metered: MeteredSubscriptions) {}

  async remove(tx: Tx, input: In<typeof deleteUsageEvent>): Promise<void> {
    const { userId, externalUserId, email, metricCode, externalEventId } = input;
    const key = userId !== 0 ? { userId } : { externalUserId, email };
    const user = assertUser(tx, key, await findUser(tx, key));
    const metric = await assertMetric(tx, metricCode);
    const name = { userId: user.id, metricId: metric.id, externalEventId };
    const found = await tx.find(eventKeys, name);
    if (!found || found.deleted) throw new Rejected('usage_event_not_found');
    const { eventId: id, eventTime } = found;
    const { subscriptionId } = await tx.get(usageEvents, { id, eventTime }, 'usage_event_not_found');
    const locked = await lockCounters(tx, [{ subscriptionId, metricId: metric.id }], eventTime);
    const counter = locked.find(({ startAt, endAt }) => startAt <= eventTime && eventTime < endAt);
    // another command may have deleted it before the counter was locked
    const event = await tx.lock(usageEvents, { id, eventTime, deletedTime: 0 }, 'usage_event_not_found');
    if (!counter) throw new Error(`no counter of event ${id}`);
    if (counter.closed) await this.assertCorrectable(tx, subscriptionId);
    const deleted = { ...event, deletedTime: tx.now };
    const isLast = event.uniqueId === '' || (await this.dropUnique(tx, counter, event.uniqueId));
    const aggregation = aggregationOf(metric);
    let tally = withoutEvent(aggregation, counter, event, isLast);
    if (tally) tx.save(usageEvents, deleted);
    else {
      // at once: the recount reads the events that are left
      await tx.saveNow(usageEvents, deleted);
      tally = await recount(tx, aggregation, counter);
    }
    const changed = { ...counter, ...tally, version: counter.version + 1 };
    tx.save(counters, scheduleUsageNotice(tx, changed));
    if (counter.closed)
      tx.save(eventKeys, { ...(await tx.lock(eventKeys, name, 'usage_event_not_found')), deleted: true });
    else await tx.run(dropKey, [tx.merchantId, ...Object.values(name)]);
    tx.log(`MetricEvent(${externalEventId})`, 'Delete', { userId: user.id, subscriptionId });
  }

  /** An event whose time is billed or dropped is credited on the next invoice, of which a subscription that is over has none. */
  private async assertCorrectable(tx: Tx, subscriptionId: string): Promise<void> {
    const subscription = await this.metered.ofSubscription(tx, subscriptionId);
    if (!subscription || subscription.end === 0 || tx.now < subscription.takesUntil) return;
    const why =
      'The time of the event is closed, and its subscription has ended: no invoice follows that could credit it';
    throw new Rejected('usage_period_invoiced', why);
  }

  /** Takes an event off its unique id; true if it was the last one. */
  private async dropUnique(
    tx: Tx,
    { subscriptionId, metricId, startAt }: CounterStart,
    uniqueId: string,
  ): Promise<boolean> {
    const unique = await tx.lock(uniques, { subscriptionId, metricId, startAt, uniqueId }, 'usage_event_not_found');
    tx.save(uniques, { ...unique, events: unique.events - 1n });
    return unique.events === 1n;
  }
}

interface CounterStart {
  subscriptionId: string;
  metricId: number;
  startAt: number;
}
