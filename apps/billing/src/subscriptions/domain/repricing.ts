import type { Plan, PlanSnapshot } from '@recur/contracts';
import { boundary, DAY_SECONDS, startOfDay } from '@recur/kernel';
import { itemsAmount, itemsOf, priceIn, type StoredItem } from './items.js';
import type { Period, PeriodRow } from './periods.js';
import { changesOf, isEntryDue, isToCome, isUnannounced, type PriceEntry } from './price-entry.js';
import { periodOf } from './renewal.js';
import { advanced, nextPeriod, type Subscription } from './subscription.js';

/*
 * Price changes of plans over running subscriptions. A subscription keeps the rules by which its price is converted: its
 * new price is the new amount at the rate that was fixed for it, and a fixed amount in its currency stays.
 */

/** A plan of a subscription at the price of now, where that was changed since it was sold. */
export function atPriceOfNow(sold: Plan, now: Plan | undefined): Plan {
  if (!now?.priceChange || changesOf(now) <= changesOf(sold)) return sold;
  return { ...sold, amount: now.priceChange.newAmount, priceChange: now.priceChange };
}

/** A subscription with the price changes of its plans, and those that were announced and are taken back. */
export interface Planned<S> {
  sub: S;
  takenBack: PriceEntry[];
}

/** Plans the price changes of what a subscription sells; undefined where they are planned already. */
export function withPriceChanges<S extends Subscription>(
  sub: S,
  plans: ReadonlyMap<number, Plan>,
): Planned<S> | undefined {
  const kept = sub.priceChanges.filter(entry => !isToCome(entry));
  const before = sub.priceChanges.filter(isToCome);
  const toCome = sub.items.flatMap(item => entryOf(sub, item, plans.get(item.planId), before) ?? []);
  const isSame = toCome.length === before.length && toCome.every(entry => before.includes(entry));
  if (isSame) return undefined;
  const goesOn = (planId: number) => toCome.some(entry => entry.planId === planId);
  const takenBack = before.filter(({ noticedAt, planId }) => noticedAt > 0 && !goesOn(planId));
  return { sub: { ...sub, priceChanges: [...kept, ...toCome] }, takenBack };
}

/** The price change to come of an item; undefined where its price stays. */
function entryOf(
  { planSnapshot, currency }: Subscription,
  { planId, unitAmount: oldUnitAmount }: StoredItem,
  now: Plan | undefined,
  before: readonly PriceEntry[],
): PriceEntry | undefined {
  const sold = plansIn(planSnapshot).find(({ id }) => id === planId);
  const known = before.find(entry => entry.planId === planId);
  const change = now?.priceChange;
  if (!sold || !change || change.no <= (known?.change.no ?? changesOf(sold))) return known;
  const unitAmount = Number(priceIn({ ...sold, amount: change.newAmount }, currency, change.newAmount));
  if (unitAmount === oldUnitAmount) return undefined;
  return { planId, change, oldUnitAmount, unitAmount, noticeTime: 0, noticedAt: 0, effectTime: 0, from: 0 };
}

/** The subscription in a period that begins at `start`: at the prices that take effect then. */
export function pricedFrom<S extends Subscription>(sub: S, start: number): S {
  const due = sub.priceChanges.filter(entry => isEntryDue(entry, start));
  const left = sub.priceChanges.filter(entry => !due.includes(entry) && (isToCome(entry) || entry.from >= start));
  if (left.length === sub.priceChanges.length) return sub;
  if (due.length === 0) return { ...sub, priceChanges: left };
  const changeOf = (planId: number) => due.find(entry => entry.planId === planId);
  const items = sub.items.map(item => ({ ...item, unitAmount: changeOf(item.planId)?.unitAmount ?? item.unitAmount }));
  return {
    ...sub,
    items,
    amount: itemsAmount(itemsOf(items)),
    planSnapshot: repricedSnapshot(sub.planSnapshot, plan => changeOf(plan.id)),
    priceChanges: [...left, ...due.map(entry => ({ ...entry, from: start }))],
  };
}

/** The subscription in its next period, at the prices of that. */
export const entered = <S extends Subscription>(sub: S, period: Period): S =>
  pricedFrom(advanced(sub, period), period.start);

function repricedSnapshot(snapshot: PlanSnapshot, changeOf: (plan: Plan) => PriceEntry | undefined): PlanSnapshot {
  const atNewPrice = (plan: Plan | null): Plan | null => {
    const change = plan && changeOf(plan)?.change;
    return change ? { ...plan, amount: change.newAmount, priceChange: change } : plan;
  };
  const { plan, addons } = snapshot;
  return {
    ...snapshot,
    plan: atNewPrice(plan),
    addons: addons.map(addon => ({ ...addon, addonPlan: atNewPrice(addon.addonPlan) })),
  };
}

const plansIn = ({ plan, addons }: PlanSnapshot): Plan[] =>
  [plan, ...addons.map(({ addonPlan }) => addonPlan)].flatMap(each => each ?? []);

/** Terms of a notice: `leadSeconds` before the end of a period its next invoice is made. */
export interface NoticeTerms {
  now: number;
  noticeDays: number;
  leadSeconds: number;
}

/**
 * The subscription with the times of the price changes that are not announced yet: the effect with the first period that is
 * not made, is billed at the plan's price and begins `noticeDays` local dates after today or later; the notice that many
 * days before, and at least a day before the invoice of the period is made. `known` are the periods that are made.
 */
export function timed<S extends Subscription>(sub: S, known: readonly PeriodRow[], terms: NoticeTerms): S {
  if (!sub.priceChanges.some(isUnannounced)) return sub;
  const { now, noticeDays, leadSeconds } = terms;
  const effectTime = firstUnmade(sub, known, startOfDay(now, noticeDays, sub.timeZone));
  const latest = boundary(effectTime, -noticeDays, { unit: 'day', count: 1 }, sub.timeZone);
  const noticeTime = Math.max(now, Math.min(latest, effectTime - leadSeconds - DAY_SECONDS));
  const isTimed = (entry: PriceEntry) =>
    !isUnannounced(entry) || (entry.noticeTime === noticeTime && entry.effectTime === effectTime);
  if (sub.priceChanges.every(isTimed)) return sub;
  const priceChanges = sub.priceChanges.map(entry =>
    isUnannounced(entry) ? { ...entry, noticeTime, effectTime } : entry,
  );
  return { ...sub, priceChanges };
}

/** The beginning of the first period that is not made, is billed at the plan's price and begins at `earliest` or later. */
function firstUnmade(sub: Subscription, known: readonly PeriodRow[], earliest: number): number {
  let at = sub;
  for (let seen = 0; seen < mostSeen; seen++) {
    const { currentPeriodEnd: start } = at;
    const row = known.find(({ startAt }) => startAt === start);
    const period = row ? periodOf(at, row) : nextPeriod(at);
    const isBilled = period.kind === 'cycle' || period.kind === 'stub';
    if (!row && isBilled && start >= earliest) return start;
    at = advanced(at, period);
  }
  return at.currentPeriodEnd;
}

/** More periods than begin within the longest notice, also after the steps of a trial. */
const mostSeen = 1_500;

/** The subscription once its price changes are announced. */
export const announced = <S extends Subscription>(sub: S, now: number): S => ({
  ...sub,
  modifyTime: now,
  priceChanges: sub.priceChanges.map(entry => (isUnannounced(entry) ? { ...entry, noticedAt: now } : entry)),
});
