import type { Interval } from '@recur/kernel';
import type { BillItem, SoldLine } from '../../../src/invoices/domain/items.js';
import { type DiscountTerms, isDiscountable } from '../../../src/pricing/discount.js';
import { type Composition, compose } from '../../../src/pricing/price.js';
import type { Stretch } from '../../../src/pricing/proration.js';
import type { TaxRate } from '../../../src/pricing/tax.js';
import type { PaidPeriod, ShownItem } from '../../../src/subscriptions/domain/change-bill.js';
import type { Terms } from '../../../src/subscriptions/domain/changes.js';
import { rate } from '../../pricing/samples.js';

export const day = 86_400;
export const month: Interval = { unit: 'month', count: 1 };
/** Thirty days from 0. */
export const thirtyDays: PaidPeriod = { start: 0, end: 30 * day, full: { start: 0, end: 30 * day } };

export const dates = (start: string, end: string): Stretch => ({
  start: Date.parse(`${start}T00:00:00Z`) / 1000,
  end: Date.parse(`${end}T00:00:00Z`) / 1000,
});

export function plan(unitAmount: bigint, quantity = 1, planId = 1): ShownItem {
  const name = `Plan ${planId}`;
  return { key: 'plan', kind: 'plan', planId, plan: null, name, description: '', unitAmount, quantity };
}

export function addon(planId: number, unitAmount: bigint, quantity = 1): ShownItem {
  return { ...plan(unitAmount, quantity, planId), key: `addon:${planId}`, kind: 'addon', name: `Add-on ${planId}` };
}

export const terms = (items: ShownItem[], over: Partial<Terms> = {}): Terms<ShownItem> => ({
  currency: 'EUR',
  interval: month,
  ...over,
  items,
});

/** Lines that a paid document leaves in force, after a discount. Tax is at the given rate. */
export function paidLines(
  items: readonly BillItem[],
  { tax = rate(0), discount }: { tax?: TaxRate; discount?: DiscountTerms } = {},
  invoiceId = 'in_1',
): SoldLine[] {
  const { lines } = composed(items, { tax, ...(discount && { discount }) });
  return items.flatMap((item, i) => {
    const line = lines[i];
    if (!line || item.kind === 'credit' || !item.stretch) return [];
    const { inputs } = item.derivation ?? { inputs: { unitAmount: Number(item.unitAmount), quantity: item.quantity } };
    return [
      {
        lineId: `${invoiceId}_${i + 1}`,
        invoiceId,
        key: item.key,
        planId: item.planId,
        plan: null,
        name: item.name,
        unitAmount: BigInt(inputs.unitAmount ?? 0),
        quantity: Number(inputs.quantity),
        stretch: item.stretch,
        net: line.net,
        creditedNet: 0n,
        discount: line.discountAmount,
        promo: { credits: 0n, share: 0n, total: 0n },
        rate: line.rate,
      },
    ];
  });
}

/** A document of items: credits at their own rate, the others at `tax`. */
export function composed(
  items: readonly BillItem[],
  { tax = rate(0), discount }: { tax?: TaxRate; discount?: DiscountTerms } = {},
): Composition {
  return compose(
    items.map(item => ({
      unitAmountExcludingTax: item.unitAmount,
      quantity: item.quantity,
      rate: item.source?.rate ?? tax,
      discountable: isDiscountable(item.kind),
    })),
    discount ? { discount } : {},
  );
}

export const amountsOf = (items: readonly BillItem[]): bigint[] =>
  items.map(({ unitAmount, quantity }) => unitAmount * BigInt(quantity));
