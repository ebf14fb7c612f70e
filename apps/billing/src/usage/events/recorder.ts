import { Injectable } from '@nestjs/common';
import { invalid, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { counterKey, createCounters, emptyCounter, groupedBy, lockCounters, pairKey, pairsIn } from '../counters.js';
import { type EventValue, withEvent } from '../domain/aggregation.js';
import { exceeds, limitOf } from '../domain/billing.js';
import {
  type AssignedPeriod,
  aggregationOf,
  assignPeriod,
  boundsAt,
  type Counter,
  eventTimes,
  isCharge,
  isLimit,
  metricKindOf,
  type Unassigned,
} from '../domain/counter.js';
import { latestTerms, type UsageSubscription } from '../domain/subscription.js';
import { askUpgrade } from '../limits/upgrades.js';
import { MeteredSubscriptions } from '../metered-subscriptions.js';
import { scheduleUsageNotice } from '../notices.js';
import { counters, type EventKey, eventKeys, type UsageEvent, uniques, usageEvents } from '../tables.js';
import { type EventName, knownKeys, nameKey, onKeyConflict, storedEvents, uniqueCounts, uniqueKey } from './keys.js';
import type { Incoming } from './resolve.js';

/** An event that is recorded; `placed` where it is so now, and not a repeat. */
export interface Recorded {
  event: UsageEvent;
  assigned?: AssignedEvent & { counter: Counter };
}

/** An event that is recorded, now or before, or why it is not. */
export type RecordingOutcome = Recorded | Rejected;

const eventName = ({ userId, metric, externalEventId }: Incoming): EventName => ({
  userId,
  metricId: metric.id,
  externalEventId,
});

/**
 * Records events in one transaction: each counts once, in the counter of its time, and limits hold between all that are
 * recorded at once, since counters are locked. Events, their keys and counters are written by one statement.
 */
@Injectable()
export class UsageRecorder {
  constructor(private readonly metered: MeteredSubscriptions) {}

  /** Outcomes in the order of `events`; a refused one leaves no trace and stops no other. */
  async record(tx: Tx, events: readonly Incoming[]): Promise<RecordingOutcome[]> {
    tx.unlogged();
    onKeyConflict(tx);
    const userIds = [...new Set(events.map(({ userId }) => userId))];
    const [subscriptions, known] = await Promise.all([
      this.metered.ofUsers(tx, userIds),
      knownKeys(tx, events.map(eventName)),
    ]);
    const stored = await storedEvents(
      tx,
      [...known.values()].filter(({ deleted }) => !deleted),
    );
    const fresh = events.filter(incoming => !known.has(nameKey(eventName(incoming))));
    let assigned = assignAll(tx, fresh, subscriptions);
    let counting = await RecordingBatch.of(tx, assignedOf(assigned));
    if (counting.meetsClosed) {
      // a counter may have been closed since the places were read, with the end of its subscription
      assigned = assignAll(tx, fresh, await this.metered.ofUsers(tx, userIds));
      counting = await RecordingBatch.of(tx, assignedOf(assigned));
    }
    const ids = await Promise.all(assignedOf(assigned).map(() => tx.nextId(usageEvents)));
    const outcomes: RecordingOutcome[] = [];
    for (const incoming of events) {
      const key = known.get(nameKey(eventName(incoming)));
      const where = assigned.get(incoming);
      if (key) outcomes.push(repeated(key, stored));
      else if (where === undefined || where instanceof Rejected) outcomes.push(where ?? new Rejected('internal_error'));
      else outcomes.push(await counting.take(where, ids.shift() ?? 0));
    }
    counting.save();
    return outcomes;
  }
}

type Assignments = ReadonlyMap<Incoming, AssignedEvent | Rejected>;

function assignAll(tx: Tx, events: readonly Incoming[], subscriptions: readonly UsageSubscription[]): Assignments {
  const byUser = groupedBy(subscriptions, ({ userId }) => userId);
  return new Map(events.map(each => [each, assignEvent(each, byUser.get(each.userId) ?? [], tx.now)]));
}

const assignedOf = (places: Assignments): AssignedEvent[] =>
  [...places.values()].flatMap(each => (each instanceof Rejected ? [] : [each]));

function repeated({ eventId, deleted }: EventKey, stored: ReadonlyMap<number, UsageEvent>): RecordingOutcome {
  if (deleted) return new Rejected('usage_event_deleted');
  const event = stored.get(eventId);
  if (!event) throw new Error(`no event ${eventId} of its key`);
  return { event };
}

/** The place of an event among the subscriptions of its user, or why it has none. */
export function assignEvent(incoming: Incoming, of: readonly UsageSubscription[], now: number) {
  const { metric, productId } = incoming;
  const at = incoming.eventTime === 0 ? now : incoming.eventTime;
  const eligible = productId === 0 ? of : of.filter(one => one.productId === productId);
  const found = assignPeriod(eligible, { metricId: metric.id, at, now });
  return 'refused' in found ? unassignedRefusal(found) : { ...found, incoming, at };
}

function unassignedRefusal(unassigned: Unassigned): Rejected {
  switch (unassigned.refused) {
    case 'time':
      return invalid('/eventTime', unassigned.message);
    case 'late':
      return new Rejected('usage_period_invoiced');
    case 'no-subscription':
      return new Rejected('usage_not_subscribed');
  }
}

/** The state of one recording: locked counters, and what is added to them. */
class RecordingBatch {
  private readonly changed = new Map<string, Counter>();
  private readonly recorded = new Map<string, Recorded>();
  private readonly changedUniques = new Map<string, { counter: Counter; uniqueId: string }>();

  private constructor(
    private readonly tx: Tx,
    private readonly assigned: readonly AssignedEvent[],
    private readonly byPair: Map<string, Counter[]>,
    private readonly uniqueEvents: Map<string, bigint>,
  ) {}

  /** Locks the counters of these events, making those that are missing. */
  static async of(tx: Tx, assigned: readonly AssignedEvent[]): Promise<RecordingBatch> {
    const pairs = pairsIn(
      assigned.map(({ subscription: { subscriptionId }, incoming }) => ({
        subscriptionId,
        metricId: incoming.metric.id,
      })),
    );
    // counters of the whole window, so that a new one leaves out all that are there
    const since = tx.now - eventTimes.lateSeconds;
    let byPair = groupedBy(await lockCounters(tx, pairs, since), pairKey);
    const missing = missingFor(tx.merchantId, assigned, byPair);
    if (missing.length > 0) {
      await createCounters(tx, missing);
      byPair = groupedBy(await lockCounters(tx, pairs, since), pairKey);
    }
    const names = assigned
      .filter(({ incoming }) => aggregationOf(incoming.metric) === 'countUnique')
      .flatMap(each => {
        const counter = counterOf(byPair, each);
        return counter ? [{ ...counter, uniqueId: each.incoming.uniqueId }] : [];
      });
    return new RecordingBatch(tx, assigned, byPair, await uniqueCounts(tx, names));
  }

  /** True if a counter is closed: its usage is billed, or was dropped. */
  get meetsClosed(): boolean {
    return this.assigned.some(each => counterOf(this.byPair, each)?.closed);
  }

  async take(assigned: AssignedEvent, id: number): Promise<RecordingOutcome> {
    const { tx } = this;
    const { incoming, at, subscription, period } = assigned;
    const name = eventName(incoming);
    const before = this.recorded.get(nameKey(name));
    if (before) return before;
    const locked = counterOf(this.byPair, assigned);
    // a change of plan has cut its counter meanwhile
    if (!locked) throw new Rejected('overloaded');
    const current = this.changed.get(counterKey(locked)) ?? { ...locked, version: locked.version + 1 };
    const unique = uniqueKey({ ...locked, uniqueId: incoming.uniqueId });
    const event = { id, eventTime: at, value: incoming.value, uniqueId: incoming.uniqueId };
    const total = count(assigned, current, event, (this.uniqueEvents.get(unique) ?? 0n) === 0n);
    if (total === undefined) {
      const limit = limitTotal(assigned, current);
      const upgraded = await askUpgrade(tx, current, latestTerms(period));
      if (upgraded) this.changed.set(counterKey(locked), upgraded);
      const message = `The event exceeds the limit of ${incoming.metric.code}: ${current.used} of ${limit} are used`;
      return new Rejected('usage_limit_exceeded', message);
    }
    this.changed.set(counterKey(locked), current);
    if (incoming.uniqueId !== '') {
      this.uniqueEvents.set(unique, (this.uniqueEvents.get(unique) ?? 0n) + 1n);
      this.changedUniques.set(unique, { counter: locked, uniqueId: incoming.uniqueId });
    }
    const row: UsageEvent = {
      merchantId: tx.merchantId,
      ...name,
      ...event,
      subscriptionId: subscription.subscriptionId,
      properties: incoming.properties,
      counterStart: locked.startAt,
      counterVersion: current.version,
      used: current.used,
      metricLimit: total,
      createTime: tx.now,
      deletedTime: 0,
    };
    const recorded = { event: row, assigned: { ...assigned, counter: locked } };
    this.recorded.set(nameKey(name), recorded);
    return recorded;
  }

  save(): void {
    const { tx } = this;
    for (const { event } of this.recorded.values()) {
      tx.save(usageEvents, event);
      const { userId, metricId, externalEventId, id, eventTime } = event;
      const key = { merchantId: tx.merchantId, userId, metricId, externalEventId, eventId: id, eventTime };
      tx.save(eventKeys, { ...key, deleted: false });
    }
    for (const [key, { counter, uniqueId }] of this.changedUniques) {
      const { merchantId, subscriptionId, metricId, startAt } = counter;
      const events = this.uniqueEvents.get(key) ?? 0n;
      tx.save(uniques, { merchantId, subscriptionId, metricId, startAt, uniqueId, events });
    }
    for (const counter of this.changed.values()) tx.save(counters, scheduleUsageNotice(tx, counter));
  }
}

type CountersByPair = ReadonlyMap<string, Counter[]>;

function counterOf(byPair: CountersByPair, { subscription, incoming, at }: AssignedEvent): Counter | undefined {
  const pair = pairKey({ subscriptionId: subscription.subscriptionId, metricId: incoming.metric.id });
  return byPair.get(pair)?.find(({ startAt, endAt }) => startAt <= at && at < endAt);
}

function missingFor(merchantId: number, assigned: readonly AssignedEvent[], byPair: CountersByPair): Counter[] {
  const missing: Counter[] = [];
  const there = new Map([...byPair].map(([pair, of]) => [pair, [...of]]));
  for (const each of assigned) {
    const pair = pairKey({ subscriptionId: each.subscription.subscriptionId, metricId: each.incoming.metric.id });
    const of = there.get(pair) ?? [];
    const { counter, isNew } = counterAt(each, merchantId, of);
    if (!isNew) continue;
    missing.push(counter);
    there.set(pair, [...of, counter]);
  }
  return missing;
}

/** An event with its place and time. */
export interface AssignedEvent extends AssignedPeriod {
  incoming: Incoming;
  at: number;
}

type OfMetric = { incoming: Pick<Incoming, 'metric'> };

/** The counter of an event: among those that are there, else the one to make for it. */
export function counterAt(
  { incoming, at, subscription, period }: Pick<AssignedEvent, 'at' | 'subscription' | 'period'> & OfMetric,
  merchantId: number,
  there: readonly Counter[],
): { counter: Counter; isNew: boolean } {
  const found = there.find(({ startAt, endAt }) => startAt <= at && at < endAt);
  if (found) return { counter: found, isNew: false };
  const { metric } = incoming;
  const others = there.map(({ startAt, endAt }) => ({ start: startAt, end: endAt }));
  const bounds = boundsAt(subscription, period, { metricId: metric.id, kind: metricKindOf(metric), at }, others);
  const { subscriptionId, userId } = subscription;
  const of = { merchantId, userId, periodStart: period.start, periodEnd: period.end };
  return { counter: emptyCounter({ subscriptionId, metricId: metric.id }, bounds, of), isNew: true };
}

/** The limit of a counter's period with what was carried over and adjusted; 0 for charges. */
export function limitTotal(
  { incoming: { metric }, period }: AssignedEvent,
  { adjusted }: Pick<Counter, 'adjusted'>,
): bigint {
  return isLimit(metric) ? limitOf(period, metric.id, metric.carryoverProrationEnabled) + adjusted : 0n;
}

/** Counts one more event in a counter, which it changes; returns the limit, or undefined if the event exceeds it. */
export function count(
  assigned: AssignedEvent,
  counter: Counter,
  event: EventValue,
  isNew: boolean,
): bigint | undefined {
  const { metric } = assigned.incoming;
  const tally = withEvent(aggregationOf(metric), counter, event, isNew);
  const total = limitTotal(assigned, counter);
  if (!isCharge(metricKindOf(metric)) && exceeds(counter.used, tally.used, total)) return undefined;
  // in place: a batch counts a thousand events
  counter.events = tally.events;
  counter.used = tally.used;
  counter.latestTime = tally.latestTime;
  counter.latestId = tally.latestId;
  counter.minEventId = counter.minEventId === 0 ? event.id : Math.min(counter.minEventId, event.id);
  counter.maxEventId = Math.max(counter.maxEventId, event.id);
  return total;
}
