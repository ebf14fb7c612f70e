import * as contract from '@recur/contracts';
import {
  discountBillingType,
  discountPlanApplyType,
  discountType,
  discountUserScope,
  type editDiscount,
  type In,
} from '@recur/contracts';
import { type Discount, type DiscountSettings, statusAt } from './domain/discount.js';
import type { DiscountUse } from './domain/generated.js';
import type { GeneratedCode } from './tables.js';
import { withSeenCode } from './uses.js';

const emptyDiscount = contract.emptyOf(contract.Discount);
const emptyUse = contract.emptyOf(contract.MerchantUserDiscountCodeDetail);

/** A discount as the API shows it at a time, which decides whether it has expired. */
export function discountView(discount: Discount, now: number): contract.Discount {
  const { discountId, merchantId, code, name, currency, cycleLimit, startTime, endTime, createTime } = discount;
  const { quantity, userLimit, upgradeOnly, upgradeLongerOnly, advance, planIds, planGroup, metadata } = discount;
  return {
    ...emptyDiscount,
    merchantId,
    code,
    name,
    currency,
    cycleLimit,
    startTime,
    endTime,
    createTime,
    quantity,
    userLimit,
    upgradeOnly,
    upgradeLongerOnly,
    advance,
    planIds,
    metadata,
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

const emptyChild = contract.emptyOf(contract.MerchantBatchDiscountCode);

/** A template with how many of its codes there are and are used. */
export function discountTemplateView(template: Discount, now: number): contract.MerchantBatchDiscountCodeTemplate {
  const { userIds: _, ...shown } = discountView(template, now);
  const { code: codePrefix, generated: childCodeCount, uses: usedChildCodeCount } = template;
  return { ...shown, codePrefix, childCodeCount, usedChildCodeCount, type: contract.discountKind.template };
}

/** A generated code, and its use. */
export function generatedView(
  template: Discount,
  generated: GeneratedCode,
  now: number,
  {
    use,
    plan,
    user,
  }: { use?: DiscountUse | undefined; plan?: contract.Plan | undefined; user?: contract.User | undefined },
): contract.MerchantBatchDiscountCode {
  const { userIds: _, ...shown } = discountView(withSeenCode(template, generated), now);
  const { codeId: id, createTime } = generated;
  const ofTemplate = { codePrefix: template.code, parentTemplateCode: template.code };
  const of = { ...emptyChild, ...shown, ...ofTemplate, id, createTime, type: contract.discountKind.generated };
  if (!use) return of;
  const { invoiceId, paymentId, subscriptionId, planId, createTime: redeemedAt } = use;
  const redeemed = { isRedeemed: true, redeemedAt, redeemedByEmail: user?.email ?? '' };
  return { ...of, ...redeemed, invoiceId, paymentId, subscriptionId, planId, planName: plan?.planName ?? '' };
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
    merchantId,
    code,
    currency,
    createTime,
    subscriptionId,
    invoiceId,
    paymentId,
    plan,
    user,
    id: useId,
    status: contract.userDiscountStatus[use.status],
    applyAmount: Number(use.amount),
    recurring: contract.noYes[use.counted ? 'no' : 'yes'],
  };
}

type Input = Omit<Partial<In<typeof editDiscount>>, 'id'>;

/** The settings that an input gives; those that it leaves out are absent. */
export function discountSettings(input: Input): Partial<DiscountSettings> {
  const { name, currency, cycleLimit, startTime, endTime, quantity, userLimit, upgradeOnly, advance } = input;
  const { planIds, metadata, discountAmount } = input;
  const given: { [K in keyof DiscountSettings]: DiscountSettings[K] | undefined } = {
    name,
    currency,
    cycleLimit,
    startTime,
    endTime,
    quantity,
    userLimit,
    upgradeOnly,
    advance,
    planIds,
    metadata,
    billingType: nameOfCode(discountBillingType, input.billingType),
    discountType: nameOfCode(discountType, input.discountType),
    amount: discountAmount === undefined ? undefined : BigInt(discountAmount),
    percentage: input.discountPercentage,
    userScope: nameOfCode(discountUserScope, input.userScope),
    upgradeLongerOnly: input.upgradeLongPlanOnly,
    planApply: nameOfCode(discountPlanApplyType, input.planApplyType),
    planGroup: input.planApplyGroup,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The name of a code, which the contract has checked. */
const nameOfCode = <T extends Readonly<Record<string, number>>>(table: T, code: number | undefined) =>
  Object.keys(table).find(name => table[name] === code) as (keyof T & string) | undefined;
