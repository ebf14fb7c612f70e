import type { createSubscription, In } from '@recur/contracts';
import type { Settings } from '../../discounts/domain/discount.js';
import type { BillDiscount } from '../../invoicing/composed/domain/bill.js';

/** A discount of a request: a code of its own, bound to the subscription. */
export function externalTerms(
  given: NonNullable<In<typeof createSubscription>['discount']>,
): Extract<BillDiscount, { is: 'external' }> {
  const { recurring, discountAmount, discountPercentage, cycleLimit, endTime, metadata } = given;
  const fixed = discountAmount > 0;
  const settings: Partial<Settings> = {
    billingType: recurring ? 'recurring' : 'onetime',
    discountType: fixed ? 'fixedAmount' : 'percentage',
    amount: BigInt(discountAmount),
    percentage: discountPercentage,
    cycleLimit,
    endTime,
    metadata,
  };
  const terms = fixed
    ? ({ kind: 'fixed', amount: BigInt(discountAmount) } as const)
    : ({ kind: 'percentage', percentage: discountPercentage } as const);
  return { is: 'external', settings, terms, recurring };
}
