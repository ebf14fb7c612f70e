import type { Plan, PlanSnapshot } from '@recur/contracts';
import { boundary, machine, Rejected, type StateOf } from '@recur/kernel';
import { intervalOf, type StoredItem } from './items.js';
import type { PendingItem } from './pending-items.js';
import type { Period } from './periods.js';
import type { PriceEntry } from './price-entry.js';
import type { TrialStep } from './trials.js';

/** A discount that a subscription is bound to. A recurring one reduces cycle invoices as long as its cycles last. */
export interface BoundDiscount {
  discountId: number;
  code: string;
  recurring: boolean;
  /** Use of a one-time code that waits for the first invoice that it can reduce; 0 for none. */
  waitingUseId: number;
}

export interface MultiTrial {
  startedAt: number;
  /** The step under way, from 0. */
  currentIndex: number;
  finished: boolean;
  steps: TrialStep[];
}

/** A subscription. Times are unix seconds, 0 for what has not happened; money is minor units of `currency`. */
export interface Subscription {
  merchantId: number;
  /** `sub_…` */
  subscriptionId: string;
  id: number;
  version: number;
  /** The id in the system from which it was imported; '' for none. */
  externalSubscriptionId: string;
  userId: number;
  productId: number;
  planId: number;
  quantity: number;
  status: SubscriptionStatus;
  /** The status before the last change of it. */
  previousStatus: SubscriptionStatus;
  type: number;
  currency: string;
  /** Price of a full interval before discounts. */
  amount: bigint;
  timeZone: string;
  /** Boundary 0 of its full periods. */
  anchor: number;
  /** k of the end of the current period, f(anchor, k); 0 while that end is the anchor or lies before it. */
  periodNo: number;
  currentPeriodStart: number;
  currentPeriodEnd: number;
  /** Unix second at which the current period ends unpaid; 0 for a paid one. */
  unpaidUntil: number;
  trialEnd: number;
  firstPaidTime: number;
  gatewayId: number;
  paymentMethodId: string;
  gatewayPaymentType: string;
  /** No automatic attempt is made to collect. */
  manualPayment: boolean;
  cancelAtPeriodEnd: boolean;
  cancelReason: string;
  cancelTime: number;
  dunningTime: number;
  latestInvoiceId: string;
  pendingUpdateId: string;
  planSnapshot: PlanSnapshot;
  /** The items that it sells at the prices fixed for it. */
  items: StoredItem[];
  /** Price changes of its plans that are to come, or took effect with its current period. */
  priceChanges: PriceEntry[];
  multiTrial: MultiTrial | null;
  discount: BoundDiscount | null;
  /** Lines below the gateway's minimum that its next invoice bills. */
  carried: PendingItem[];
  /** Percentage that an API key stated; 0 for by the rules. */
  taxPercentage: number;
  vatNumber: string;
  countryCode: string;
  metadata: Record<string, unknown>;
  returnUrl: string;
  cancelUrl: string;
  /** The content of its submit: an equal one soon after it is answered with this subscription. */
  asked: string;
  /** Why its billing is stopped; '' while it is not. */
  parkedReason: string;
  parkedAt: number;
  createTime: number;
  modifyTime: number;
}

/** A subscription as far as its periods follow from it. */
export type Timed = Pick<
  Subscription,
  | ('subscriptionId' | 'planSnapshot' | 'timeZone' | 'anchor' | 'periodNo' | 'trialEnd' | 'multiTrial')
  | ('currentPeriodStart' | 'currentPeriodEnd' | 'unpaidUntil')
>;

/** The plan that it sells, as it was when it was sold. */
export function planOf({ subscriptionId, planSnapshot }: Pick<Subscription, 'subscriptionId' | 'planSnapshot'>) {
  if (!planSnapshot.plan) throw new Error(`subscription ${subscriptionId} has no plan`);
  return planSnapshot.plan;
}

/** Plans and add-ons of a snapshot. */
export const plansSold = ({ plan, addons }: Pick<PlanSnapshot, 'plan' | 'addons'>): Plan[] =>
  [plan, ...addons.map(({ addonPlan }) => addonPlan)].filter(each => each !== null);

/** The plan or add-on with an id that it sells; undefined where it sells none. */
export const planSold = ({ planSnapshot }: Pick<Subscription, 'planSnapshot'>, planId: number): Plan | undefined =>
  plansSold(planSnapshot).find(({ id }) => id === planId);

/** The same where its items say that it sells the plan. */
export function soldPlan(sub: Pick<Subscription, 'subscriptionId' | 'planSnapshot'>, planId: number): Plan {
  const plan = planSold(sub, planId);
  if (!plan) throw new Error(`subscription ${sub.subscriptionId} has no plan ${planId}`);
  return plan;
}

/** The subscription after a move of its lifecycle. Throws Rejected `subscription_wrong_state`. */
export function moved<S extends Subscription>(sub: S, move: SubscriptionMove, now: number): S {
  const subject = `Subscription ${sub.subscriptionId}`;
  const status = subscriptionLifecycle.step(sub.status, move, 'subscription_wrong_state', subject);
  const previousStatus = status === sub.status ? sub.previousStatus : sub.status;
  return { ...sub, status, previousStatus, modifyTime: now };
}

/**
 * The period after the current one: the next step of its trial, a free period up to the end of the trial, a stub where the
 * due day was changed, else the next full period.
 */
