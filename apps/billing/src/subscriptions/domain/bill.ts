import type { Plan } from '@recur/contracts';
import { boundary } from '@recur/kernel';
import type { Bill, BillDiscount, BillItem, SoldLine } from '../../invoices/domain/items.js';
import type { LineKind } from '../../pricing/discount.js';
import { quantityDerivation } from '../../pricing/explain.js';
import { chargePart, type Stretch } from '../../pricing/proration.js';
import { carriedItem } from './carried.js';
import { creditItem, sellsAt } from './change-bill.js';
import { intervalOf, itemsOf, PLAN_KEY } from './items.js';
import type { Period } from './periods.js';
import { changeText, effectiveIn } from './price-entry.js';
import { planOf, type Subscription } from './subscription.js';

// The composer's input for the first invoice and for those of the cycle. Nothing else computes an amount.

/** Choices of a create or a renewal beyond the subscription itself. */
export interface FirstTerms {
  discount?: BillDiscount;
  product?: { name: string; description: string };
  promo?: Bill['promo'];
}

/** The bill of the first period: create_preview, create_submit and renew. */
export function firstBill(sub: Subscription, period: Period, terms: FirstTerms, moment: number): Bill {
  const items = period.kind === 'free' ? [] : periodItems(sub, period, terms.product);
  return {
    ...common(sub, moment),
    reason: 'create',
    name: 'SubscriptionCreate',
    period: { kind: period.kind, start: period.start, end: period.end },
    items,
    ...(terms.discount && { discount: terms.discount }),
    ...(terms.promo && { promo: terms.promo }),
  };
}

/**
 * The bill of a later period: the cycle and preview_subscription_next_invoice. `others` are carried lines, late usage and
 * usage of the period before, in that order; carried lines come first on the invoice, usage after the fees. `replaces` is an
 * open invoice in whose place it comes.
 */
export function cycleBill(
  sub: Subscription,
  period: Period,
  others: readonly BillItem[],
  moment: number,
  replaces = '',
): Bill {
  const carried = others.filter(({ kind }) => kind === 'carried');
  const usage = others.filter(({ kind }) => kind !== 'carried');
  const { discount } = sub;
  const fees = period.kind === 'free' ? [] : periodItems(sub, period);
  return {
    ...common(sub, moment),
    reason: period.kind === 'trial' ? 'trialStep' : 'cycle',
    name: 'SubscriptionCycle',
    period: { kind: period.kind, start: period.start, end: period.end },
    items: [...carried, ...fees, ...usage],
    ...(discount && { discount: boundDiscount(discount, replaces) }),
  };
}

const boundDiscount = (
  { discountId, code, waitingUseId }: NonNullable<Subscription['discount']>,
  replaces: string,
): BillDiscount =>
  waitingUseId > 0
    ? { is: 'waiting', discountId, code, useId: waitingUseId }
    : { is: 'bound', discountId, code, replaces };

/** Fields of every bill of a subscription. */
export const common = (sub: Subscription, moment: number) => ({
  subscriptionId: sub.subscriptionId,
  userId: sub.userId,
  currency: sub.currency,
  moment,
  taxPercentage: sub.taxPercentage,
  vatNumber: sub.vatNumber,
  countryCode: sub.countryCode,
  snapshot: sub.planSnapshot,
  anchor: sub.anchor,
  trialEnd: sub.trialEnd,
  mainPlan: planOf(sub),
});

/**
 * Fees of a period: the trial price of the plan; or plan and add-ons in full, or for a stub in part. A line at a price that
 * changed with the period names both.
 */
export function periodItems(sub: Subscription, period: Period, product?: FirstTerms['product']): BillItem[] {
  const { start, end, kind } = period;
  if (kind === 'trial') return trialItems(sub, period, product);
  const full: Stretch = { start, end: boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) };
  return itemsOf(sub.items).map(({ key, planId, quantity, unitAmount }): BillItem => {
    const plan = planIn(sub, planId);
    const named = key === PLAN_KEY && product?.name ? product : undefined;
    const line = {
      key,
      kind: (key === PLAN_KEY ? 'plan' : 'addon') as LineKind,
      planId,
      plan,
      name: named?.name ?? plan.planName,
      description: named?.description ?? plan.description,
      unitAmount,
      quantity,
      stretch: { start, end },
    };
    if (kind !== 'stub') return withPriceBefore(sub, line, start);
    const { amount, derivation } = chargePart({ unitAmount, quantity }, { start, end }, full);
    const shown = `${quantity} × ${line.name}`;
    const part = { ...line, unitAmount: amount, quantity: 1, derivation, description: line.description || shown };
    return withPriceBefore(sub, part, start);
  });
}

