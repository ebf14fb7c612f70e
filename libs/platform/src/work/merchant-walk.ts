import { systemCaller } from '../runtime/caller.js';
import { workItems } from '../runtime/telemetry.js';
import type { Tx } from '../store/tx.js';
import { claim, fail, type Lease, type LeaseParts, release } from './lease.js';
import { LeaseLost, perform } from './perform.js';
import { aheadOfText } from './statements.js';
import type { Work, WorkItem } from './work.js';

/** The most items of one kind that a step leases at once. */
const STEP = 500;

/** How far a walk has come. */
export interface Walked {
  /** Unix seconds on the merchant's clock. */
  now: number;
  /** False if an item failed, another worker has one, or the deadline passed: walk again later. */
  done: boolean;
}

/** A move of the clock. */
export interface ClockStep {
  /** Unix seconds on the merchant's clock, and how far it is ahead of the machine's. */
  now: number;
  offset: number;
  /** Items of work that are done at this time next. */
  items: number;
  /** The walk is at its end. */
  arrived: boolean;
}

/** Options of a walk. */
export interface WalkOptions {
  /** Called in the transaction that moves the clock; more than once for a time with many items. */
  moved?(tx: Tx, step: ClockStep): Promise<void>;
  /** Unix milliseconds on the machine's clock after which no step begins. */
  deadline?: number;
}

/** Work of a merchant that is not done. */
export interface Ahead {
  /** Time of the first item that was never claimed, in unix seconds on the merchant's clock; undefined for none. */
  next: number | undefined;
  /** An item is leased to another worker, or waits for its next attempt. */
  isUnderWay: boolean;
}

interface Step {
  lease: Lease;
  item: WorkItem;
}

/**
 * Moves a sandbox merchant's clock forward through its due work: every item of the kinds on the merchant's clock is done
 * at its own time, in order of due_at, then kind, then key, and the next time begins when all of it is done. A failure
 * ends the walk; the items of its time are then done by the work runner, in any order.
 */
export class MerchantWalk {
  private works: readonly Work[] = [];

  constructor(private readonly parts: LeaseParts) {}

  /** Sets the kinds of work; called once, when the service is assembled. */
  declare(works: readonly Work[]): void {
    this.works = works
      .filter(({ time }) => time === 'merchant')
      .sort(({ kind: one }, { kind: other }) => (one < other ? -1 : 1));
  }

  /** The merchant's work that is not done, at one moment. */
  async ahead(merchantId: number): Promise<Ahead> {
    const [row] = await this.parts.db.queryIndexOnly(aheadOfText, [this.works.map(({ kind }) => kind), merchantId]);
    return { next: row?.at == null ? undefined : Number(row.at), isUnderWay: row?.under_way === true };
  }

  /**
   * Does what is due by `until` and leaves the clock there. Two walks of a merchant at once lose nothing, but may mix the
   * order of what is due at the same time. Throws Error where clocks do not move.
   */
  async walk(merchantId: number, until: number, options: WalkOptions = {}): Promise<Walked> {
    const { moved, deadline = Number.POSITIVE_INFINITY } = options;
    let now = await this.moveTo(merchantId, 0);
    for (;;) {
      const { next, isUnderWay } = await this.ahead(merchantId);
      if (isUnderWay || this.parts.clock.wall() > deadline) return { now, done: false };
      if (next === undefined || next > until) {
        return { now: await this.moveTo(merchantId, until, moved, { items: 0, arrived: true }), done: true };
      }
      // work that was due before the walk began is done now
      const at = Math.max(now, next);
      const steps = await this.lease(merchantId, at);
      const reached = await this.moveTo(merchantId, at, moved, { items: steps.length, arrived: false });
      now = Math.max(at, reached);
      if (!(await this.take(steps, at))) return { now, done: false };
    }
  }

  /** Moves the clock, unless it is there; returns the merchant's time. */
  private async moveTo(
    merchantId: number,
    at: number,
    moved?: WalkOptions['moved'],
    step: Pick<ClockStep, 'items' | 'arrived'> = { items: 0, arrived: false },
  ): Promise<number> {
    let now = 0;
    await this.parts.db.apply(systemCaller(merchantId, 'clock', Number.POSITIVE_INFINITY), async tx => {
      const clock = await tx.moveClock(Math.max(0, at - this.machineNow()));
      await moved?.(tx, { ...clock, ...step });
      now = clock.now;
    });
    return now;
  }

  /** Leases the items of a step before the clock shows them to other workers. */
  private async lease(merchantId: number, at: number): Promise<Step[]> {
    const steps: Step[] = [];
    for (const work of this.works) {
      const lease = await claim(this.parts, { ...work, batch: STEP }, merchantId, at);
      for (const item of lease?.items ?? []) if (lease) steps.push({ lease: { ...lease, items: [item] }, item });
    }
    return steps.sort((one, other) => one.item.dueAt - other.item.dueAt);
  }

  /** Does the items of a step, one by one; false if one fails. */
  private async take(steps: readonly Step[], at: number): Promise<boolean> {
    for (const [index, { lease, item }] of steps.entries()) {
      try {
        await perform(this.parts, lease, [item], at);
        workItems.inc({ kind: item.kind, outcome: 'done' });
      } catch (error) {
        if (error instanceof LeaseLost) continue;
        await fail(this.parts, lease, error);
        for (const left of steps.slice(index + 1)) await release(this.parts, left.lease, [left.item]);
        return false;
      }
    }
    return true;
  }

  private machineNow(): number {
    return Math.floor(this.parts.clock.wall() / 1000);
  }
}
