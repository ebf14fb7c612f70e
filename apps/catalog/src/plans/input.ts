import { type editPlan, type In, type newPlan, noYes, planType } from '@recur/contracts';
import { nameOfCode } from '../codes.js';
import { sortNameOf } from '../columns.js';
import { usVatConfigOf } from '../us-vat.js';
import type { PlanRow } from './tables.js';
import { planView } from './views.js';

export type NewPlan = In<typeof newPlan>;

/** Input that would create the plan as it is, overridden by `sent`. */
export function asAsked(plan: PlanRow, sent: Omit<In<typeof editPlan>, 'planId'>): NewPlan {
  const { addonIds, onetimeAddonIds, productName, productDescription } = plan;
  const { usVATConfig, autoChargeConfig, ...view } = planView(plan);
  const stored = { ...view, addonIds, onetimeAddonIds, productName, productDescription };
  // stored values were validated when they were sent, so the narrower types of the input hold
  const configs = { usVATConfig: usVATConfig ?? undefined, autoChargeConfig: autoChargeConfig ?? undefined };
  return { ...stored, ...configs, ...sent } as NewPlan;
}

/**
 * Columns of a plan from an input. `productName` and `productDescription` are texts of the plan, whatever its productId:
 * products are created and renamed by product/new and product/edit only.
 */
export const rowOf = (input: NewPlan) => ({ ...described(input), ...priced(input), ...bound(input) });

/** Names, texts and presentation. */
function described(input: NewPlan) {
  const { productId, planName, internalName, description, externalPlanId, homeUrl, imageUrl, metadata } = input;
  const { productName, productDescription, checkoutTemplateId } = input;
  return {
    productId,
    planName,
    sortName: sortNameOf(planName),
    internalName,
    description,
    externalPlanId,
    homeUrl,
    imageUrl,
    metadata,
    productName,
    productDescription,
    checkoutTemplateId,
  };
}

/** Price, interval, trial and metrics. */
function priced(input: NewPlan) {
  const { currency, intervalUnit, intervalCount, trialDemand, gasPayer, multiCurrencies, multiTrials } = input;
  const { metricLimits, metricMeteredCharge, metricRecurringCharge } = input;
  return {
    type: nameOfCode(planType, input.type),
    currency,
    amount: BigInt(input.amount),
    compareAtAmount: BigInt(input.compareAtAmount),
    intervalUnit,
    intervalCount,
    trialAmount: BigInt(input.trialAmount),
    trialDurationSeconds: input.trialDurationTime,
    trialDemand,
    cancelAtTrialEnd: input.cancelAtTrialEnd === noYes.yes,
    disableAutoCharge: input.disableAutoCharge === noYes.yes,
    gasPayer,
    metricLimits,
    metricMeteredCharge,
    metricRecurringCharge,
    multiCurrencies,
    multiTrials,
    autoChargeConfig: input.autoChargeConfig ?? null,
    usVatConfig: usVatConfigOf(input.usVATConfig),
  };
}

/** References to other plans, without duplicates. */
function bound({ autoUpgradePlanId, addonIds, onetimeAddonIds }: NewPlan) {
  return {
    autoUpgradePlanId,
    addonIds: [...new Set(addonIds)],
    onetimeAddonIds: [...new Set(onetimeAddonIds)],
  };
}
