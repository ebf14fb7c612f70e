import { Injectable } from '@nestjs/common';
import { type Caller, Db, systemCaller } from '@recur/platform';
import { Partitions } from './keys.js';
import { type RecordingOutcome, UsageRecorder } from './recorder.js';
import type { Incoming } from './resolve.js';

/** `together`: events in one transaction. `atOnce`: transactions of one merchant. */
const limits = { together: 500, atOnce: 2 } as const;

interface Waiting {
  event: Incoming;
  caller: Caller;
  resolve(outcome: RecordingOutcome): void;
  reject(error: unknown): void;
}

interface Merchant {
  waiting: Waiting[];
  running: number;
}

/**
 * Groups single events of one merchant over requests: while a transaction is under way, those that arrive wait and share
 * the next one. When a group fails, its events are recorded one by one.
 */
@Injectable()
export class UsageQueue {
  private readonly merchants = new Map<number, Merchant>();

  constructor(
    private readonly db: Db,
    private readonly recorder: UsageRecorder,
    private readonly partitions: Partitions,
  ) {}

  /** Records one event; resolves when it is durable. */
  take(caller: Caller, event: Incoming): Promise<RecordingOutcome> {
    const { merchantId } = caller;
    const merchant = this.merchants.get(merchantId) ?? { waiting: [], running: 0 };
    this.merchants.set(merchantId, merchant);
    return new Promise((resolve, reject) => {
      merchant.waiting.push({ event, caller, resolve, reject });
      this.next(merchantId, merchant);
    });
  }

  private next(merchantId: number, merchant: Merchant): void {
    while (merchant.running < limits.atOnce && merchant.waiting.length > 0) {
      merchant.running++;
      void this.run(merchant.waiting.splice(0, limits.together)).finally(() => {
        merchant.running--;
        this.next(merchantId, merchant);
        if (merchant.running === 0) this.merchants.delete(merchantId);
      });
    }
  }

  /** Never throws: every event is resolved or rejected. */
  private async run(group: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.record(group);
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] as RecordingOutcome);
    } catch (error) {
      if (group.length === 1) {
        group[0]?.reject(error);
        return;
      }
      for (const each of group) await this.run([each]);
    }
  }

  private async record(group: readonly Waiting[]): Promise<RecordingOutcome[]> {
    const [first] = group;
    if (!first) return [];
    const deadline = Math.max(...group.map(({ caller }) => caller.deadline));
    const { merchantId, requestId, traceparent } = first.caller;
    const caller =
      group.length === 1 ? withoutKey(first.caller) : systemCaller(merchantId, requestId, deadline, traceparent);
    const events = group.map(({ event }) => event);
    await this.partitions.ensureFor(caller, events);
    const outcomes: RecordingOutcome[] = [];
    await this.db.write(caller, async tx => {
      // a command may run more than once
      outcomes.splice(0, outcomes.length, ...(await this.recorder.record(tx, events)));
      return {};
    });
    return outcomes;
  }
}

/** The answer is stored under the request's key by what answers it. */
export function withoutKey({ idempotencyKey: _key, ...caller }: Caller): Caller {
  return caller;
}
