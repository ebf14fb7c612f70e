import * as contract from '@recur/contracts';
import type { MetricRow } from '../metrics/tables.js';
import { metricView } from '../metrics/views.js';
import type { MetricCharge } from './domain/plan.js';
import type { PlanMetricRow, PlanRow } from './tables.js';

const emptyPlan = contract.emptyOf(contract.Plan);

export function planView(plan: PlanRow): contract.Plan {
  return {
    ...emptyPlan,
    id: plan.id,
    merchantId: plan.merchantId,
    productId: plan.productId,
    createTime: plan.createTime,
    autoUpgradePlanId: plan.autoUpgradePlanId,
    checkoutTemplateId: plan.checkoutTemplateId,
    intervalUnit: plan.intervalUnit,
    intervalCount: plan.intervalCount,
    trialDurationTime: plan.trialDurationSeconds,
    amount: Number(plan.amount),
    compareAtAmount: Number(plan.compareAtAmount),
    trialAmount: Number(plan.trialAmount),
    cancelAtTrialEnd: yesNo(plan.cancelAtTrialEnd),
    disableAutoCharge: yesNo(plan.disableAutoCharge),
    publishStatus: contract.publishStatus[plan.publishStatus],
    status: contract.planStatus[plan.status],
    type: contract.planType[plan.type],
    currency: plan.currency,
    description: plan.description,
    planName: plan.planName,
    internalName: plan.internalName,
    externalPlanId: plan.externalPlanId,
    checkoutUrl: plan.checkoutUrl,
    homeUrl: plan.homeUrl,
    imageUrl: plan.imageUrl,
    gasPayer: plan.gasPayer,
    trialDemand: plan.trialDemand,
    bindingAddonIds: plan.addonIds.join(','),
    bindingOnetimeAddonIds: plan.onetimeAddonIds.join(','),
    metadata: plan.metadata,
    metricLimits: plan.metricLimits,
    metricMeteredCharge: plan.metricMeteredCharge.map(chargeView),
    metricRecurringCharge: plan.metricRecurringCharge.map(chargeView),
    multiCurrencies: plan.multiCurrencies,
    multiTrials: plan.multiTrials,
    autoChargeConfig: plan.autoChargeConfig,
    usVATConfig: plan.usVatConfig,
    priceChange: plan.priceChange,
  };
}

/** A usage price; those of older plans have no decimals. */
export const chargeView = (charge: MetricCharge): contract.MetricPlanCharge => ({
  ...charge,
  standardAmountDecimal: charge.standardAmountDecimal ?? '',
  graduatedAmounts: charge.graduatedAmounts.map(tier => ({ ...tier, perAmountDecimal: tier.perAmountDecimal ?? '' })),
});

const yesNo = (flag: boolean) => (flag ? contract.noYes.yes : contract.noYes.no);

/** A limit of a plan. `quantity` belongs to a subscription, so it is 0 here. */
export const limitView = (limit: PlanMetricRow, metric: MetricRow | undefined): contract.MetricPlanLimit => ({
  id: limit.id,
  merchantId: limit.merchantId,
  metricId: limit.metricId,
  metricLimit: limit.metricLimit,
  planId: limit.planId,
  quantity: 0,
  createTime: limit.createTime,
  gmtModify: limit.modifyTime,
  merchantMetric: metric ? metricView(metric) : null,
});
