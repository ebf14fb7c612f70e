import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  type ClockStep,
  Db,
  fetchedWork,
  MerchantWalk,
  systemCaller,
  type Tx,
  type Work,
} from '@recur/platform';
import { clockAggregate, stepped, testClocks } from './clock.js';

/**
 * `workerMs`: one item of work walks this long, well within its lease, before it is scheduled again. Short, because only
 * then its attempts are counted again: an item whose workers are killed again and again would be parked half-way.
 */
const limits = { workerMs: 1_000, leaseSeconds: 120, pauseMs: 50 } as const;

export const ADVANCE_WORK = 'clock.advance';

/**
 * Advances clocks. The command that asks for an advance walks for a while itself; an item of due work, scheduled with the
 * advance, takes over what it leaves, or what a process that ended has left.
 */
@Injectable()
export class ClockAdvance {
  readonly work: Work = fetchedWork(
    ADVANCE_WORK,
    { time: 'machine', batch: 1, leaseSeconds: limits.leaseSeconds, logged: false },
    async items => {
      for (const { merchantId } of items) await this.go(merchantId, limits.workerMs);
    },
    tx => this.scheduleRest(tx),
  );

  constructor(
    private readonly db: Db,
    private readonly walk: MerchantWalk,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Walks towards the target for at most `budgetMs`, and to the end of the step under way then. */
  async go(merchantId: number, budgetMs: number): Promise<void> {
    const deadline = this.clock.wall() + budgetMs;
    const target = await this.targetOf(merchantId);
    if (target === undefined) return;
    const options = { moved: record, deadline };
    for (let waitedMs = 0; waitedMs < budgetMs; waitedMs += limits.pauseMs) {
      const { done } = await this.walk.walk(merchantId, target, options);
      if (done || this.clock.wall() > deadline) return;
      // work that failed is tried again, or done by another worker
      await pause(limits.pauseMs);
    }
  }

  /** Where the merchant's clock is going; undefined if it has come there. */
  private async targetOf(merchantId: number): Promise<number | undefined> {
    const caller = systemCaller(merchantId, ADVANCE_WORK, Number.POSITIVE_INFINITY);
    const clock = await this.db.read(caller, reader => reader.find(testClocks, {}));
    return clock?.advancing ? clock.target : undefined;
  }

  private async scheduleRest(tx: Tx): Promise<void> {
    const clock = await tx.find(testClocks, {});
    if (clock?.advancing) tx.schedule(ADVANCE_WORK, '', Math.floor(this.clock.wall() / 1000));
  }
}

/** Records a step, in the transaction that moves the clock; services that follow it hear of its time. */
async function record(tx: Tx, { now, offset, items, arrived }: ClockStep): Promise<void> {
  const before = await tx.lock(clockAggregate, {}, 'internal_error');
  const clock = stepped(before, { offset, items, arrived });
  const isMoved = clock.offsetSeconds > before.offsetSeconds;
  if (isMoved) tx.emit(clockAggregate, clock, 'clock.moved', { now, offset: clock.offsetSeconds });
  else tx.save(testClocks, clock);
}
