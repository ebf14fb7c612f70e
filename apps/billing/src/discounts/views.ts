import * as contract from '@recur/contracts';
import { type Discount, statusAt } from './domain/discount.js';
import type { DiscountUse } from './domain/use.js';

const emptyDiscount = contract.emptyOf(contract.Discount);
const emptyUse = contract.emptyOf(contract.MerchantUserDiscountCodeDetail);

/** A discount as the API shows it at a time, which decides whether it has expired. */
export function discountView(discount: Discount, now: number): contract.Discount {
  const { discountId, merchantId, code, name, currency, cycleLimit, startTime, endTime, createTime } = discount;
  const { quantity, userLimit, upgradeOnly, upgradeLongerOnly, advance, planIds, planGroup, metadata } = discount;
  return {
    ...emptyDiscount,
    ...{ merchantId, code, name, currency, cycleLimit, startTime, endTime, createTime, quantity, userLimit },
    ...{ upgradeOnly, upgradeLongerOnly, advance, planIds, metadata },
    id: discountId,
    status: contract.discountStatus[statusAt(discount, now)],
    isDeleted: discount.deletedTime,
    billingType: contract.discountBillingType[discount.billingType],
    discountType: contract.discountType[discount.discountType],
    discountAmount: Number(discount.amount),
    discountPercentage: discount.percentage,
    userScope: contract.discountUserScope[discount.userScope],
    planApplyType: contract.discountPlanApplyType[discount.planApply],
    planApplyGroup: planGroup,
  };
}

export function discountDetailView(
  discount: Discount,
  now: number,
  plans: contract.Plan[],
): contract.MerchantDiscountCodeDetail {
  const { userIds: _, ...shown } = discountView(discount, now);
  const { quantity, uses } = discount;
  // a quantity that was lowered may be below the uses
  return { ...shown, plans, quantityUsed: uses, liveQuantity: Math.max(0, quantity - uses) };
}

export function discountUseView(
  use: DiscountUse,
  plan: contract.Plan | null,
  user: contract.User | null,
): contract.MerchantUserDiscountCodeDetail {
  const { useId, merchantId, code, currency, createTime, subscriptionId, invoiceId, paymentId } = use;
  return {
    ...emptyUse,
    ...{ merchantId, code, currency, createTime, subscriptionId, invoiceId, paymentId, plan, user },
    id: useId,
    status: contract.userDiscountStatus[use.status],
    applyAmount: Number(use.amount),
    recurring: contract.noYes[use.counted ? 'no' : 'yes'],
  };
}
