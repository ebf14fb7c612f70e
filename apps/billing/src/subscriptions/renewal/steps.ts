import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { isAwaited } from '../../invoices/open-invoices.js';
import { Arrears, hasUsage } from '../arrears.js';
import { ScheduledChanges } from '../change/scheduled-changes.js';
import { lastUsageEnd } from '../domain/items-to-bill.js';
import type { PeriodRow } from '../domain/periods.js';
import { missedPeriods, nextStep, periodOf, type RenewalState, type RenewalStep } from '../domain/renewal.js';
import { entered } from '../domain/repricing.js';
import { type Subscription, suspended } from '../domain/subscription.js';
import { loadRenewalBatch, type RenewalBatch } from '../renewal-batch.js';
import { FINISH, leadOf, NEXT, scheduleEndNotice } from '../schedule.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';
import { FinalInvoices } from './final-invoice.js';
import { isChargedByGateway, RenewalInvoices } from './invoices.js';
import { SubscriptionTermination } from './termination.js';

/**
 * `missed`: periods that are made up for without a decision. `awaitSeconds`: until a payment under way is looked at again,
 * whose outcome is told at once as a rule.
 */
const limits = { batch: 50, leaseSeconds: 120, missed: 3, awaitSeconds: 3_600 } as const;

/** Words of the operation log. */
const stepWords: Record<RenewalStep, string> = {
  invoice: 'BillingCycle',
  reinvoice: 'BillingCycleAgain',
  advance: 'PeriodStart',
  billUsage: 'UsageComplete',
  markPastDue: 'Incomplete',
  cancel: 'CancelAtPeriodEnd',
  expire: 'Expire',
  billFinalUsage: 'LastUsage',
};

/**
 * The billing cycle. One item of due work per subscription, at the time of its next step; its handler makes every step
 * whose time has come and schedules the next. A second item comes when the usage before the current period is complete.
 */
@Injectable()
export class Renewals {
  readonly works: readonly Work[];

  constructor(
    private readonly invoices: RenewalInvoices,
    private readonly termination: SubscriptionTermination,
    private readonly scheduled: ScheduledChanges,
    private readonly arrears: Arrears,
    private readonly finals: FinalInvoices,
  ) {
    const terms = { time: 'merchant', batch: limits.batch, leaseSeconds: limits.leaseSeconds } as const;
    this.works = [NEXT, FINISH].map(kind => work(kind, terms, (tx, items) => this.run(tx, items)));
  }

  private async run(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const batch = await loadRenewalBatch(
      tx,
      items.map(({ key }) => key),
    );
    const due = items.flatMap(item => {
      const state = batch.states.get(item.key);
      return state ? [{ item, state }] : [];
    });
    const plain = due.filter(({ state }) => isPlain(state));
    const others = due.filter(({ state }) => !isPlain(state));
    const inTurn = async (each: typeof due) => {
      for (const { item, state } of each) await this.runDueSteps(tx.item(item), batch, state);
    };
    // users go side by side, and statements serve all of them; what shares a row with other users is done in turn
    await tx.together(byUser(plain), inTurn);
    await inTurn(others);
  }

  /** Makes the steps that are due, in their order, and schedules the next. */
  private async runDueSteps(tx: Tx, batch: RenewalBatch, before: RenewalState): Promise<void> {
    const { subscriptionId, userId, planId } = before.sub;
    const done: string[] = [];
    let state = before;
    for (;;) {
      const terms = { ...chargeTermsOf(state.sub, batch.settings), leadSeconds: leadOf(state.sub) };
      const due = nextStep(state, terms);
      if (!due || due.at > tx.now || (done.length > 0 && readsCommitted(state.sub, due.step))) {
        if (due)
          tx.schedule(
            due.step === 'billUsage' || due.step === 'billFinalUsage' ? FINISH : NEXT,
            subscriptionId,
            due.at,
          );
        break;
      }
      if (voids(state.sub, due.step) && (await isAwaited(tx, subscriptionId))) {
        tx.schedule(NEXT, subscriptionId, tx.now + limits.awaitSeconds);
        break;
      }
      const parked = due.step === 'invoice' ? parkedIfLate(state.sub, tx.now) : undefined;
      done.push(parked ? 'Park' : stepWords[due.step]);
      state = parked ? this.parked(tx, state, parked) : await this.runStep(tx, batch, state, due.step);
    }
    if (done.length > 0) tx.log(`Subscription(${subscriptionId})`, done.join(', '), { subscriptionId, userId, planId });
  }

  private runStep(
    tx: Tx,
    batch: RenewalBatch,
    state: RenewalState,
    step: RenewalStep,
  ): RenewalState | Promise<RenewalState> {
    switch (step) {
      case 'invoice':
      case 'reinvoice':
        return this.invoices.issue(tx, batch, state);
      case 'advance':
        return this.begin(tx, batch, state, step);
      case 'markPastDue':
        return state.upcoming ? this.begin(tx, batch, state, step) : suspend(tx, state);
      case 'billUsage':
        return this.finish(tx, batch, state);
      case 'billFinalUsage':
        return this.last(tx, state);
      case 'cancel':
        return this.termination.endWithPeriod(tx, state);
      case 'expire':
        return this.expire(tx, state);
    }
  }

