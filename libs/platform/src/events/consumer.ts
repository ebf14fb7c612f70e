import { setTimeout as pause } from 'node:timers/promises';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../bus/bus.js';
import { oncePerTurn } from '../runtime/turns.js';
import type { Event, EventKinds } from '../store/event.js';
import { type ApplierParts, EventApplier } from './applier.js';
import type { Consumption } from './consumption.js';
import { countIn, eventsIn } from './envelope.js';
import { consumerOf, pendingOf, streamCreated, streamOf } from './stream.js';

/**
 * Batches and delays. Under load (`busy` events in a batch) the consumer waits before the next batch, `lingerTimes` as
 * long as the last one took and at most `lingerMs`: a batch costs little more than an event, so fuller batches raise
 * throughput, and the delay follows the load. `buffered` counts messages; `batch`, `held` and `busy` count events, which are
 * small as a rule: `batchBytes` and `heldBytes` bound the memory of large ones, which come again after `againMs`.
 */
const limits = {
  batch: 256,
  buffered: 64,
  held: 4_096,
  batchBytes: 4 * 1_048_576,
  heldBytes: 16 * 1_048_576,
  againMs: 1_000,
  pauseMs: 300,
  warnMs: 60_000,
  busy: 8,
  lingerTimes: 3,
  lingerMs: 120,
} as const;

/** A buffered message and its number of events. Decoded lazily: raw bytes are cheaper to queue than parsed events. */
interface WaitingBatch {
  message: JsMsg;
  count: number;
}

interface ConsumerParts extends ApplierParts {
  bus: Bus;
  events: EventKinds;
}

/** Pulls one consumption's events from the stream, in batches, and applies each exactly once (see EventApplier). */
export class Consumer {
  private readonly buffer: WaitingBatch[] = [];
  /** Number of events in the buffer, and their bytes. */
  private held = 0;
  private heldBytes = 0;
  private readonly applier: EventApplier;
  private messages: ConsumerMessages | undefined;
  private pumping: Promise<void> | undefined;
  private stopped = false;
  /** No event waited in the stream when it last heard of that. */
  private caughtUp = false;
  private looking: Promise<void> | undefined;
  private opening: Promise<void> | undefined;
  private created = '';
  private warnedAt = Number.NEGATIVE_INFINITY;
  private readonly pumpSoon = oncePerTurn(() => this.startPump());

  constructor(
    private readonly parts: ConsumerParts,
    readonly what: Consumption,
  ) {
    this.applier = new EventApplier(parts, what);
    parts.bus.onReconnect(() => void this.reopen());
  }

  start(): void {
    void this.reopen();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.applier.stop();
    await this.opening;
    this.messages?.stop();
    await this.pumping;
    // redelivered to another replica at once, instead of when EVENT_ACK_SECONDS have passed
    for (const { message } of this.buffer.splice(0)) message.nak();
  }

  /** True while events may wait for it: until it has looked after a start, and after the connection was lost. */
  get lags(): boolean {
    return !this.caughtUp || !this.parts.bus.up || this.buffer.length > 0 || this.pumping !== undefined;
  }

  /** Messages of the stream that it has not acknowledged. Rejects while NATS or the consumer is away. */
  pending(): Promise<number> {
    return pendingOf(this.parts.bus, this.what);
  }

  /** Applies parked events, in order, once their cause is fixed; returns how many have been applied. */
  async resume(): Promise<number> {
    for (let total = 0; ; ) {
      for await (const event of this.applier.parked()) await this.receive(event.merchantId, [event]);
      const applied = await this.applier.clearParked();
      // repeats until nothing is applied: events that arrived meanwhile were parked behind those applied now
      if (applied === 0) return total;
      total += applied;
    }
  }

  /** Opens the pull again, after a reconnection too, since stream and consumer may have been wiped. */
  private reopen(): Promise<void> {
    this.caughtUp = false;
    this.opening ??= this.open().finally(() => {
      this.opening = undefined;
      this.catchUp();
    });
    return this.opening;
  }

