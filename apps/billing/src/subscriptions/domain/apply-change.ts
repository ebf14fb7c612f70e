import { type PlanSnapshot, snapshotChargeType } from '@recur/contracts';
import { boundary } from '@recur/kernel';
import type { ServicePeriod } from '../../pricing/proration.js';
import { type ChangeDirection, sameInterval, type Terms } from './changes.js';
import {
  type Choice,
  type Item,
  intervalOf,
  itemsAmount,
  itemsFor,
  itemsOf,
  PLAN_KEY,
  type StoredItem,
  sameItem,
  snapshotOf,
  storedItems,
} from './items.js';
import type { ShownItem } from './items-to-bill.js';
import type { Period, PeriodRow } from './periods.js';
import { changesOf, entriesAfter } from './price-entry.js';
import { planOf, type Subscription, soldPlan, type Timed } from './subscription.js';

/** Plan, items and prices of a subscription after a change. */
export interface Update {
  updatePlanId: number;
  updateQuantity: number;
  updateAmount: bigint;
  updateCurrency: string;
  updateSnapshot: PlanSnapshot;
  updateItems: StoredItem[];
}

/**
 * The update to a choice at a second. Items that the subscription sells already keep the prices that were fixed for it, but
 * for a plan whose price was changed since. Throws what `itemsFor` does.
 */
export function updateTo(
  sub: Subscription,
  choice: Choice,
  { direction, at }: { direction: ChangeDirection; at: number },
): Update {
  const items = itemsFor(choice).map(item => pricedItem(sub, choice, item));
  return {
    updatePlanId: choice.plan.id,
    updateQuantity: choice.quantity,
    updateAmount: itemsAmount(items),
    updateCurrency: choice.currency,
    updateItems: storedItems(items),
    updateSnapshot: {
      ...snapshotOf(choice, at, sub.planSnapshot),
      chargeType: snapshotChargeType[direction === 'downgrade' ? 'downgrade' : 'upgrade'],
    },
  };
}

function pricedItem(sub: Subscription, { plan, addons, currency }: Choice, item: Item): Item {
  const sold = itemsOf(sub.items).find(({ key, planId }) => key === item.key && planId === item.planId);
  if (!sold || sub.currency !== currency) return item;
  const chosen = [plan, ...addons.map(addon => addon.plan)].find(({ id }) => id === item.planId);
  const isRepriced = chosen !== undefined && changesOf(chosen) > changesOf(soldPlan(sub, item.planId));
  return isRepriced ? item : { ...item, unitAmount: sold.unitAmount };
}

/** The subscription after an update, in the same period. */
export const withChange = <S extends Subscription>(sub: S, update: Update): S => ({
  ...sub,
  planId: update.updatePlanId,
  quantity: update.updateQuantity,
  amount: update.updateAmount,
  currency: update.updateCurrency,
  planSnapshot: update.updateSnapshot,
  items: update.updateItems,
  priceChanges: update.updateCurrency === sub.currency ? entriesAfter(sub.priceChanges, update.updateItems) : [],
});

/**
 * The subscription in a new series of periods that begins at `start`, and whose first period is paid: the current one, or
 * the next where it begins with the end of the current one. Free seconds that were appended and not used follow it.
 */
export function withNewPeriod<S extends Subscription>(sub: S, { start, end }: ServicePeriod, freeSeconds: number): S {
  const free = freeSeconds > 0 ? { trialEnd: end + freeSeconds, anchor: end + freeSeconds } : { anchor: start };
  if (start >= sub.currentPeriodEnd) return { ...sub, ...free, periodNo: 0 };
  const current = { currentPeriodStart: start, currentPeriodEnd: end + freeSeconds, unpaidUntil: 0 };
  return { ...sub, ...current, ...free, periodNo: freeSeconds > 0 ? 0 : 1 };
}

/** Free seconds of live periods that begin at `start` or later. */
export const freeSecondsFrom = (periods: readonly PeriodRow[], start: number): number =>
  periods
    .filter(({ kind, startAt, state }) => kind === 'free' && state !== 'void' && startAt >= start)
    .reduce((total, { startAt, endAt }) => total + endAt - startAt, 0);

/**
 * The subscription after a change at the end of its current period. Another interval counts its periods from
 * there, or from the end of a trial that goes on.
 */
export const withDeferredChange = <S extends Subscription>(sub: S, update: Update): S =>
  withNewAnchor(sub, withChange(sub, update));

/** True if the plan of a subscription after a change is sold by the interval of the one before. */
export const hasSameInterval = (sub: Timed, after: Timed): boolean =>
  sameInterval(intervalOf(planOf(sub)), intervalOf(planOf(after)));

/**
 * The periods of a subscription whose plan is another one from the end of its current period on, or of later ones of
 * `kept` that are paid or free.
 */
export function withNewAnchor<S extends Timed>(sub: Timed, after: S, kept: readonly PeriodRow[] = []): S {
  if (hasSameInterval(sub, after)) return after;
  const ends = kept.flatMap(({ state, endAt }) => (state === 'paid' ? [endAt] : []));
  return { ...after, anchor: Math.max(sub.currentPeriodEnd, sub.trialEnd, ...ends), periodNo: 0 };
}

/**
 * The unpaid period of an incomplete subscription after a change, which may be the current or the next one, and the
 * subscription: another interval is counted from the start of the period. A step of a trial stays as it is.
 */
export function inUnpaidPeriod<S extends Subscription>(
  sub: S,
  update: Update,
  { kind, startAt: start, endAt }: Pick<PeriodRow, 'kind' | 'startAt' | 'endAt'>,
): { sub: S; period: Period } {
  const interval = intervalOf(planOf(withChange(sub, update)));
  const isKept = kind === 'trial' || kind === 'free' || sameInterval(intervalOf(planOf(sub)), interval);
  if (isKept) return { sub, period: { kind, start, end: endAt } };
  const end = boundary(start, 1, interval, sub.timeZone);
  const counted = start === sub.currentPeriodStart ? { periodNo: 1, currentPeriodEnd: end } : { periodNo: 0 };
  return { sub: { ...sub, anchor: start, ...counted }, period: { kind: 'cycle', start, end } };
}

/** True if lines sell the plans of the items in their quantities, at whatever price. */
export const sellsQuantities = (items: readonly Quantity[], lines: readonly Quantity[]): boolean =>
  lines.length === items.length &&
  items.every(({ planId, quantity }) => lines.some(line => line.planId === planId && line.quantity === quantity));

type Quantity = Pick<Item, 'planId' | 'quantity'>;

/** True if lines sell what the subscription sells, at its prices. */
export function sellsItems({ items }: Subscription, lines: readonly Item[]): boolean {
  const isSold = (item: Item) => lines.some(line => line.key === item.key && sameItem(line, item));
  return lines.length === items.length && itemsOf(items).every(isSold);
}

/** Items of a subscription, as lines show them. */
export function changeTerms(sub: Subscription): Terms<ShownItem> {
  const plan = planOf(sub);
  return {
    currency: sub.currency,
    interval: intervalOf(plan),
    items: itemsOf(sub.items).map(item => shownItem(sub, item)),
  };
}

function shownItem(sub: Subscription, item: Item): ShownItem {
  const plan = soldPlan(sub, item.planId);
  const { planName: name, description } = plan;
  return { ...item, kind: item.key === PLAN_KEY ? 'plan' : 'addon', plan, name, description };
}
