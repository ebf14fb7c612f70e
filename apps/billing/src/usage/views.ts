import * as contract from '@recur/contracts';
import { type PricedStep, pricedSteps, type UsagePrice, usageAmount, usagePrice } from '../pricing/usage.js';
import { type Aggregation, isGauge } from './domain/aggregation.js';
import { chargedOn } from './domain/billing.js';
import type { KeptPrice } from './domain/counter.js';
import type { PlanTerms } from './domain/subscription.js';
import type { Adjustment, UsageEvent } from './tables.js';

const emptyLimit = contract.emptyOf(contract.UserHistoryMetricLimit);
const emptyPrice = contract.emptyOf(contract.MetricPlanCharge);
const emptyStep = contract.emptyOf(contract.MetricPlanChargeStep);

/** Facts that an event's view needs beside its row. */
export interface EventParts {
  periodStart: number;
  periodEnd: number;
  /** The id under which it is billed: of an invoice, or of `unbilledIds`; '' for none yet. */
  billedOn: string;
  charge: contract.EventMetricCharge | null;
}

export const eventView = (event: UsageEvent, parts: EventParts): contract.MerchantMetricEvent => ({
  id: event.id,
  merchantId: event.merchantId,
  userId: event.userId,
  metricId: event.metricId,
  externalEventId: event.externalEventId,
  aggregationPropertyData: event.properties,
  aggregationPropertyInt: Number(event.value),
  aggregationPropertyString: event.uniqueId,
  ...chargedOn(parts.billedOn),
  createTime: event.createTime,
  eventTime: event.eventTime,
  eventCharge: parts.charge,
  metricLimit: Number(event.metricLimit),
  used: Number(event.used),
  subscriptionIds: event.subscriptionId,
  subscriptionPeriodStart: parts.periodStart,
  subscriptionPeriodEnd: parts.periodEnd,
});

/** The price of an event: by how much it raised the price of its interval; 0 where values stand instead of accruing. */
export function eventChargeView(
  kept: KeptPrice,
  { currency, aggregation }: { currency: string; aggregation: Aggregation },
  { used, value }: Pick<UsageEvent, 'used' | 'value'>,
): contract.EventMetricCharge {
  const price = usagePrice(kept.charge, kept.planId);
  const [before, after] = [usageAmount(price, isGauge(aggregation) ? used : used - value), usageAmount(price, used)];
  const last = pricedSteps(price, used).at(-1);
  return {
    chargeAmount: Number(after - before),
    chargePricing: priceView(kept),
    currency,
    currentValue: Number(used),
    graduatedStep: tierView(kept, price, used),
    planId: kept.planId,
    totalChargeAmount: Number(after),
    unitAmount: Number(last?.price.amount ?? 0n),
  };
}

export const priceView = ({ charge }: KeptPrice): contract.MetricPlanCharge => ({
  ...emptyPrice,
  ...charge,
  standardAmountDecimal: charge.standardAmountDecimal ?? '',
  graduatedAmounts: charge.graduatedAmounts.map(tier => ({
    ...emptyStep,
    ...tier,
    perAmountDecimal: tier.perAmountDecimal ?? '',
  })),
});

/** The tier that `used` has reached; null with a standard price, or with none. */
export function tierView(kept: KeptPrice, price: UsagePrice, used: bigint): contract.MetricPlanChargeStep | null {
  if (!price.graduated) return null;
  return priceView(kept).graduatedAmounts[pricedSteps(price, used).length - 1] ?? null;
}

/** The steps of a price, as lines of an invoice line and of the usage operations. */
export const stepView = ({
  step,
  units,
  price,
  flatAmount,
  amount,
}: PricedStep): contract.InvoiceLineMetricChargeLine => ({
  step,
  quantity: Number(units),
  unitAmount: Number(price.amount),
  flatAmount: Number(flatAmount),
  amount: Number(amount),
});

export const adjustmentView = (adjustment: Adjustment): contract.QuotaAdjustment => ({
  id: adjustment.id,
  adjustmentTime: adjustment.createTime,
  merchantMemberId: adjustment.memberId,
  merchantMemberEmail: adjustment.memberEmail,
  previousPeriodLimit: Number(adjustment.previousLimit),
  previousPeriodUsed: Number(adjustment.previousUsed),
  quotaAmount: Number(adjustment.amount),
  quotaType: adjustment.quotaType,
  reason: adjustment.reason,
});

/** The limit of a metric: the plans that grant it, and what was carried over and adjusted. */
export const limitView = (
  metric: contract.MerchantMetric,
  userId: number,
  { total, terms, adjustments }: { total: bigint; terms: readonly PlanTerms[]; adjustments: readonly Adjustment[] },
): contract.UserHistoryMetricLimit => ({
  ...emptyLimit,
  MerchantId: metric.merchantId,
  MetricId: metric.id,
  UserId: userId,
  TotalLimit: Number(total),
  type: metric.type,
  aggregationType: metric.aggregationType,
  aggregationProperty: metric.aggregationProperty,
  code: metric.code,
  metricName: metric.metricName,
  PlanLimits: terms.flatMap(({ planId, quantity, limits }) =>
    limits
      .filter(({ metricId }) => metricId === metric.id)
      .map(({ metricId, metricLimit }) => ({
        id: 0,
        merchantId: metric.merchantId,
        metricId,
        metricLimit,
        planId,
        quantity,
        createTime: 0,
        gmtModify: 0,
        merchantMetric: metric,
      })),
  ),
  quotaAdjustments: adjustments.map(adjustmentView),
});
