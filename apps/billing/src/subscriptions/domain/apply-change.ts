import { type Plan, type PlanSnapshot, snapshotChargeType } from '@recur/contracts';
import type { Bill, BillDiscount } from '../../invoicing/composed/domain/bill.js';
import { common } from './bill.js';
import type { ShownItem } from './change-bill.js';
import type { ChangeDirection, Terms } from './changes.js';
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
import { planOf, type Subscription } from './subscription.js';

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
 * The update to a choice. Items that the subscription sells already keep the prices that were fixed for it. Throws what
 * `itemsFor` does.
 */
export function updateTo(sub: Subscription, choice: Choice, direction: ChangeDirection): Update {
  const items = itemsFor(choice).map(item => keptPrice(sub, choice.currency, item));
  return {
    ...{ updatePlanId: choice.plan.id, updateQuantity: choice.quantity, updateAmount: amountOf(items) },
    ...{ updateCurrency: choice.currency, updateItems: storedItems(items) },
    updateSnapshot: {
      ...snapshotOf(choice, sub.planSnapshot),
      chargeType: snapshotChargeType[direction === 'downgrade' ? 'downgrade' : 'upgrade'],
    },
  };
}

function keptPrice({ items, currency }: Subscription, wanted: string, item: Item): Item {
  const sold = itemsOf(items).find(({ key, planId }) => key === item.key && planId === item.planId);
  return sold && currency === wanted ? { ...item, unitAmount: sold.unitAmount } : item;
}

/** The subscription after an update, in the same period. */
export const updated = <S extends Subscription>(sub: S, update: Update): S => ({
  ...sub,
  ...{ planId: update.updatePlanId, quantity: update.updateQuantity, amount: update.updateAmount },
  ...{ currency: update.updateCurrency, planSnapshot: update.updateSnapshot, items: update.updateItems },
});

/** The subscription in a new series of periods that begins at `start`; its first one is paid. */
export const restarted = <S extends Subscription>(sub: S, { start, end }: { start: number; end: number }): S => ({
  ...sub,
  ...{ anchor: start, periodNo: 1, currentPeriodStart: start, currentPeriodEnd: end, currentPeriodPaid: 1 },
});

/**
 * The subscription after a change at the end of its current period. Another interval counts its periods from there.
 */
export function deferred<S extends Subscription>(sub: S, update: Update): S {
  const after = updated(sub, update);
  const [from, to] = [intervalOf(planOf(sub)), intervalOf(planOf(after))];
  if (from.unit === to.unit && from.count === to.count) return after;
  return { ...after, anchor: sub.currentPeriodEnd, periodNo: 0 };
}

/** True if lines of a document sell what the subscription sells, at its prices. */
export function sells({ items }: Subscription, lines: readonly SellingLine[]): boolean {
  const sold = lines.filter(({ itemKey, sourceLineId }) => sourceLineId === '' && /^(plan$|addon:)/.test(itemKey));
  const isSold = (item: StoredItem) =>
    sold.some(
      line =>
        line.itemKey === item.key &&
        line.planId === item.planId &&
        line.unitAmountExcludingTax * BigInt(line.quantity) === BigInt(item.unitAmount) * BigInt(item.quantity),
    );
  return sold.length === items.length && items.every(isSold);
}

interface SellingLine {
  itemKey: string;
  sourceLineId: string;
  planId: number;
  unitAmountExcludingTax: bigint;
  quantity: number;
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
