import { Injectable } from '@nestjs/common';
import type { UsageEventInput } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, systemCaller } from '@recur/platform';
import { Partitions } from './keys.js';
import { type RecordingOutcome, UsageRecorder } from './recorder.js';
import { type Incoming, resolveKnown } from './resolve.js';

/** `together`: events in one transaction. */
const limits = { together: 500 } as const;

/** The outcome of an event; undefined if the copies do not have its user or metric. */
type QueueOutcome = RecordingOutcome | undefined;

interface Waiting {
  event: UsageEventInput | Incoming;
  caller: Caller;
  resolve(outcome: QueueOutcome): void;
  reject(error: unknown): void;
}

/**
 * Groups single events of one merchant over requests: while a transaction is under way, those that arrive wait and share
 * the next one, since a second one beside it would wait for the same counters. When a group fails, its events are
 * recorded one by one.
 */
@Injectable()
export class UsageQueue {
  /** Events that wait for the transaction of their merchant that is under way. */
  private readonly merchants = new Map<number, Waiting[]>();

  constructor(
    private readonly db: Db,
    private readonly recorder: UsageRecorder,
    private readonly partitions: Partitions,
  ) {}

  /** Records one event; resolves when it is durable, or undefined at once where its user or metric has no copy here. */
  take(caller: Caller, event: Incoming): Promise<RecordingOutcome>;
  take(caller: Caller, event: UsageEventInput): Promise<QueueOutcome>;
  take(caller: Caller, event: UsageEventInput | Incoming): Promise<QueueOutcome> {
    const { merchantId } = caller;
    return new Promise((resolve, reject) => {
      const taken = { event, caller, resolve, reject };
      const waiting = this.merchants.get(merchantId);
      if (waiting) {
        waiting.push(taken);
        return;
      }
      const first = [taken];
      this.merchants.set(merchantId, first);
      void this.runAll(merchantId, first);
    });
  }

  private async runAll(merchantId: number, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) await this.run(waiting.splice(0, limits.together));
    this.merchants.delete(merchantId);
  }

  /** Never throws: every event is resolved or rejected. */
  private async run(group: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.record(group);
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at]);
    } catch (error) {
      if (group.length === 1) {
        group[0]?.reject(error);
        return;
      }
      for (const each of group) await this.run([each]);
    }
  }

  private async record(group: readonly Waiting[]): Promise<QueueOutcome[]> {
    const [first] = group;
    if (!first) return [];
    const deadline = Math.max(...group.map(({ caller }) => caller.deadline));
    const { merchantId, requestId, traceparent } = first.caller;
    const caller =
      group.length === 1 ? withoutKey(first.caller) : systemCaller(merchantId, requestId, deadline, traceparent);
    const inputs = group.flatMap(({ event }) => (isResolved(event) ? [] : [event]));
    const known = await resolveKnown(this.db, caller, inputs);
    const resolved = group.map(({ event }) => (isResolved(event) ? event : known.get(event)));
    const events = resolved.flatMap(each => (each === undefined || each instanceof Rejected ? [] : [each]));
    await this.partitions.ensureFor(caller, events);
    const recorded: RecordingOutcome[] = [];
    await this.db.write(caller, async tx => {
      // a command may run more than once
      recorded.splice(0, recorded.length, ...(await this.recorder.record(tx, events)));
      return {};
    });
    const outcomes = new Map(events.map((event, at) => [event, recorded[at] as RecordingOutcome]));
    return resolved.map(each => (each === undefined || each instanceof Rejected ? each : outcomes.get(each)));
  }
}

const isResolved = (event: UsageEventInput | Incoming): event is Incoming => 'metric' in event;

/** The answer is stored under the request's key by what answers it. */
export function withoutKey({ idempotencyKey: _key, ...caller }: Caller): Caller {
  return caller;
}
