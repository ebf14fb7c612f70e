import { boundary } from '@recur/kernel';
import { type CreditableLine, type InvoiceItem, promoCreditsBack } from '../../invoices/domain/items.js';
import type { LineKind } from '../../pricing/discount.js';
import { quantityDerivation } from '../../pricing/explain.js';
import { chargePart, creditUnused, type ServicePeriod } from '../../pricing/proration.js';
import { type Item, intervalOf, itemsOf, PLAN_KEY } from './items.js';
import type { Period } from './periods.js';
import { changeText, effectiveIn } from './price-entry.js';
import { planOf, type Subscription, soldPlan } from './subscription.js';

// Items that a subscription is billed for: those of a period, in full or in part, and those of its end; `change-items` has those
// of a change.

/** How an order names its product, in place of the plan. */
export interface ProductText {
  name: string;
  description: string;
}

/**
 * Fees of a period: the trial price of the plan; or plan and add-ons in full, or for a stub in part. A line at a price that
 * changed with the period names both.
 */
export function periodItems(sub: Subscription, period: Period, product?: ProductText): InvoiceItem[] {
  const { start, end, kind } = period;
  if (kind === 'trial') return trialItems(sub, period, product);
  const full: ServicePeriod = { start, end: boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) };
  return itemsOf(sub.items).map(({ key, planId, quantity, unitAmount }): InvoiceItem => {
    const plan = soldPlan(sub, planId);
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
      period: { start, end },
    };
    if (kind !== 'stub') return withPriceBefore(sub, line, start);
    const { amount, derivation } = chargePart({ unitAmount, quantity }, { start, end }, full);
    const shown = `${quantity} × ${line.name}`;
    const part = { ...line, unitAmount: amount, quantity: 1, derivation, description: line.description || shown };
    return withPriceBefore(sub, part, start);
  });
}

/** A line whose price changed with its period, with the price before. */
function withPriceBefore(sub: Subscription, line: InvoiceItem, start: number): InvoiceItem {
  const entry = effectiveIn(sub.priceChanges, line.planId, start);
  if (!entry) return line;
  const { formula, inputs } = line.derivation ?? quantityDerivation(line);
  return {
    ...line,
    description: [line.description, changeText(entry, sub)].filter(Boolean).join('. '),
    derivation: { formula, inputs: { ...inputs, previousUnitAmount: entry.oldUnitAmount } },
  };
}

function trialItems(sub: Subscription, { start, end, step = 0 }: Period, product?: ProductText): InvoiceItem[] {
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
      period: { start, end },
    },
  ];
}

/** When the usage of a subscription that ends at a second is over: that second counts, since a test clock stands still. */
export const lastUsageEnd = ({ currentPeriodEnd }: Pick<Subscription, 'currentPeriodEnd'>, at: number): number =>
  Math.min(at + 1, currentPeriodEnd);

/** The end of a subscription. */
export interface EndOfSubscription {
  /** Unix second at which it ends. */
  at: number;
  /** End of the current period. */
  periodEnd: number;
  /** True to credit the unused time of the current period. */
  prorate: boolean;
  /** True to bill the usage since the period's start on the same document. */
  invoiceNow: boolean;
  sold: readonly CreditableLine[];
  /** Charges for usage since the period's start, and pending items so far. */
  usage: readonly InvoiceItem[];
}

/** Lines of an ending, what ends, and usage that is not billed. */
export interface FinalItems {
  items: InvoiceItem[];
  ended: CreditableLine[];
  dropped: InvoiceItem[];
}

/**
 * The lines of an ending. A next period that is paid is credited in full, whatever is asked; the current one where it is
 * to be prorated. Usage is billed at once, or dropped.
 */
export function finalItems({ at, periodEnd, prorate, invoiceNow, sold, usage }: EndOfSubscription): FinalItems {
  const open = sold.filter(line => isCreditableAt(line, at));
  const ended = open.filter(({ period }) => prorate || period.start >= periodEnd);
  const credits = ended.map(line => creditItem(line, at));
  return {
    items: invoiceNow ? [...credits, ...usage] : credits,
    ended,
    dropped: invoiceNow ? [] : [...usage],
  };
}

/** Item of a subscription with what a line shows of it. */
export interface ShownItem extends Item {
  kind: 'plan' | 'addon';
  plan: InvoiceItem['plan'];
  name: string;
  description: string;
}

/** An item for the whole of a period. */
export const fullItem = (item: ShownItem, period: ServicePeriod): InvoiceItem => ({
  key: item.key,
  kind: item.kind,
  planId: item.planId,
  plan: item.plan,
  name: item.name,
  description: item.description,
  unitAmount: item.unitAmount,
  quantity: item.quantity,
  period,
});

/** An item for part of a period, with quantity 1 and the prorated amount. */
export function partItem(item: ShownItem, part: ServicePeriod, full: ServicePeriod): InvoiceItem {
  const { amount, derivation } = chargePart(item, part, full);
  return {
    ...fullItem(item, part),
    description: `Remaining time of ${item.quantity} × ${item.name}`,
    unitAmount: amount,
    quantity: 1,
    derivation,
  };
}

/**
 * The unused time of a line from `at` on, as an item: at its own rate, naming its line. At most what is left of its net.
 */
export function creditItem(line: CreditableLine, at: number): InvoiceItem {
  const start = Math.max(at, line.period.start);
  const unused = { start, end: line.period.end };
  const { amount, derivation } = creditUnused(line, line.period, start);
  const promoCredits = promoCreditsBack(line, secondsIn(unused), secondsIn(line.period));
  return {
    key: line.key,
    kind: 'credit',
    planId: line.planId,
    plan: line.plan,
    name: line.name,
    description: `Unused time of ${line.quantity} × ${line.name}`,
    unitAmount: amount,
    quantity: 1,
    period: unused,
    derivation:
      promoCredits === 0n
        ? derivation
        : { ...derivation, inputs: { ...derivation.inputs, promoCredits: Number(promoCredits) } },
    source: { lineId: line.lineId, invoiceId: line.invoiceId, rate: line.rate, promoCredits },
  };
}

/** True if a line still sells time at `at`. */
export const isCreditableAt = ({ period }: CreditableLine, at: number): boolean => period.end > at;

export const secondsIn = ({ start, end }: ServicePeriod): bigint => BigInt(end - start);
