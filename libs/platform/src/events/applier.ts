import { setTimeout as pause } from 'node:timers/promises';
import { Rejected } from '@recur/kernel';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import type { Span } from '../runtime/span.js';
import { eventsConsumed } from '../runtime/telemetry.js';
import { isTracing, startSpan, traceIdOf } from '../runtime/tracing.js';
import type { Db } from '../store/db.js';
import { isCollision, isConnectionLoss } from '../store/errors.js';
import type { Event } from '../store/event.js';
import type { Consumption } from './consumption.js';
import { DeadLetters } from './dead-letters.js';

const limits = { attempts: 5, pauseMs: 300 } as const;

export interface ApplierParts {
  db: Db;
  clock: Clock;
  log: Log;
  /** The events of one aggregate that the owner still keeps: versions `from` up to, not including, that of `event`. */
  missing(service: string, event: Event, from: number): Promise<Event[]>;
}

/**
 * Applies events exactly once: inbox row, gate and effect are one transaction, per merchant and batch. An event that
 * keeps failing is parked in dead_letter, with all later events of the same aggregate.
 */
export class EventApplier {
  private readonly deadLetters: DeadLetters;
  private stopped = false;

  constructor(
    private readonly parts: ApplierParts,
    private readonly what: Consumption,
  ) {
    this.deadLetters = new DeadLetters(parts.db, what.name);
  }

  /** Ends retries; `apply` then answers false for events that were not applied. */
  stop(): void {
    this.stopped = true;
  }

  /**
   * Applies one merchant's events, in order; resolves when each is applied, dropped or parked. False if the applier was
   * stopped before that: the events must be delivered again.
   */
  async apply(merchantId: number, events: readonly Event[]): Promise<boolean> {
    if (events.length > 1) {
      // a single poisoned event, or a statement timeout of the batch, must not fail the other events
      return this.applyTogether(merchantId, events).catch(() => this.applyOneByOne(merchantId, events));
    }
    const [event] = events as [Event];
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.untilThere(() => this.applyTogether(merchantId, events));
      } catch (error) {
        if (attempt === limits.attempts) return this.untilThere(() => this.park(event, String(error), error));
        await pause(limits.pauseMs * attempt);
      }
    }
  }

  /** All parked events, each aggregate's in order. */
  parked(): AsyncGenerator<Event> {
    return this.deadLetters.all();
  }

  /** Removes parked events that have been applied since; returns their number. */
  clearParked(): Promise<number> {
    return this.deadLetters.clear();
  }

  /**
   * Retries while the database or the owner is away: the events themselves are fine, and none may be lost. False if the
   * applier was stopped.
   */
  private async untilThere(work: () => Promise<boolean>): Promise<boolean> {
    while (!this.stopped) {
      try {
        return await work();
      } catch (error) {
        if (!(isConnectionLoss(error) || isCollision(error) || isAway(error))) throw error;
        await pause(limits.pauseMs);
      }
    }
    return false;
  }

  private async applyOneByOne(merchantId: number, events: readonly Event[]): Promise<boolean> {
    let taken = true;
    for (const event of events) taken = (await this.apply(merchantId, [event])) && taken;
    return taken;
  }

  private async applyTogether(merchantId: number, events: readonly Event[]): Promise<boolean> {
    const { name, order } = this.what;
    const { taken: own, spans } = consuming(name, events);
    const missing = await this.parts.db
      .consume(merchantId, name, order, own, (tx, fresh) => this.what.apply(tx, fresh))
      .finally(() => {
        for (const span of spans) span.end();
      });
    let taken = true;
    for (const { event, from } of missing) taken = (await this.fill(merchantId, event, from)) && taken;
    eventsConsumed.inc({ consumer: name, outcome: 'seen' }, events.length);
    return taken;
  }

  /** Fills a version gap before `event` from the owner. If an event in the gap is parked, `event` is parked too. */
  private async fill(merchantId: number, event: Event, from: number): Promise<boolean> {
    if (await this.deadLetters.holdUp(event)) return this.park(event, 'an earlier event of this object is parked');
    const between = await this.parts.missing(this.what.from, event, from);
    // the owner keeps events for 30 days; older ones are skipped
    await this.deadLetters.openGate(between[0] ?? event);
    return this.apply(merchantId, [...between, event]);
  }

  private async park(event: Event, reason: string, error?: unknown): Promise<boolean> {
    await this.deadLetters.park(event, reason, Math.floor(this.parts.clock.wall() / 1000));
    this.parts.log.error(
      {
        err: error,
        consumer: this.what.name,
        event: event.id,
        requestId: event.requestId,
        traceId: traceIdOf(event.traceparent),
      },
      'event parked',
    );
    eventsConsumed.inc({ consumer: this.what.name, outcome: 'parked' });
    return true;
  }
}

/** True if the owner could not be asked for missing events but can be asked again. */
const isAway = (error: unknown) => error instanceof Rejected && retriable.includes(error.slug);
const retriable: readonly string[] = ['dependency_away', 'deadline_exceeded', 'overloaded'];

/** The events, each within a span of the trace that emitted it, if that is recorded. */
function consuming(consumer: string, events: readonly Event[]): { taken: readonly Event[]; spans: Span[] } {
  if (!isTracing()) return { taken: events, spans: [] };
  const spans: Span[] = [];
  const taken = events.map(event => {
    if (event.traceparent === '') return event;
    const span = startSpan(`process ${event.type}`, 'consumer', event.traceparent, { 'recur.consumer': consumer });
    if (span === undefined) return event;
    spans.push(span);
    return { ...event, traceparent: span.traceparent };
  });
  return { taken, spans };
}
