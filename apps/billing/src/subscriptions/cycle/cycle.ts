import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { subscriptionAggregate } from '../aggregate.js';
import { DeferredChanges } from '../changes/deferred.js';
import { type CycleState, type CycleStep, missedPeriods, nextStep, periodOf } from '../domain/cycle.js';
import { advanced, moved, type Subscription } from '../domain/subscription.js';
import { leadOf, NEXT } from '../schedule.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { CycleInvoices } from './cycle-invoices.js';
import { PeriodEnd } from './period-end.js';
import { type Scene, sceneOf } from './scene.js';

/** `missed`: periods that are made up for without a decision. */
const limits = { batch: 50, leaseSeconds: 120, missed: 3 } as const;

/** Words of the operation log. */
const words: Record<CycleStep, string> = {
  ...{ make: 'BillingCycle', remake: 'BillingCycleAgain', enter: 'PeriodStart', suspend: 'Incomplete' },
  ...{ end: 'CancelAtPeriodEnd', expire: 'Expire' },
};

/**
 * The billing cycle. One item of due work per subscription, at the time of its next step; its handler makes every step
 * whose time has come and schedules the next.
 */
@Injectable()
export class Cycle {
  readonly work: Work;

  constructor(
    private readonly invoices: CycleInvoices,
    private readonly periodEnd: PeriodEnd,
    private readonly deferred: DeferredChanges,
  ) {
    this.work = work(NEXT, { time: 'merchant', batch: limits.batch, leaseSeconds: limits.leaseSeconds }, (tx, items) =>
      this.run(tx, items),
    );
  }

  private async run(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const scene = await sceneOf(
      tx,
      items.map(({ key }) => key),
    );
    for (const item of items) {
      const state = scene.states.get(item.key);
      if (state) await this.goOn(tx.item(item), scene, state);
    }
  }

  /** Makes the steps that are due, in their order, and schedules the next. */
  private async goOn(tx: Tx, scene: Scene, before: CycleState): Promise<void> {
    const { subscriptionId, userId, planId } = before.sub;
    const done: string[] = [];
    let state = before;
    for (;;) {
      const terms = { ...chargeTermsOf(state.sub, scene.settings), leadSeconds: leadOf(state.sub) };
      const due = nextStep(state, terms, tx.now);
      if (!due || due.at > tx.now) {
        if (due) tx.schedule(NEXT, subscriptionId, due.at);
        break;
      }
      const parked = due.step === 'make' ? parkedIfLate(state.sub, tx.now) : undefined;
      done.push(parked ? 'Park' : words[due.step]);
      state = parked ? this.parked(tx, state, parked) : await this.take(tx, scene, state, due.step);
    }
    if (done.length > 0) tx.log(`Subscription(${subscriptionId})`, done.join(', '), { subscriptionId, userId, planId });
  }

  private take(tx: Tx, scene: Scene, state: CycleState, step: CycleStep): CycleState | Promise<CycleState> {
    switch (step) {
      case 'make':
      case 'remake':
        return this.invoices.make(tx, scene, state);
      case 'enter':
      case 'suspend':
        return this.begin(tx, state, step);
      case 'end':
        return this.periodEnd.end(tx, state);
      case 'expire':
        return this.expire(tx, state);
    }
  }

  /** The deadline of a period whose invoice was cancelled and not made again. */
  private async expire(tx: Tx, { sub, current, ahead }: CycleState): Promise<CycleState> {
    if (ahead) tx.save(subscriptionPeriods, { ...ahead, state: 'unpaid', remakeAt: 0 });
    return { sub: await this.periodEnd.expire(tx, sub), current, ahead: undefined };
  }

  /** The next period begins, paid or not. A deferred change comes first: what is due then may be another step. */
  private async begin(tx: Tx, state: CycleState, step: 'enter' | 'suspend'): Promise<CycleState> {
    const changed = await this.deferred.take(tx, state.sub, state.ahead);
    if (changed) return { ...state, ...changed };
    return step === 'enter' ? enter(tx, state) : suspend(tx, state);
  }

  private parked(tx: Tx, state: CycleState, parkedReason: string): CycleState {
    const sub = { ...state.sub, parkedReason, parkedAt: tx.now, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...state, sub };
  }
}

/** Why the billing stops, where too many periods were missed; undefined if it goes on. */
function parkedIfLate(sub: Subscription, now: number): string | undefined {
  // taken up again since, with all that was missed
  if (sub.parkedAt > sub.currentPeriodEnd) return undefined;
  if (missedPeriods(sub, now, limits.missed + 1) <= limits.missed) return undefined;
  return `More than ${limits.missed} periods were not billed`;
}

/** The next period, which is paid or free, becomes the current one. */
function enter(tx: Tx, { sub, ahead }: CycleState): CycleState {
  if (!ahead) throw new Error(`subscription ${sub.subscriptionId} has no next period`);
  const next = { ...advanced(sub, periodOf(sub, ahead)), modifyTime: tx.now };
  tx.step(subscriptionAggregate, next, 'subscription.updated');
  return { sub: next, current: ahead, ahead: undefined };
}

/** The next period begins and is not paid: the subscription is incomplete until it is. */
function suspend(tx: Tx, { sub, current, ahead }: CycleState): CycleState {
  const next = { ...moved(sub, 'suspend', tx.now), dunningTime: tx.now, currentPeriodPaid: ahead?.deadline ?? tx.now };
  tx.step(subscriptionAggregate, next, 'subscription.auto_renew.failure');
  return { sub: next, current, ahead };
}
