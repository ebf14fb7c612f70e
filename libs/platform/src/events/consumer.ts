import { setTimeout as pause } from 'node:timers/promises';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { Rejected } from '@recur/kernel';
import type { Bus } from '../bus/bus.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import { oncePerTurn } from '../runtime/once-per-turn.js';
import { eventsConsumed } from '../runtime/telemetry.js';
import type { Db } from '../store/db.js';
import { isCollision, isConnectionLoss } from '../store/errors.js';
import type { Event, EventKinds } from '../store/event.js';
import type { Tx } from '../store/tx.js';
import { DeadLetters } from './dead-letters.js';
import { countIn, eventsIn } from './envelope.js';
import { ensureConsumer, ensureStream } from './stream.js';

export interface Consumption {
  /** Durable name; also the key of inbox and gate. */
  name: string;
  /** The service whose events these are. */
  from: string;
  /** Subject after `evt.<from>.`; wildcards are fine. */
  subject: string;
  /**
   * What matters of an aggregate: `every` event in order; its `latest` state only; or events that stand `alone`,
   * each an aggregate of its own.
   */
  order: 'every' | 'latest' | 'alone';
  /** The effect of one merchant's events, in order, in the transaction of their inbox rows. */
  apply(tx: Tx, events: readonly Event[]): Promise<void>;
  /** Called after a batch is durable. */
  done?(merchantId: number): void;
}

/**
 * Under load (`busy` events in a batch) the next batch is left to grow for `lingerTimes` as long as the last one took, at
 * most `lingerMs`: a batch costs little more than an event, and the delay follows the load. `buffered` counts messages, each
 * with some events; the others count events.
 */
const limits = {
  batch: 256,
  buffered: 64,
  held: 4_096,
  attempts: 5,
  pauseMs: 300,
  busy: 8,
  lingerTimes: 3,
  lingerMs: 120,
} as const;

/** A message that waits, and how many events it carries: they are read when it is their turn, for bytes wait cheaply. */
interface Waiting {
  message: JsMsg;
  count: number;
}

interface ConsumerParts {
  /** How long an event may be under way here before the stream gives it out again; only for a consumer that is new. */
  ackSeconds: number;
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  events: EventKinds;
  /** Events of one aggregate that the owner still keeps, from one version up to before another. */
  missing(service: string, event: Event, from: number): Promise<Event[]>;
}

/**
 * Applies one stream's events exactly once: inbox row, gate and effect are one transaction, per merchant and batch.
 * What can never be applied is parked in dead_letter, with everything that follows of the same aggregate.
 */
export class Consumer {
  private readonly buffer: Waiting[] = [];
  /** How many events are in the buffer. */
  private held = 0;
  private readonly deadLetters: DeadLetters;
  private messages: ConsumerMessages | undefined;
  private pumping: Promise<void> | undefined;
  private stopped = false;
  private opening: Promise<void> | undefined;
  private created = '';
  private readonly pumpSoon = oncePerTurn(() => this.startPump());

  constructor(
    private readonly parts: ConsumerParts,
    readonly what: Consumption,
  ) {
    this.deadLetters = new DeadLetters(parts.db, what.name);
    parts.bus.onReconnect(() => void this.reopen());
  }

  start(): void {
    void this.reopen();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.opening;
    this.messages?.stop();
    await this.pumping;
    // whoever goes on gets at once what is not begun; it would come by itself only when its time to be acknowledged is over
    for (const { message } of this.buffer.splice(0)) message.nak();
  }

  /** Applies what was parked, in order, once its cause is mended; returns how many have been applied. */
  async resume(): Promise<number> {
    for (let total = 0; ; ) {
      for await (const event of this.deadLetters.all()) await this.receive(event.merchantId, [event]);
      const applied = await this.deadLetters.clear();
      // once more: what came meanwhile was parked behind what has been applied now
      if (applied === 0) return total;
      total += applied;
    }
  }

