import { type editPlan, type In, type newPlan, noYes, planType } from '@recur/contracts';
import { type PlanRow, sortNameOf } from './tables.js';
import { named, planView, usVatConfigOf } from './views.js';

export type NewPlan = In<typeof newPlan>;

/** The input that would make the plan as it stands, and what is sent in place of that. */
export function asAsked(plan: PlanRow, sent: Omit<In<typeof editPlan>, 'planId'>): NewPlan {
  const { addonIds, onetimeAddonIds, productName, productDescription } = plan;
  const { usVATConfig, autoChargeConfig, ...view } = planView(plan);
  const stored = { ...view, addonIds, onetimeAddonIds, productName, productDescription };
  // what is stored was checked when it came, what is sent has been: units, payers and the like are what they may be
  const configs = { usVATConfig: usVATConfig ?? undefined, autoChargeConfig: autoChargeConfig ?? undefined };
  return { ...stored, ...configs, ...sent } as NewPlan;
}

/**
 * What an input says of a plan, as its row has it. The `productName` and `productDescription` that come with it are
 * texts of the plan, whatever its productId: they neither rename a product nor make one, since product/new and
 * product/edit do that and the plan's answer could not show it.
 */
export const rowOf = (input: NewPlan) => ({ ...described(input), ...priced(input), ...bound(input) });

/** What the plan is called and how it is shown. */
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

/** What is charged for it, and when. */
function priced(input: NewPlan) {
  const { currency, intervalUnit, intervalCount, trialDemand, gasPayer, multiCurrencies, multiTrials } = input;
  const { metricLimits, metricMeteredCharge, metricRecurringCharge } = input;
  return {
    type: named(planType, input.type),
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

/** The other plans that it names, each once. */
function bound({ autoUpgradePlanId, addonIds, onetimeAddonIds }: NewPlan) {
  return {
    autoUpgradePlanId,
    addonIds: [...new Set(addonIds)],
    onetimeAddonIds: [...new Set(onetimeAddonIds)],
  };
}
