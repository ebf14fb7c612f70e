import {
  discountBillingType,
  discountPlanApplyType,
  discountType,
  discountUserScope,
  type editDiscount,
  type In,
} from '@recur/contracts';
import type { Settings } from './domain/discount.js';

type Input = Omit<Partial<In<typeof editDiscount>>, 'id'>;

/** The settings that an input gives; those that it leaves out are absent. */
export function settingsOf(input: Input): Partial<Settings> {
  const { name, currency, cycleLimit, startTime, endTime, quantity, userLimit, upgradeOnly, advance } = input;
  const { planIds, metadata, discountAmount } = input;
  const given: { [K in keyof Settings]: Settings[K] | undefined } = {
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
    billingType: named(discountBillingType, input.billingType),
    discountType: named(discountType, input.discountType),
    amount: discountAmount === undefined ? undefined : BigInt(discountAmount),
    percentage: input.discountPercentage,
    userScope: named(discountUserScope, input.userScope),
    upgradeLongerOnly: input.upgradeLongPlanOnly,
    planApply: named(discountPlanApplyType, input.planApplyType),
    planGroup: input.planApplyGroup,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The name of a code, which the contract has checked. */
const named = <T extends Readonly<Record<string, number>>>(table: T, code: number | undefined) =>
  Object.keys(table).find(name => table[name] === code) as (keyof T & string) | undefined;
