import { type Plan, type PlanSnapshot, snapshotChargeType } from '@recur/contracts';
import { boundary } from '@recur/kernel';
import type { Bill, BillDiscount, SoldLine } from '../../invoices/domain/items.js';
import type { Stretch } from '../../pricing/proration.js';
import { common } from './bill.js';
import { type CarriedLine, usedUntil } from './carried.js';
import { type ChangeLines, changeLines, type PaidPeriod, type ShownItem, sameItem } from './change-bill.js';
import { type ChangeDirection, type ChangePlan, sameInterval, type Terms } from './changes.js';
import {
  amountOf,
  type Choice,
  type Item,
  intervalOf,
  itemsFor,
  itemsOf,
  PLAN_KEY,
  type StoredItem,
  snapshotOf,
  storedItems,
} from './items.js';
import type { Period, PeriodRow } from './periods.js';
import { changesOf, entriesAfter } from './price-entry.js';
import { planOf, type Subscription, type Timed } from './subscription.js';

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
  const items = itemsFor(choice).map(item => keptPrice(sub, choice, item));
  return {
    updatePlanId: choice.plan.id,
    updateQuantity: choice.quantity,
    updateAmount: amountOf(items),
    updateCurrency: choice.currency,
    updateItems: storedItems(items),
    updateSnapshot: {
      ...snapshotOf(choice, at, sub.planSnapshot),
      chargeType: snapshotChargeType[direction === 'downgrade' ? 'downgrade' : 'upgrade'],
    },
  };
}

function keptPrice(sub: Subscription, { plan, addons, currency }: Choice, item: Item): Item {
  const sold = itemsOf(sub.items).find(({ key, planId }) => key === item.key && planId === item.planId);
  if (!sold || sub.currency !== currency) return item;
  const chosen = [plan, ...addons.map(addon => addon.plan)].find(({ id }) => id === item.planId);
  const isRepriced = chosen !== undefined && changesOf(chosen) > changesOf(planIn(sub, item.planId));
  return isRepriced ? item : { ...item, unitAmount: sold.unitAmount };
}