/** A line whose price changed with its period, with the price before. */
function withPriceBefore(sub: Subscription, line: BillItem, start: number): BillItem {
  const entry = effectiveIn(sub.priceChanges, line.planId, start);
  if (!entry) return line;
  const { formula, inputs } = line.derivation ?? quantityDerivation(line);
  return {
    ...line,
    description: [line.description, changeText(entry, sub)].filter(Boolean).join('. '),
    derivation: { formula, inputs: { ...inputs, previousUnitAmount: entry.oldUnitAmount } },
  };
}

function trialItems(sub: Subscription, { start, end, step = 0 }: Period, product?: FirstTerms['product']): BillItem[] {
  const trial = sub.multiTrial?.steps[step];
  if (!trial || trial.price === 0) return [];
  const plan = planOf(sub);
  const unitAmount = BigInt(trial.price);
  const name = product?.name || trial.name || plan.planName;
  return [
    {
      key: PLAN_KEY,
      kind: 'plan',
      planId: plan.id,
      plan,
      name,
      description: product?.description || plan.description,
      unitAmount,
      quantity: sub.quantity,
      stretch: { start, end },
    },
  ];
}

function planIn({ subscriptionId, planSnapshot }: Subscription, planId: number): Plan {
  const addon = planSnapshot.addons.find(({ addonPlan }) => addonPlan?.id === planId)?.addonPlan;
  const plan = planSnapshot.plan?.id === planId ? planSnapshot.plan : addon;
  if (!plan) throw new Error(`subscription ${subscriptionId} has no plan ${planId}`);
  return plan;
}

/** When the usage of a subscription that ends at a second is over: that second counts, since a test clock stands still. */
export const lastUsageEnd = ({ currentPeriodEnd }: Pick<Subscription, 'currentPeriodEnd'>, at: number): number =>
  Math.min(at + 1, currentPeriodEnd);

/** The end of a subscription. */
export interface Ending {
  /** Unix second at which it ends. */
  at: number;
  /** End of the current period. */
  periodEnd: number;
  /** True to credit the unused time of the current period. */
  prorate: boolean;
  /** True to bill the usage since the period's start on the same document. */
  invoiceNow: boolean;
  sold: readonly SoldLine[];
  /** Charges for usage since the period's start, and lines carried so far. */
  usage: readonly BillItem[];
}

/** Lines of an ending, what ends, and usage that is not billed. */
export interface LastLines {
  items: BillItem[];
  ended: SoldLine[];
  dropped: BillItem[];
}

/**
 * The lines of an ending. A next period that is paid is credited in full, whatever is asked; the current one where it is
 * to be prorated. Usage is billed at once, or dropped.
 */
export function lastLines({ at, periodEnd, prorate, invoiceNow, sold, usage }: Ending): LastLines {
  const open = sold.filter(line => sellsAt(line, at));
  const ended = open.filter(({ stretch }) => prorate || stretch.start >= periodEnd);
  const credits = ended.map(line => creditItem(line, at));
  return {
    items: invoiceNow ? [...credits, ...usage] : credits,
    ended,
    dropped: invoiceNow ? [] : [...usage],
  };
}

/** `usage`: usage alone, of a cancelled invoice that is not made again, or what came before the grace of an end was over. */
export type LastKind = 'last' | 'usage';

/** The last bill of a subscription. Carried lines come first. */
export const lastBill = (sub: Subscription, items: readonly BillItem[], at: number, kind: LastKind): Bill => ({
  ...common(sub, at),
  reason: kind,
  name: 'SubscriptionCancel',
  period: { kind: '', start: sub.currentPeriodStart, end: at },
  items: [...sub.carried.map(carriedItem), ...items],
});
