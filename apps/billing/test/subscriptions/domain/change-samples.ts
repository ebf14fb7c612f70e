import type { Interval } from '@recur/kernel';
import type { CreditableLine, InvoiceItem } from '../../../src/invoices/domain/items.js';
import { type DiscountTerms, isDiscountable } from '../../../src/pricing/discount.js';
import { type Composition, priceLines } from '../../../src/pricing/price.js';
import type { ServicePeriod } from '../../../src/pricing/proration.js';
import type { TaxRate } from '../../../src/pricing/tax.js';
import type { PaidPeriod } from '../../../src/subscriptions/domain/change-items.js';
import type { Terms } from '../../../src/subscriptions/domain/changes.js';
import type { ShownItem } from '../../../src/subscriptions/domain/items-to-bill.js';
import { rate } from '../../pricing/samples.js';

export const day = 86_400;
export const month: Interval = { unit: 'month', count: 1 };
/** Thirty days from 0. */
export const thirtyDays: PaidPeriod = { start: 0, end: 30 * day, full: { start: 0, end: 30 * day } };

export const dates = (start: string, end: string): ServicePeriod => ({
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
  items: readonly InvoiceItem[],
  { tax = rate(0), discount }: { tax?: TaxRate; discount?: DiscountTerms } = {},
  invoiceId = 'in_1',
): CreditableLine[] {
  const { lines } = calculated(items, { tax, ...(discount && { discount }) });
  return items.flatMap((item, i) => {
    const line = lines[i];
    if (!line || item.kind === 'credit' || !item.period) return [];
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
        period: item.period,
        net: line.net,
        creditedNet: 0n,
        discount: line.discountAmount,
        promo: { credits: 0n, refunded: 0n, share: 0n, total: 0n },
        rate: line.rate,
      },
    ];
  });
}

/** A document of items: credits at their own rate, the others at `tax`. */
export function calculated(
  items: readonly InvoiceItem[],
  { tax = rate(0), discount }: { tax?: TaxRate; discount?: DiscountTerms } = {},
): Composition {
  return priceLines(
    items.map(item => ({
      unitAmountExcludingTax: item.unitAmount,
      quantity: item.quantity,
      rate: item.source?.rate ?? tax,
      discountable: isDiscountable(item.kind),
    })),
    discount ? { discount } : {},
  );
}

export const amountsOf = (items: readonly InvoiceItem[]): bigint[] =>
  items.map(({ unitAmount, quantity }) => unitAmount * BigInt(quantity));
