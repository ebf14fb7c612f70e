import { Injectable } from '@nestjs/common';
import { invalid, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { createCounters, emptyCounter, groupedBy, keyOf, lockCounters, pairKey, pairsIn } from '../counters.js';
import { added, type Measured } from '../domain/aggregation.js';
import { exceeds, limitOf } from '../domain/billing.js';
import {
  aggregationOf,
  boundsAt,
  type Counter,
  eventTimes,
  isCharge,
  isLimit,
  kindOf,
  type Misplaced,
  type Place,
  place,
} from '../domain/counter.js';
import { termsOf, type UsageSubscription } from '../domain/facts.js';
import { askUpgrade } from '../limits/upgrades.js';
import { scheduleNotice } from '../notices.js';
import { SubscriptionFacts } from '../subscription-facts.js';
import { counters, type EventKey, eventKeys, type UsageEvent, uniques, usageEvents } from '../tables.js';
import { type EventName, knownKeys, nameKey, onKeyConflict, storedEvents, uniqueCounts, uniqueKey } from './keys.js';
import type { Incoming } from './resolve.js';

/** An event that is recorded; `placed` where it is so now, and not a repeat. */
export interface Recorded {
  event: UsageEvent;
  placed?: Placed & { counter: Counter };
}

/** An event that is recorded, now or before, or why it is not. */
export type Outcome = Recorded | Rejected;

const nameOf = ({ userId, metric, externalEventId }: Incoming): EventName => ({
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
  constructor(private readonly facts: SubscriptionFacts) {}

  /** Outcomes in the order of `events`; a refused one leaves no trace and stops no other. */
  async record(tx: Tx, events: readonly Incoming[]): Promise<Outcome[]> {
    tx.unlogged();
    onKeyConflict(tx);
    const userIds = [...new Set(events.map(({ userId }) => userId))];
    const [subscriptions, known] = await Promise.all([
      this.facts.ofUsers(tx, userIds),
      knownKeys(tx, events.map(nameOf)),
    ]);
    const stored = await storedEvents(
      tx,
      [...known.values()].filter(({ deleted }) => !deleted),
    );
    const fresh = events.filter(incoming => !known.has(nameKey(nameOf(incoming))));
    let placed = placedIn(tx, fresh, subscriptions);
    let counting = await Counting.of(tx, takenOf(placed));
    if (counting.meetsClosed) {
      // a counter may have been closed since the places were read, with the end of its subscription
      placed = placedIn(tx, fresh, await this.facts.ofUsers(tx, userIds));
      counting = await Counting.of(tx, takenOf(placed));
    }
    const ids = await Promise.all(takenOf(placed).map(() => tx.nextId(usageEvents)));
    const outcomes: Outcome[] = [];
    for (const incoming of events) {
      const key = known.get(nameKey(nameOf(incoming)));
      const where = placed.get(incoming);
      if (key) outcomes.push(repeated(key, stored));
      else if (where === undefined || where instanceof Rejected) outcomes.push(where ?? new Rejected('internal_error'));
      else outcomes.push(await counting.take(where, ids.shift() ?? 0));
    }
    counting.save();
    return outcomes;
  }
}

type Places = ReadonlyMap<Incoming, Placed | Rejected>;

function placedIn(tx: Tx, events: readonly Incoming[], subscriptions: readonly UsageSubscription[]): Places {
  const byUser = groupedBy(subscriptions, ({ userId }) => userId);
  return new Map(events.map(each => [each, placing(each, byUser.get(each.userId) ?? [], tx.now)]));
}

const takenOf = (places: Places): Placed[] =>
  [...places.values()].flatMap(each => (each instanceof Rejected ? [] : [each]));

function repeated({ eventId, deleted }: EventKey, stored: ReadonlyMap<number, UsageEvent>): Outcome {
  if (deleted) return new Rejected('usage_event_deleted');
  const event = stored.get(eventId);
  if (!event) throw new Error(`no event ${eventId} of its key`);
  return { event };
}

/** The place of an event among the subscriptions of its user, or why it has none. */
export function placing(
  incoming: Incoming,
  subscriptions: readonly UsageSubscription[],
  now: number,
): Placed | Rejected {
  const { metric, productId } = incoming;
  const at = incoming.eventTime === 0 ? now : incoming.eventTime;
  const eligible = productId === 0 ? subscriptions : subscriptions.filter(one => one.productId === productId);
  const found = place(eligible, { metricId: metric.id, at, now });
  return 'refused' in found ? refusalOf(found) : { ...found, incoming, at };
}

function refusalOf(misplaced: Misplaced): Rejected {
  switch (misplaced.refused) {
    case 'time':
      return invalid('/eventTime', misplaced.message);
    case 'late':
      return new Rejected('usage_period_invoiced');
    case 'no-subscription':
      return new Rejected('usage_not_subscribed');
  }
}

/** The state of one recording: locked counters, and what is added to them. */
class Counting {
  private readonly changed = new Map<string, Counter>();
  private readonly recorded = new Map<string, Recorded>();
  private readonly changedUniques = new Map<string, { counter: Counter; uniqueId: string }>();

  private constructor(
    private readonly tx: Tx,
    private readonly placed: readonly Placed[],
    private readonly byPair: Map<string, Counter[]>,
    private readonly uniqueEvents: Map<string, bigint>,
  ) {}

  /** Locks the counters of these events, making those that are missing. */
  static async of(tx: Tx, placed: readonly Placed[]): Promise<Counting> {
    const pairs = pairsIn(
      placed.map(({ subscription: { subscriptionId }, incoming }) => ({
        subscriptionId,
        metricId: incoming.metric.id,
      })),
    );
    // counters of the whole window, so that a new one leaves out all that are there
    const since = tx.now - eventTimes.lateSeconds;
    let byPair = groupedBy(await lockCounters(tx, pairs, since), pairKey);
    const missing = missingFor(tx.merchantId, placed, byPair);
    if (missing.length > 0) {
      await createCounters(tx, missing);
      byPair = groupedBy(await lockCounters(tx, pairs, since), pairKey);
    }
    const names = placed
      .filter(({ incoming }) => aggregationOf(incoming.metric) === 'countUnique')
      .flatMap(each => {
        const counter = found(byPair, each);
        return counter ? [{ ...counter, uniqueId: each.incoming.uniqueId }] : [];
      });
    return new Counting(tx, placed, byPair, await uniqueCounts(tx, names));
  }

  /** True if a counter is closed: its usage is billed, or was dropped. */
  get meetsClosed(): boolean {
    return this.placed.some(each => found(this.byPair, each)?.closed);
  }

  async take(placed: Placed, id: number): Promise<Outcome> {
    const { tx } = this;
    const { incoming, at, subscription, period } = placed;
    const name = nameOf(incoming);
    const before = this.recorded.get(nameKey(name));
    if (before) return before;
    const locked = found(this.byPair, placed);
    // a change of plan has cut its counter meanwhile
    if (!locked) throw new Rejected('overloaded');
    const current = this.changed.get(keyOf(locked)) ?? { ...locked, version: locked.version + 1 };
    const unique = uniqueKey({ ...locked, uniqueId: incoming.uniqueId });
    const event = { id, eventTime: at, value: incoming.value, uniqueId: incoming.uniqueId };
    const total = count(placed, current, event, (this.uniqueEvents.get(unique) ?? 0n) === 0n);
    if (total === undefined) {
      const limit = totalOf(placed, current);
      const upgraded = await askUpgrade(tx, current, termsOf(period));
      if (upgraded) this.changed.set(keyOf(locked), upgraded);
      const message = `The event exceeds the limit of ${incoming.metric.code}: ${current.used} of ${limit} are used`;
      return new Rejected('usage_limit_exceeded', message);
    }
    this.changed.set(keyOf(locked), current);
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
    const recorded = { event: row, placed: { ...placed, counter: locked } };
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
    for (const counter of this.changed.values()) tx.save(counters, scheduleNotice(tx, counter));
  }
}

function found(byPair: ReadonlyMap<string, Counter[]>, { subscription, incoming, at }: Placed): Counter | undefined {
  const pair = pairKey({ subscriptionId: subscription.subscriptionId, metricId: incoming.metric.id });
  return byPair.get(pair)?.find(({ startAt, endAt }) => startAt <= at && at < endAt);
}

function missingFor(merchantId: number, placed: readonly Placed[], byPair: ReadonlyMap<string, Counter[]>): Counter[] {
  const missing: Counter[] = [];
  const there = new Map([...byPair].map(([pair, of]) => [pair, [...of]]));
  for (const each of placed) {
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
export interface Placed extends Place {
  incoming: Incoming;
  at: number;
}

type Of = { incoming: Pick<Incoming, 'metric'> };

/** The counter of an event: among those that are there, else the one to make for it. */
export function counterAt(
  { incoming, at, subscription, period }: Pick<Placed, 'at' | 'subscription' | 'period'> & Of,
  merchantId: number,
  there: readonly Counter[],
): { counter: Counter; isNew: boolean } {
  const found = there.find(({ startAt, endAt }) => startAt <= at && at < endAt);
  if (found) return { counter: found, isNew: false };
  const { metric } = incoming;
  const others = there.map(({ startAt, endAt }) => ({ start: startAt, end: endAt }));
  const bounds = boundsAt(subscription, period, { metricId: metric.id, kind: kindOf(metric), at }, others);
  const { subscriptionId, userId } = subscription;
  const of = { merchantId, userId, periodStart: period.start, periodEnd: period.end };
  return { counter: emptyCounter({ subscriptionId, metricId: metric.id }, bounds, of), isNew: true };
}

/** The limit of a counter's period with what was carried over and adjusted; 0 for charges. */
export function totalOf({ incoming: { metric }, period }: Placed, { adjusted }: Pick<Counter, 'adjusted'>): bigint {
  return isLimit(metric) ? limitOf(period, metric.id, metric.carryoverProrationEnabled) + adjusted : 0n;
}

/** Counts one more event in a counter, which it changes; returns the limit, or undefined if the event exceeds it. */
export function count(placed: Placed, counter: Counter, event: Measured, isNew: boolean): bigint | undefined {
  const { metric } = placed.incoming;
  const tally = added(aggregationOf(metric), counter, event, isNew);
  const total = totalOf(placed, counter);
  if (!isCharge(kindOf(metric)) && exceeds(counter.used, tally.used, total)) return undefined;
  // in place: a batch counts a thousand events
  counter.events = tally.events;
  counter.used = tally.used;
  counter.latestTime = tally.latestTime;
  counter.latestId = tally.latestId;
  counter.minEventId = counter.minEventId === 0 ? event.id : Math.min(counter.minEventId, event.id);
  counter.maxEventId = Math.max(counter.maxEventId, event.id);
  return total;
}