  /** Looks until no event waits in the stream: the last one that came says so as a rule. */
  private catchUp(): void {
    const look = async () => {
      while (!(this.stopped || this.caughtUp)) {
        if ((await this.pending().catch(() => undefined)) === 0) this.caughtUp = true;
        else await pause(limits.pauseMs);
      }
    };
    this.looking ??= look().finally(() => {
      this.looking = undefined;
      // more may have come just now
      if (!(this.stopped || this.caughtUp)) this.catchUp();
    });
  }

  private async open(): Promise<void> {
    while (!this.stopped) {
      try {
        const created = await streamCreated(this.parts.bus, this.what.from);
        if (this.messages && created === this.created) return;
        this.messages?.stop();
        this.created = created;
        const consumer = await consumerOf(this.parts.bus, this.what);
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
        this.warn(error);
        await pause(limits.pauseMs);
      }
    }
  }

  /** Tells once in a while why nothing is pulled: only the migrate step makes a stream or a consumer that is gone. */
  private warn(error: unknown): void {
    const now = this.parts.clock.wall();
    if (now - this.warnedAt < limits.warnMs) return;
    this.warnedAt = now;
    const { name, from } = this.what;
    this.parts.log.warn({ err: error, consumer: name, stream: streamOf(from) }, 'cannot pull from the stream yet');
  }

  private take(message: JsMsg): void {
    // a full buffer, as while the database is away, drops messages: the stream redelivers them
    if (this.held >= limits.held) return;
    if (this.heldBytes >= limits.heldBytes) {
      message.nak(limits.againMs);
      return;
    }
    const count = countIn(message);
    this.buffer.push({ message, count });
    this.held += count;
    this.heldBytes += message.data.length;
    this.pumpSoon();
  }

  private startPump(): void {
    this.pumping ??= this.pump()
      // the messages of the batch stay unacknowledged, so the stream redelivers them
      .catch(error => this.parts.log.error({ err: error, consumer: this.what.name }, 'events could not be taken'))
      .finally(async () => {
        this.pumping = undefined;
        // events that are still there would wait for a message that a full buffer does not take
        if (this.buffer.length === 0 || this.stopped) return;
        await pause(limits.pauseMs);
        this.pumpSoon();
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
      this.caughtUp = left.size === 0 && batch.at(-1)?.message.info.pending === 0;
      if (!this.caughtUp && this.buffer.length === 0) this.catchUp();
      for (const { message, events } of batch) {
        if (events.length === 0) message.term();
        else if (events.some(({ merchantId }) => left.has(merchantId))) message.nak();
        else message.ack();
      }
    }
  }

  /** Takes messages from the front of the buffer until they hold a batch of events, or of bytes; at least one. */
  private nextBatch(): WaitingBatch[] {
    let [held, bytes] = [0, 0];
    const end = this.buffer.findIndex(({ message, count }) => {
      held += count;
      bytes += message.data.length;
      return held >= limits.batch || bytes >= limits.batchBytes;
    });
    const batch = this.buffer.splice(0, end < 0 ? this.buffer.length : end + 1);
    this.held -= held;
    this.heldBytes -= bytes;
    return batch;
  }

  private eventsOf(message: JsMsg): readonly Event[] {
    const all = eventsIn(message, this.parts.events).map(event => (event && this.isOwn(event) ? event : undefined));
    const events = all.filter(event => event !== undefined);
    if (events.length < all.length) {
      this.parts.log.error({ consumer: this.what.name, subject: message.subject }, 'this is no event');
    }
    return events;
  }

  /** False for an event that another service emits: on this stream, nobody has committed it. */
  private isOwn({ type }: Event): boolean {
    const { owner = 'every' } = this.parts.events[type] ?? {};
    return owner === 'every' || owner === this.what.from;
  }

  /**
   * Takes one merchant's events, in order; resolves when each is applied, dropped or parked. False if the consumer was
   * stopped before that: the events must be delivered again.
   */
  async receive(merchantId: number, events: readonly Event[]): Promise<boolean> {
    const taken = await this.applier.apply(merchantId, events);
    if (taken) this.what.done?.(merchantId, events);
    return taken;
  }
}
