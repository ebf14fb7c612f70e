import {
  exponentOf,
  type MultiCurrencySnapshot,
  type Plan,
  type PlanSnapshot,
  planType,
  snapshotChargeType,
} from '@recur/contracts';
import type { Interval } from '@recur/kernel';
import { exchange, invalid, rateOf, sum } from '@recur/kernel';

/** Items that a subscription sells: its plan and recurring add-ons, with unit prices fixed in its currency. */
export interface Item {
  /** `plan` or `addon:<planId>`. */
  key: string;
  planId: number;
  quantity: number;
  /** Price of one unit for a full interval, in minor units of the subscription's currency. */
  unitAmount: bigint;
}

/** Items as they are stored: amounts as JSON numbers. */
export interface StoredItem extends Omit<Item, 'unitAmount'> {
  unitAmount: number;
}

export const PLAN_KEY = 'plan';
const addonKey = (planId: number): string => `addon:${planId}`;

export const storedItems = (items: readonly Item[]): StoredItem[] =>
  items.map(item => ({ ...item, unitAmount: Number(item.unitAmount) }));
export const itemsOf = (stored: readonly StoredItem[]): Item[] =>
  stored.map(item => ({ ...item, unitAmount: BigInt(item.unitAmount) }));

/** An add-on as a request names it. */
export interface AddonParam {
  addonPlanId: number;
  quantity: number;
}

/** The choice of a plan, its quantity and its add-ons, the latter by id. */
export interface Choice {
  plan: Plan;
  quantity: number;
  addons: readonly { plan: Plan; quantity: number }[];
  currency: string;
  /** Name and description of the main line, in place of the plan's. */
  product?: { name: string; description: string };
}

/** Interval of a plan. */
export const intervalOf = ({
  intervalUnit,
  intervalCount,
}: Pick<Plan, 'intervalUnit' | 'intervalCount'>): Interval => ({
  unit: (intervalUnit || 'month') as Interval['unit'],
  count: intervalCount || 1,
});

/** The items of a choice at the prices of now, plan first, then add-ons by id. Throws what `priceIn` does. */
export function itemsFor({ plan, quantity, addons, currency }: Choice): Item[] {
  return [
    { key: PLAN_KEY, planId: plan.id, quantity, unitAmount: fullPrice(plan, currency) },
    ...addons
      .toSorted((a, b) => a.plan.id - b.plan.id)
      .map(addon => ({
        key: addonKey(addon.plan.id),
        planId: addon.plan.id,
        quantity: addon.quantity,
        unitAmount: fullPrice(addon.plan, currency),
      })),
  ];
}

/** The price of a full interval. Throws Rejected for /currency too where the plan's usage has no price in it: it needs a rate. */
function fullPrice(plan: Plan, currency: string): bigint {
  const price = priceIn(plan, currency, plan.amount);
  const charges = plan.metricMeteredCharge.length + plan.metricRecurringCharge.length;
  if (currency !== plan.currency && charges > 0 && priceRule(plan, currency).exchangeRate <= 0) {
    throw invalid('/currency', `Plan ${plan.id} has no exchange rate from ${plan.currency} for its usage prices`);
  }
  return price;
}

/** Σ unit amount × quantity: the price of a full interval before discounts. */
export const itemsAmount = (items: readonly Item[]): bigint =>
  sum(items.map(({ unitAmount, quantity }) => unitAmount * BigInt(quantity)));

/**
 * An amount of a plan in a currency: itself in the plan's own, else converted once and rounded. A fixed amount of the
 * plan for the currency wins over its rate, but is of the full price only. Throws Rejected `invalid_parameters` for
 * /currency where the plan has no price in it.
 */
export function priceIn(plan: PricedPlan, currency: string, amount: number): bigint {
  if (currency === plan.currency) return BigInt(amount);
  const rule = priceRule(plan, currency);
  if (rule.fixedAmount > 0 && amount === plan.amount) return BigInt(rule.fixedAmount);
  if (amount === 0) return 0n;
  if (rule.exchangeRate <= 0) throw noPrice(plan, currency);
  return exchange(BigInt(amount), rateOf(rule.exchangeRate), exponentOf(plan.currency), exponentOf(currency));
}

/** A plan as far as its price in a currency depends on it. */
type PricedPlan = Pick<Plan, 'id' | 'currency' | 'amount' | 'multiCurrencies'>;

function priceRule(plan: PricedPlan, currency: string) {
  const rule = plan.multiCurrencies.find(entry => entry.currency === currency && !entry.disable);
  if (!rule) throw noPrice(plan, currency);
  return rule;
}

const noPrice = (plan: PricedPlan, currency: string) =>
  invalid('/currency', `Plan ${plan.id} has no price in ${currency}: its own currency is ${plan.currency}`);

/** The plans as they are sold, with the rates at which their prices were converted at `time`. */
export function snapshotOf({ plan, addons, currency }: Choice, time: number, previous?: PlanSnapshot): PlanSnapshot {
  return {
    addons: addons.map(addon => ({ addonPlan: addon.plan, quantity: addon.quantity })),
    autoCharge: plan.disableAutoCharge === 0,
    chargeType: snapshotChargeType.new,
    multiCurrencySnapshot: currencySnapshot([plan, ...addons.map(addon => addon.plan)], currency, time),
    plan,
    previousAddons: previous?.addons ?? [],
    previousPlan: previous?.plan ?? null,
  };
}

function currencySnapshot(plans: readonly Plan[], currency: string, time: number): MultiCurrencySnapshot | null {
  const foreign = plans.filter(plan => plan.currency !== currency);
  if (foreign.length === 0) return null;
  const rates = foreign.map(plan => {
    const { exchangeRate: rate, autoExchange } = priceRule(plan, currency);
    return { from: plan.currency, to: currency, rate, source: autoExchange ? 'table' : 'plan' };
  });
  const distinct = rates.filter(
    (entry, at) => rates.findIndex(other => other.from === entry.from && other.rate === entry.rate) === at,
  );
  return { chargeCurrency: currency, rates: distinct, time };
}

/** Throws Rejected `invalid_parameters` unless the plan can be subscribed to with these add-ons. */
export function assertChoice({ plan, addons }: Choice, planPath: string): void {
  if (plan.type !== planType.main) throw invalid(planPath, 'names an add-on: a subscription is to a main plan');
  const bound = new Set(plan.bindingAddonIds.split(',').map(Number));
  addons.forEach((addon, at) => {
    const path = `/addonParams/${at}/addonPlanId`;
    if (addon.plan.type !== planType.recurringAddon || !bound.has(addon.plan.id)) {
      throw invalid(path, `names a plan that is no recurring add-on of plan ${plan.id}`);
    }
  });
}

/** True for equal items: of the same plan, price and quantity. */
export const sameItem = (a: Item | undefined, b: Item | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.planId === b.planId &&
  a.unitAmount === b.unitAmount &&
  a.quantity === b.quantity;