  /**
   * The deadline of a period whose invoice was cancelled and not made again: what came in since of the usage before it is
   * billed by itself.
   */
  private async expire(tx: Tx, { sub, current, upcoming }: RenewalState): Promise<RenewalState> {
    const unpaid = upcoming ?? current;
    if (unpaid) tx.save(subscriptionPeriods, { ...unpaid, state: 'unpaid', remakeAt: 0 });
    if (unpaid) await this.finals.usage(tx, sub, unpaid.startAt);
    return this.termination.expire(tx, unpaid ? { ...sub, carried: [] } : sub);
  }

  /** Finishes the draft of the current period at once. */
  async finishNow(tx: Tx, { subscriptionId }: Subscription): Promise<void> {
    const batch = await loadRenewalBatch(tx, [subscriptionId]);
    const state = batch.states.get(subscriptionId);
    if (state?.current?.finishAt) await this.finish(tx, batch, state);
    tx.schedule(NEXT, subscriptionId, tx.now);
  }

  /** The last usage of a subscription that ended with its period is complete. */
  private async last(tx: Tx, { sub, current, upcoming }: RenewalState): Promise<RenewalState> {
    await this.finals.usage(tx, sub, lastUsageEnd(sub, sub.cancelTime));
    return { sub, current: current && finishedPeriod(tx, current), upcoming };
  }

  /** The usage before the current period is complete: its draft is finished, and limits are carried over once more. */
  private async finish(tx: Tx, batch: RenewalBatch, state: RenewalState): Promise<RenewalState> {
    const { sub, current } = state;
    if (!current) throw new Error(`subscription ${sub.subscriptionId} has no current period`);
    await this.arrears.carryLimits(tx, sub, current);
    if (current.state !== 'open') return { ...state, current: finishedPeriod(tx, current) };
    const billed = await this.invoices.finishDraft(tx, batch, state, current);
    const isOpen = billed.sub.parkedReason === '' && billed.current?.state === 'open';
    const isAutomatic = isChargedByGateway(billed.sub, batch.gateways.get(billed.sub.gatewayId));
    // a charge that is made by itself has to fail first
    return isOpen && !isAutomatic ? suspend(tx, billed) : billed;
  }

  /** The next period begins, paid or not. A deferred change comes first: what is due then may be another step. */
  private async begin(
    tx: Tx,
    batch: RenewalBatch,
    state: RenewalState,
    step: 'advance' | 'markPastDue',
  ): Promise<RenewalState> {
    const changed = await this.scheduled.applyAtRenewal(tx, state.sub, state.upcoming);
    if (changed) return { ...state, ...changed };
    if (step === 'markPastDue') return suspend(tx, state);
    const entered = enter(tx, state);
    const { sub, current } = entered;
    if (!current || !hasUsage(sub.planSnapshot)) return entered;
    return { ...entered, current: await this.arrears.begun(tx, sub, current, batch.settings.usageGraceSeconds) };
  }

  private parked(tx: Tx, state: RenewalState, parkedReason: string): RenewalState {
    const sub = { ...state.sub, parkedReason, parkedAt: tx.now, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...state, sub };
  }
}

/** True for a subscription whose steps write and lock rows of its user alone: it neither changes nor ends. */
const isPlain = ({ sub }: RenewalState): boolean =>
  sub.pendingUpdateId === '' && !sub.cancelAtPeriodEnd && sub.status === 'active';

/**
 * True for a step that reads as committed what the step before it may have written, so that another transaction makes it:
 * usage that was billed, the next period's invoice that a deferred change replaces.
 */
function readsCommitted({ planSnapshot, pendingUpdateId }: Subscription, step: RenewalStep): boolean {
  if (step === 'invoice' || step === 'billUsage') return hasUsage(planSnapshot);
  return pendingUpdateId !== '' && (step === 'advance' || step === 'markPastDue');
}

/** True for a step that may cancel open invoices: it waits while a payment of one is under way. */
const voids = ({ pendingUpdateId }: Subscription, step: RenewalStep): boolean =>
  step === 'cancel' || step === 'expire' || (pendingUpdateId !== '' && (step === 'advance' || step === 'markPastDue'));

/** Items of each user, in their order. */
function byUser<I extends { state: RenewalState }>(items: readonly I[]): I[][] {
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

function finishedPeriod(tx: Tx, row: PeriodRow): PeriodRow {
  const complete = { ...row, finishAt: 0 };
  tx.save(subscriptionPeriods, complete);
  return complete;
}

/** The next period, which is paid, free or waits for usage, becomes the current one. */
function enter(tx: Tx, { sub, upcoming }: RenewalState): RenewalState {
  if (!upcoming) throw new Error(`subscription ${sub.subscriptionId} has no next period`);
  const next = { ...entered(sub, periodOf(sub, upcoming)), modifyTime: tx.now };
  tx.step(subscriptionAggregate, next, 'subscription.updated');
  scheduleEndNotice(tx, next, sub);
  return { sub: next, current: upcoming, upcoming: undefined };
}

/** The next period begins and is not paid: the subscription is incomplete until it is. */
function suspend(tx: Tx, { sub, current, upcoming }: RenewalState): RenewalState {
  const next = suspended(sub, upcoming ?? current, tx.now);
  tx.step(subscriptionAggregate, next, 'subscription.auto_renew.failure');
  return { sub: next, current, upcoming };
}