export function nextPeriod(sub: Timed): Period {
  const { currentPeriodEnd: start, anchor, periodNo, multiTrial, timeZone, trialEnd } = sub;
  const step = (multiTrial?.currentIndex ?? 0) + 1;
  const next = multiTrial?.finished ? undefined : multiTrial?.steps[step];
  if (next) return { kind: 'trial', start: next.start, end: next.end, step };
  if (trialEnd > start) return { kind: 'free', start, end: trialEnd };
  const interval = intervalOf(planOf(sub));
  const due = boundary(anchor, periodNo, interval, timeZone);
  if (due > start) return { kind: 'stub', start, end: due };
  return { kind: 'cycle', start, end: boundary(anchor, periodNo + 1, interval, timeZone) };
}

/** The subscription in its next period, which is paid or free. */
export function advanced<S extends Timed>(sub: S, period: Period): S {
  const { start, end, kind, step } = period;
  const current = { currentPeriodStart: start, currentPeriodEnd: end, unpaidUntil: 0 };
  const { multiTrial, anchor, timeZone } = sub;
  if (kind === 'trial' && multiTrial)
    return { ...sub, ...current, multiTrial: { ...multiTrial, currentIndex: step ?? 0 } };
  const ended = multiTrial && { ...multiTrial, finished: true };
  const isFull = kind === 'cycle' && boundary(anchor, sub.periodNo + 1, intervalOf(planOf(sub)), timeZone) <= end;
  return { ...sub, ...current, periodNo: isFull ? sub.periodNo + 1 : sub.periodNo, multiTrial: ended };
}

/** True for one that has begun, and is not over. */
export const isInForce = ({ status }: Pick<Subscription, 'status'>): boolean =>
  status === 'active' || status === 'incomplete';

/** True while a trial is under way: its last second is before `trialEnd`. */
export const isInTrial = ({ trialEnd }: Pick<Subscription, 'trialEnd'>, now: number): boolean => now < trialEnd;

/** The first payment, or nothing to pay, makes it active in its first period. */
export function activated<S extends Subscription>(sub: S, now: number): S {
  const firstPaidTime = sub.firstPaidTime || now;
  return { ...moved(sub, 'activate', now), unpaidUntil: 0, firstPaidTime, dunningTime: 0 };
}

/** A period goes on, or begins, unpaid. */
export const suspended = <S extends Subscription>(
  sub: S,
  unpaid: { deadline: number } | undefined,
  now: number,
): S => ({
  ...moved(sub, 'suspend', now),
  dunningTime: now,
  unpaidUntil: unpaid?.deadline ?? now,
});

/** Ended at once: by request, by its deadline, or because it never paid. */
export function ended<S extends Subscription>(
  sub: S,
  move: 'cancel' | 'expire' | 'fail',
  reason: string,
  now: number,
): S {
  return { ...moved(sub, move, now), cancelReason: reason, cancelTime: now, pendingUpdateId: '', dunningTime: 0 };
}

/** Set, or taken back, to end with its current period. Throws Rejected `subscription_wrong_state`. */
export function endingAtPeriodEnd<S extends Subscription>(sub: S, ends: boolean, now: number): S {
  if (sub.status !== 'active' && sub.status !== 'incomplete') {
    const what = ends ? 'end it with its period' : 'take back its end';
    throw new Rejected(
      'subscription_wrong_state',
      `Subscription ${sub.subscriptionId} is ${sub.status}: cannot ${what}`,
    );
  }
  return { ...sub, cancelAtPeriodEnd: ends, modifyTime: now };
}

/**
 * Lifecycle of a subscription. `init` is the state before the first invoice and is never stored for long; `pending`
 * awaits the first payment; `processing` knows that it is under way. `incomplete` has not paid its current period in
 * time, or may be used before its first payment.
 *
 * Invariants: a user has at most one active, incomplete or processing subscription to a product; its live periods tile
 * time from its start to the end of the current one; each is billed at most once.
 */
export const subscriptionLifecycle = machine({
  init: { submit: 'pending', activate: 'active', suspend: 'incomplete', cancel: 'cancelled', fail: 'failed' },
  pending: {
    process: 'processing',
    activate: 'active',
    suspend: 'incomplete',
    cancel: 'cancelled',
    fail: 'failed',
  },
  active: { renew: 'active', change: 'active', suspend: 'incomplete', cancel: 'cancelled', expire: 'expired' },
  processing: {
    refuse: 'pending',
    activate: 'active',
    suspend: 'incomplete',
    cancel: 'cancelled',
    fail: 'failed',
  },
  incomplete: {
    activate: 'active',
    change: 'incomplete',
    suspend: 'incomplete',
    cancel: 'cancelled',
    expire: 'expired',
    fail: 'failed',
  },
  cancelled: {},
  expired: {},
  failed: {},
});
export type SubscriptionStatus = StateOf<typeof subscriptionLifecycle>;
export type SubscriptionMove = (typeof subscriptionLifecycle.moves)[number];

/** A user has at most one subscription to a product in these states. */
export const liveStatuses: readonly SubscriptionStatus[] = ['active', 'incomplete', 'processing'];
/** A new subscription replaces one in these states. */
export const unpaidStatuses: readonly SubscriptionStatus[] = ['init', 'pending'];
export const endedStatuses: readonly SubscriptionStatus[] = ['cancelled', 'expired', 'failed'];

export const isLive = (status: SubscriptionStatus): boolean => liveStatuses.includes(status);
export const hasEnded = (status: SubscriptionStatus): boolean => endedStatuses.includes(status);
