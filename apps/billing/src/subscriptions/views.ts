import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import { entryView } from './domain/price-entry.js';
import type { MultiTrial, Subscription } from './domain/subscription.js';
import { subscriptions } from './tables.js';

const emptySubscription = contract.emptyOf(contract.Subscription);

/** A subscription as the API shows it. */
export function subscriptionView(sub: Subscription): contract.Subscription {
  const { subscriptionId, id, merchantId, userId, productId, planId, quantity, type, currency, timeZone } = sub;
  const { currentPeriodStart, currentPeriodEnd, unpaidUntil, trialEnd, firstPaidTime, gatewayId } = sub;
  const { cancelReason, dunningTime, latestInvoiceId, pendingUpdateId, taxPercentage, vatNumber } = sub;
  const { countryCode, metadata, parkedReason, returnUrl, createTime, externalSubscriptionId } = sub;
  return {
    ...emptySubscription,
    subscriptionId,
    id,
    merchantId,
    userId,
    productId,
    planId,
    quantity,
    type,
    currency,
    timeZone,
    currentPeriodStart,
    currentPeriodEnd,
    currentPeriodPaid: unpaidUntil || 1,
    trialEnd,
    firstPaidTime,
    gatewayId,
    cancelReason,
    dunningTime,
    latestInvoiceId,
    pendingUpdateId,
    taxPercentage,
    vatNumber,
    countryCode,
    metadata,
    parkedReason,
    returnUrl,
    createTime,
    externalSubscriptionId,
    addonData: addonParamsOf(sub).length === 0 ? '' : JSON.stringify(addonParamsOf(sub)),
    amount: Number(sub.amount),
    billingCycleAnchor: sub.anchor,
    cancelAtPeriodEnd: contract.noYes[sub.cancelAtPeriodEnd ? 'yes' : 'no'],
    cancelOrExpireTime: sub.cancelTime,
    defaultPaymentMethodId: sub.paymentMethodId,
    gasPayer: sub.planSnapshot.plan?.gasPayer ?? '',
    lastUpdateTime: sub.modifyTime,
    multiTrial: sub.multiTrial && multiTrialView(sub, sub.multiTrial),
    originalPeriodEnd: currentPeriodEnd,
    priceChanges: sub.priceChanges.map(entryView),
    status: contract.subscriptionStatus[sub.status],
  };
}

function multiTrialView(sub: Subscription, trial: MultiTrial): contract.SubscriptionMultiTrial {
  const { startedAt, currentIndex, finished, steps } = trial;
  return {
    currency: sub.currency,
    planId: sub.planId,
    startedAt,
    currentIndex,
    finished,
    version: 1,
    regularPrice: sub.items[0]?.unitAmount ?? 0,
    trials: steps.map(({ start: _, end: __, ...step }) => step),
  };
}

/** Add-ons of a subscription as a request names them. */
export const addonParamsOf = ({ planSnapshot }: Pick<Subscription, 'planSnapshot'>): contract.PlanAddonParam[] =>
  planSnapshot.addons.map(({ addonPlan, quantity }) => ({ addonPlanId: addonPlan?.id ?? 0, quantity }));

type SubscriptionEvent = Extract<
  keyof { [E in contract.EventName as (typeof contract.events)[E]['aggregate'] extends 'subscription' ? E : never]: E },
  string
>;

/** A subscription. Locked before its pending update, its discount and its invoices. */
export const subscriptionAggregate: AggregateOf<SubscriptionEvent, Subscription, Subscription, contract.Subscription> =
  aggregate({
    name: 'subscription',
    title: 'Subscription',
    events: contract.events,
    table: subscriptions,
    key: 'subscriptionId',
    ids: ({ subscriptionId, userId, planId }) => ({ subscriptionId, userId, planId }),
    // identity asks for the subscriptions of a user
    lookups: { userId: value => ({ userId: Number(value) }) },
    view: subscriptionView,
  });
