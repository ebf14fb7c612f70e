import type { Plan } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Bill, BillDiscount } from '../../invoicing/composed/domain/bill.js';
import { common } from '../domain/bill.js';
import { priceIn } from '../domain/items.js';
import type { Subscription } from '../domain/subscription.js';

/** A one-time add-on as a request orders it. */
export interface OnetimeOrder {
  addon: Plan;
  quantity: number;
  /** 0 for that of the subscription. */
  taxPercentage: number;
  discount?: Extract<BillDiscount, { is: 'terms' }>;
}

/** The bill of a one-time add-on, at its price of now. Throws what `priceIn` does. */
export function onetimeBill(sub: Subscription, order: OnetimeOrder, moment: number): Bill {
  const { addon, quantity, discount } = order;
  const { id: planId, planName: name, description } = addon;
  const item = { kind: 'onetimeAddon', planId, plan: addon, name, description, quantity, stretch: null } as const;
  return {
    ...common(sub, moment),
    ...(order.taxPercentage > 0 && { taxPercentage: order.taxPercentage }),
    reason: 'onetime',
    name: 'OneTimeAddonPurchase',
    promo: { apply: false, cap: 0 },
    period: { kind: '', start: sub.currentPeriodStart, end: sub.currentPeriodEnd },
    items: [{ ...item, key: `onetime:${planId}`, unitAmount: priceIn(addon, sub.currency, addon.amount) }],
    ...(discount && { discount }),
  };
}

interface DiscountInput {
  discountCode: string;
  discountAmount: number;
  discountPercentage: number;
}

/** The discount of a request. Throws Rejected `invalid_parameters`, for a code too: codes cover no one-time add-ons. */
export function onetimeDiscount({
  discountCode,
  discountAmount,
  discountPercentage,
}: DiscountInput): OnetimeOrder['discount'] {
  if (discountCode !== '') throw invalid('/discountCode', 'covers plans, recurring add-ons and usage only');
  if (discountAmount > 0 && discountPercentage > 0) {
    throw invalid('/discountPercentage', 'has no place beside discountAmount');
  }
  if (discountAmount > 0) return { is: 'terms', code: '', terms: { kind: 'fixed', amount: BigInt(discountAmount) } };
  if (discountPercentage === 0) return undefined;
  return { is: 'terms', code: '', terms: { kind: 'percentage', percentage: discountPercentage } };
}
