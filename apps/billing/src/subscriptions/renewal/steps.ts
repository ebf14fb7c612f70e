import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { isAwaited } from '../../invoices/open-invoices.js';
import { Arrears, hasUsage } from '../arrears.js';
import { DeferredChanges } from '../change/deferred.js';
import { lastUsageEnd } from '../domain/bill.js';
import type { PeriodRow } from '../domain/periods.js';
import { type CycleState, type CycleStep, missedPeriods, nextStep, periodOf } from '../domain/renewal.js';
import { entered } from '../domain/repricing.js';
import { type Subscription, suspended } from '../domain/subscription.js';
import { type Scene, sceneOf } from '../renewal-batch.js';
import { FINISH, leadOf, NEXT } from '../schedule.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';
import { LastDocuments } from './final-invoice.js';
import { CycleInvoices, isCharged } from './invoices.js';
import { SubscriptionEndings } from './termination.js';

/**
 * `missed`: periods that are made up for without a decision. `awaitSeconds`: until a payment under way is looked at again,
 * whose outcome is told at once as a rule.
 */
const limits = { batch: 50, leaseSeconds: 120, missed: 3, awaitSeconds: 3_600 } as const;

/** Words of the operation log. */
const words: Record<CycleStep, string> = {
  make: 'BillingCycle',
  remake: 'BillingCycleAgain',
  enter: 'PeriodStart',
  finish: 'UsageComplete',
  suspend: 'Incomplete',
  end: 'CancelAtPeriodEnd',
  expire: 'Expire',
  last: 'LastUsage',
};

/**
 * The billing cycle. One item of due work per subscription, at the time of its next step; its handler makes every step
 * whose time has come and schedules the next. A second item comes when the usage before the current period is complete.
 */
@Injectable()
export class Cycle {
  readonly works: readonly Work[];

  constructor(
    private readonly invoices: CycleInvoices,
    private readonly endings: SubscriptionEndings,
    private readonly deferred: DeferredChanges,
    private readonly arrears: Arrears,
    private readonly lasts: LastDocuments,
  ) {
    const terms = { time: 'merchant', batch: limits.batch, leaseSeconds: limits.leaseSeconds } as const;
    this.works = [NEXT, FINISH].map(kind => work(kind, terms, (tx, items) => this.run(tx, items)));
  }

  private async run(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const scene = await sceneOf(
      tx,
      items.map(({ key }) => key),
    );
    const due = items.flatMap(item => {
      const state = scene.states.get(item.key);
      return state ? [{ item, state }] : [];
    });
    const plain = due.filter(({ state }) => isPlain(state));
    const others = due.filter(({ state }) => !isPlain(state));
    const inTurn = async (each: typeof due) => {
      for (const { item, state } of each) await this.goOn(tx.item(item), scene, state);
    };
    // users go side by side, and statements serve all of them; what shares a row with other users is done in turn
    await tx.together(byUser(plain), inTurn);
    await inTurn(others);
  }