/** The subscription after an update, in the same period. */
export const updated = <S extends Subscription>(sub: S, update: Update): S => ({
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
export function restarted<S extends Subscription>(sub: S, { start, end }: Stretch, freeSeconds: number): S {
  const free = freeSeconds > 0 ? { trialEnd: end + freeSeconds, anchor: end + freeSeconds } : { anchor: start };
  if (start >= sub.currentPeriodEnd) return { ...sub, ...free, periodNo: 0 };
  const current = { currentPeriodStart: start, currentPeriodEnd: end + freeSeconds, currentPeriodPaid: 1 };
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
export const deferred = <S extends Subscription>(sub: S, update: Update): S => countedAnew(sub, updated(sub, update));

/** The periods of a subscription whose plan is another one from the end of its current period on. */
export function countedAnew<S extends Timed>(sub: Timed, after: S): S {
  if (sameInterval(intervalOf(planOf(sub)), intervalOf(planOf(after)))) return after;
  return { ...after, anchor: Math.max(sub.currentPeriodEnd, sub.trialEnd), periodNo: 0 };
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
  const interval = intervalOf(planOf(updated(sub, update)));
  const isKept = kind === 'trial' || kind === 'free' || sameInterval(intervalOf(planOf(sub)), interval);
  if (isKept) return { sub, period: { kind, start, end: endAt } };
  const end = boundary(start, 1, interval, sub.timeZone);
  const counted = start === sub.currentPeriodStart ? { periodNo: 1, currentPeriodEnd: end } : { periodNo: 0 };
  return { sub: { ...sub, anchor: start, ...counted }, period: { kind: 'cycle', start, end } };
}

/** True if lines sell what the subscription sells, at its prices. */
export function sells({ items }: Subscription, lines: readonly Item[]): boolean {
  const isSold = (item: Item) => lines.some(line => line.key === item.key && sameItem(line, item));
  return lines.length === items.length && itemsOf(items).every(isSold);
}

/** Items of a subscription, as lines show them. */
export function termsOf(sub: Subscription): Terms<ShownItem> {
  const plan = planOf(sub);
  return {
    currency: sub.currency,
    interval: intervalOf(plan),
    items: itemsOf(sub.items).map(item => shown(sub, item)),
  };
}

function shown(sub: Subscription, item: Item): ShownItem {
  const plan = planIn(sub, item.planId);
  const { planName: name, description } = plan;
  return { ...item, kind: item.key === PLAN_KEY ? 'plan' : 'addon', plan, name, description };
}

function planIn({ subscriptionId, planSnapshot: { plan, addons } }: Subscription, planId: number): Plan {
  const all = [plan, ...addons.map(({ addonPlan }) => addonPlan)];
  const found = all.find(each => each?.id === planId);
  if (!found) throw new Error(`subscription ${subscriptionId} has no plan ${planId}`);
  return found;
}

/** A change as far as its bill depends on it. */
export interface BilledChange {
  direction: ChangeDirection;
  at: number;
  periodEnd: number;
  items: Bill['items'];
  discount?: BillDiscount | undefined;
  promo?: Bill['promo'];
}

/** The bill of a change: update_preview and update_submit. `sub` is the subscription as it will be. */
export const changeBill = (sub: Subscription, change: BilledChange): Bill => ({
  ...common(sub, change.at),
  ...namesOf(change.direction),
  period: { kind: '', start: change.at, end: change.periodEnd },
  items: change.items,
  prorationDate: change.at,
  ...(change.discount && { discount: change.discount }),
  ...(change.promo && { promo: change.promo }),
});

const namesOf = (direction: ChangeDirection) =>
  direction === 'downgrade'
    ? ({ reason: 'downgrade', name: 'SubscriptionDowngrade' } as const)
    : ({ reason: 'upgrade', name: 'SubscriptionUpgrade' } as const);

/** Lines of a change, whether those in force carry a discount, and the period that starts with it. */
export interface BilledChangeLines extends ChangeLines {
  carriesDiscount: boolean;
  newPeriod: Stretch | undefined;
}

/** A change of a subscription to what it will be. */
interface Changed {
  sub: Subscription;
  after: Subscription;
  sold: readonly SoldLine[];
}

/** Live periods that are paid, in order, which a change bills anew: those at the price of the plan, not trials or free time. */
export const billedPeriods = (periods: readonly PeriodRow[]): PeriodRow[] =>
  periods.filter(({ kind, state }) => state === 'paid' && (kind === 'cycle' || kind === 'stub'));

/** Lines of a change, and the lines that the subscription carries, with what was used of those that it ends. */
export interface LinesNow extends BilledChangeLines {
  carried: CarriedLine[];
}

/**
 * Lines of a change at `at`, in the live periods from then on. In a trial or a free stretch only a next period that is
 * paid is billed anew, and another interval begins with it.
 */
export function linesNow(
  { sub, after, sold }: Changed,
  { newInterval }: Pick<ChangePlan, 'newInterval'>,
  at: number,
  periods: readonly PeriodRow[],
): LinesNow {
  const rows = billedPeriods(periods);
  const start = Math.max(at, rows[0]?.startAt ?? at);
  const end = boundary(start, 1, intervalOf(planOf(after)), sub.timeZone);
  const paid = rows.map(row => paidPeriod(sub, row));
  const inPaid = sold.filter(({ stretch }) => paid.some(period => isIn(stretch, period)));
  const lines = billed({ sub, after, sold: inPaid }, at, paid, newInterval ? { start, end } : undefined);
  const isEnded = (line: CarriedLine) => lines.touched.includes(line.key) && paid.some(period => isIn(line, period));
  return { ...lines, carried: usedUntil(sub.carried, at, isEnded) };
}

const isIn = (stretch: Stretch, period: Stretch): boolean => stretch.start >= period.start && stretch.end <= period.end;

/**
 * Lines of a deferred change whose next period is paid: what changed is credited in full and charged anew, everything for
 * another interval, which begins there.
 */
export function linesAnew({ sub, after, sold }: Changed, next: PeriodRow): BilledChangeLines {
  const { startAt: start } = next;
  const interval = intervalOf(planOf(after));
  const newPeriod = { start, end: boundary(start, 1, interval, sub.timeZone) };
  const isOther = !sameInterval(intervalOf(planOf(sub)), interval);
  return billed({ sub, after, sold }, start, [paidPeriod(sub, next)], isOther ? newPeriod : undefined);
}

function billed(
  { sub, after, sold }: Changed,
  at: number,
  periods: readonly PaidPeriod[],
  newPeriod: Stretch | undefined,
): BilledChangeLines {
  const change = { from: termsOf(sub), to: termsOf(after), at, sold, periods };
  const lines = changeLines({ ...change, ...(newPeriod && { newPeriod }) });
  return { ...lines, newPeriod, carriesDiscount: sold.some(({ discount }) => discount > 0n) };
}

/** A stub is priced as part of the full interval from its start. */
function paidPeriod(sub: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): PaidPeriod {
  const full = kind === 'stub' ? boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) : end;
  return { start, end, full: { start, end: full } };
}