  /** Pulls from the stream; anew after a reconnection, since stream and consumer may have been wiped. */
  private reopen(): Promise<void> {
    this.opening ??= this.open().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async open(): Promise<void> {
    while (!this.stopped) {
      try {
        const created = await ensureStream(this.parts.bus, this.what.from);
        if (this.messages && created === this.created) return;
        this.messages?.stop();
        this.created = created;
        const consumer = await ensureConsumer(
          this.parts.bus,
          this.what.from,
          this.what.name,
          `evt.${this.what.from}.${this.what.subject}`,
          this.parts.ackSeconds,
        );
        const messages = await consumer.consume({
          max_messages: limits.buffered,
          abort_on_missing_resource: true,
          callback: message => this.take(message),
        });
        this.messages = messages;
        void messages.closed().then(() => {
          if (this.messages === messages) this.messages = undefined;
          if (!this.stopped) void this.reopen();
        });
        return;
      } catch (error) {
        this.parts.log.debug({ err: error, consumer: this.what.name }, 'cannot pull from the stream yet');
        await pause(limits.pauseMs);
      }
    }
  }

  private take(message: JsMsg): void {
    // while the database is away the stream sends everything again and again: what is not taken comes later
    if (this.held >= limits.held) return;
    const count = countIn(message);
    this.buffer.push({ message, count });
    this.held += count;
    // what is not acknowledged comes again
    this.pumpSoon();
  }

  private startPump(): void {
    this.pumping ??= this.pump()
      .catch(error => this.parts.log.error({ err: error, consumer: this.what.name }, 'events could not be taken'))
      .finally(() => {
        this.pumping = undefined;
      });
  }

  private async pump(): Promise<void> {
    for (let [last, tookMs] = [0, 0]; this.buffer.length > 0 && !this.stopped; ) {
      if (last >= limits.busy && this.held < limits.batch) {
        await pause(Math.min(tookMs * limits.lingerTimes, limits.lingerMs));
      }
      const startedMs = this.parts.clock.wall();
      const batch = this.nextBatch().map(({ message }) => ({ message, events: this.eventsOf(message) }));
      const all = batch.flatMap(({ events }) => events);
      last = all.length;
      const byMerchant = new Map<number, Event[]>();
      for (const event of all) {
        const group = byMerchant.get(event.merchantId);
        if (group) group.push(event);
        else byMerchant.set(event.merchantId, [event]);
      }
      const left = new Set<number>();
      for (const [merchantId, group] of byMerchant) if (!(await this.receive(merchantId, group))) left.add(merchantId);
      tookMs = this.parts.clock.wall() - startedMs;
      for (const { message, events } of batch) {
        if (events.length === 0) message.term();
        else if (events.some(({ merchantId }) => left.has(merchantId))) message.nak();
        else message.ack();
      }
    }
  }

  /** The messages that come first, as many as hold a batch of events. */
  private nextBatch(): Waiting[] {
    let held = 0;
    const end = this.buffer.findIndex(({ count }) => {
      held += count;
      return held >= limits.batch;
    });
    const batch = this.buffer.splice(0, end < 0 ? this.buffer.length : end + 1);
    this.held -= held;
    return batch;
  }

  private eventsOf(message: JsMsg): readonly Event[] {
    const all = eventsIn(message, this.parts.events);
    const events = all.filter(event => event !== undefined);
    if (events.length < all.length) {
      this.parts.log.error({ consumer: this.what.name, subject: message.subject }, 'this is no event');
    }
    return events;
  }

  /**
   * Takes one merchant's events, in order; returns when each is applied, dropped or parked. False: the consumer was
   * stopped before that, and they must come again.
   */
  async receive(merchantId: number, events: readonly Event[]): Promise<boolean> {
    const taken = await this.applyAll(merchantId, events);
    this.what.done?.(merchantId);
    return taken;
  }

  private async applyAll(merchantId: number, events: readonly Event[]): Promise<boolean> {
    if (events.length > 1) {
      // whatever it is need not be so of each: one may be poisoned, or all together take longer than a statement may
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

  /**
   * Does it again while the database or the owner is away: then nothing is wrong with the events, and nothing may be
   * lost. False: the consumer was stopped.
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
    for (const event of events) taken = (await this.applyAll(merchantId, [event])) && taken;
    return taken;
  }

  private async applyTogether(merchantId: number, events: readonly Event[]): Promise<boolean> {
    const { name, order } = this.what;
    const missing = await this.parts.db.consume(merchantId, name, order, events, (tx, fresh) =>
      this.what.apply(tx, fresh),
    );
    let taken = true;
    for (const { event, from } of missing) taken = (await this.fill(merchantId, event, from)) && taken;
    eventsConsumed.inc({ consumer: name, outcome: 'seen' }, events.length);
    return taken;
  }

  /** A gap before `event`: what lies in it is fetched from the owner; where something in it is parked, so is `event`. */
  private async fill(merchantId: number, event: Event, from: number): Promise<boolean> {
    if (await this.deadLetters.holdUp(event)) return this.park(event, 'an earlier event of this object is parked');
    const between = await this.parts.missing(this.what.from, event, from);
    // the owner keeps events for 30 days: what is older than that is passed over
    await this.deadLetters.openGate(between[0] ?? event);
    return this.applyAll(merchantId, [...between, event]);
  }

  private async park(event: Event, reason: string, error?: unknown): Promise<boolean> {
    await this.deadLetters.park(event, reason, Math.floor(this.parts.clock.wall() / 1000));
    this.parts.log.error(
      { err: error, consumer: this.what.name, event: event.id, requestId: event.requestId },
      'event parked',
    );
    eventsConsumed.inc({ consumer: this.what.name, outcome: 'parked' });
    return true;
  }
}

/** The owner could not be asked for what is missing before an event; it can be asked again. */
const isAway = (error: unknown) => error instanceof Rejected && waitFor.includes(error.slug);
const waitFor: readonly string[] = ['dependency_away', 'deadline_exceeded', 'overloaded'];