  /** Makes the steps that are due, in their order, and schedules the next. */
  private async goOn(tx: Tx, scene: Scene, before: CycleState): Promise<void> {
    const { subscriptionId, userId, planId } = before.sub;
    const done: string[] = [];
    let state = before;
    for (;;) {
      const terms = { ...chargeTermsOf(state.sub, scene.settings), leadSeconds: leadOf(state.sub) };
      const due = nextStep(state, terms);
      if (!due || due.at > tx.now || (done.length > 0 && readsCommitted(state.sub, due.step))) {
        if (due) tx.schedule(due.step === 'finish' || due.step === 'last' ? FINISH : NEXT, subscriptionId, due.at);
        break;
      }
      if (voids(state.sub, due.step) && (await isAwaited(tx, subscriptionId))) {
        tx.schedule(NEXT, subscriptionId, tx.now + limits.awaitSeconds);
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
        return this.begin(tx, scene, state, step);
      case 'suspend':
        return state.ahead ? this.begin(tx, scene, state, step) : suspend(tx, state);
      case 'finish':
        return this.finish(tx, scene, state);
      case 'last':
        return this.last(tx, state);
      case 'end':
        return this.endings.endWithPeriod(tx, state);
      case 'expire':
        return this.expire(tx, state);
    }
  }

  /**
   * The deadline of a period whose invoice was cancelled and not made again: what came in since of the usage before it is
   * billed by itself.
   */
  private async expire(tx: Tx, { sub, current, ahead }: CycleState): Promise<CycleState> {
    const unpaid = ahead ?? current;
    if (unpaid) tx.save(subscriptionPeriods, { ...unpaid, state: 'unpaid', remakeAt: 0 });
    if (unpaid) await this.lasts.usage(tx, sub, unpaid.startAt);
    return this.endings.expire(tx, unpaid ? { ...sub, carried: [] } : sub);
  }

  /** Finishes the draft of the current period at once. */
  async finishNow(tx: Tx, { subscriptionId }: Subscription): Promise<void> {
    const scene = await sceneOf(tx, [subscriptionId]);
    const state = scene.states.get(subscriptionId);
    if (state?.current?.finishAt) await this.finish(tx, scene, state);
    tx.schedule(NEXT, subscriptionId, tx.now);
  }

  /** The last usage of a subscription that ended with its period is complete. */
  private async last(tx: Tx, { sub, current, ahead }: CycleState): Promise<CycleState> {
    await this.lasts.usage(tx, sub, lastUsageEnd(sub, sub.cancelTime));
    return { sub, current: current && finished(tx, current), ahead };
  }

  /** The usage before the current period is complete: its draft is finished, and limits are carried over once more. */
  private async finish(tx: Tx, scene: Scene, state: CycleState): Promise<CycleState> {
    const { sub, current } = state;
    if (!current) throw new Error(`subscription ${sub.subscriptionId} has no current period`);
    await this.arrears.carryLimits(tx, sub, current);
    if (current.state !== 'open') return { ...state, current: finished(tx, current) };
    const billed = await this.invoices.bill(tx, scene, state, current);
    const isOpen = billed.sub.parkedReason === '' && billed.current?.state === 'open';
    const isAutomatic = isCharged(billed.sub, scene.gateways.get(billed.sub.gatewayId));
    // a charge that is made by itself has to fail first
    return isOpen && !isAutomatic ? suspend(tx, billed) : billed;
  }

  /** The next period begins, paid or not. A deferred change comes first: what is due then may be another step. */
  private async begin(tx: Tx, scene: Scene, state: CycleState, step: 'enter' | 'suspend'): Promise<CycleState> {
    const changed = await this.deferred.take(tx, state.sub, state.ahead);
    if (changed) return { ...state, ...changed };
    if (step === 'suspend') return suspend(tx, state);
    const entered = enter(tx, state);
    const { sub, current } = entered;
    if (!current || !hasUsage(sub.planSnapshot)) return entered;
    return { ...entered, current: await this.arrears.begun(tx, sub, current, scene.settings.usageGraceSeconds) };
  }

  private parked(tx: Tx, state: CycleState, parkedReason: string): CycleState {
    const sub = { ...state.sub, parkedReason, parkedAt: tx.now, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...state, sub };
  }
}

/** True for a subscription whose steps write and lock rows of its user alone: it neither changes nor ends. */
const isPlain = ({ sub }: CycleState): boolean =>
  sub.pendingUpdateId === '' && !sub.cancelAtPeriodEnd && sub.status === 'active';

/**
 * True for a step that reads as committed what the step before it may have written, so that another transaction makes it:
 * usage that was billed, the next period's invoice that a deferred change replaces.
 */
function readsCommitted({ planSnapshot, pendingUpdateId }: Subscription, step: CycleStep): boolean {
  if (step === 'make' || step === 'finish') return hasUsage(planSnapshot);
  return pendingUpdateId !== '' && (step === 'enter' || step === 'suspend');
}

/** True for a step that may cancel open invoices: it waits while a payment of one is under way. */
const voids = ({ pendingUpdateId }: Subscription, step: CycleStep): boolean =>
  step === 'end' || step === 'expire' || (pendingUpdateId !== '' && (step === 'enter' || step === 'suspend'));

/** Items of each user, in their order. */
function byUser<I extends { state: CycleState }>(items: readonly I[]): I[][] {
  const users = new Map<number, I[]>();
  for (const item of items) {
    const { userId } = item.state.sub;
    users.set(userId, [...(users.get(userId) ?? []), item]);
  }
  return [...users.values()];
}

/** Why the billing stops, where too many periods were missed; undefined if it goes on. */
function parkedIfLate(sub: Subscription, now: number): string | undefined {
  // taken up again since, with all that was missed
  if (sub.parkedAt > sub.currentPeriodEnd) return undefined;
  if (missedPeriods(sub, now, limits.missed + 1) <= limits.missed) return undefined;
  return `More than ${limits.missed} periods were not billed`;
}

function finished(tx: Tx, row: PeriodRow): PeriodRow {
  const complete = { ...row, finishAt: 0 };
  tx.save(subscriptionPeriods, complete);
  return complete;
}

/** The next period, which is paid, free or waits for usage, becomes the current one. */
function enter(tx: Tx, { sub, ahead }: CycleState): CycleState {
  if (!ahead) throw new Error(`subscription ${sub.subscriptionId} has no next period`);
  const next = { ...entered(sub, periodOf(sub, ahead)), modifyTime: tx.now };
  tx.step(subscriptionAggregate, next, 'subscription.updated');
  return { sub: next, current: ahead, ahead: undefined };
}

/** The next period begins and is not paid: the subscription is incomplete until it is. */
function suspend(tx: Tx, { sub, current, ahead }: CycleState): CycleState {
  const next = suspended(sub, ahead ?? current, tx.now);
  tx.step(subscriptionAggregate, next, 'subscription.auto_renew.failure');
  return { sub: next, current, ahead };
}
